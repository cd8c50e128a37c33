// Package web is the state server's page for people: which states there are and who
// holds their locks, the history of each, what differs between two versions, and
// what is happening now. Start with [New].
//
// Pages are made by the server and read without JavaScript; a script only keeps them
// fresh. Nothing comes from another origin, and the Content-Security-Policy says so.
// Sensitive values are never shown: see package explain.
//
// # What it may change
//
// Nothing, unless [Options].Admin is set. Then a user who may write a state can
// release its lock and restore a version, both by typing an ID. A browser sends the
// credentials of a page to whoever asks it to, so such a request has to come from
// this page: its Origin or Sec-Fetch-Site header has to say so.
package web
