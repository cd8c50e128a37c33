// Package webpage tests the state server's page in a real browser: a headless
// Chromium, driven over its debugging protocol. There is nothing else in it.
package webpage
