// Package stores tests statesrv as processes, on the stores that several servers may
// share: a directory, S3 gateways and a Kubernetes API server, with real clients.
// There is nothing else in it.
package stores
