// Package stores tests the state server's shared stores on the real thing: S3
// gateways as processes, and several state servers on one bucket. There is nothing
// else in it.
package stores
