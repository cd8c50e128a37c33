// Package statesrv is a state server for the "http" backend of OpenTofu and
// Terraform: it lets exactly one apply write at a time, refuses every write that
// is built on an old read, and keeps every version and every event.
//
// Two functions to start from: [NewStates] puts the rules on top of a store and
// is usable without HTTP; [NewHandler] speaks the backend's protocol, and a few
// more requests for people, on top of it. [Serve] runs a handler with the
// timeouts that a server on a network needs.
//
// # The three mechanisms
//
// A lock is a create-if-absent and never expires. Its ID is a capability: a write
// or delete has to bring the ID of the lock that is held. Serial and lineage
// refuse a write that is built on an old read.
//
// # Records
//
// Each state has one head record, which holds the lock and the pointer to the
// current version. Every change is one compare-and-swap of it, so a writer whose
// lock was taken away in the middle of its write cannot commit. Version bodies
// are written once and never change. On a store that is a directory, plain files
// for people are kept beside the records; they decide nothing.
package statesrv
