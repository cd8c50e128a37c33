// Package launch starts the Jobs that run operations, follows them and keeps the books: one Job at a
// time for an object, each one's result booked exactly once.
//
// A controller implements [Object] over its own type and calls [Launcher.Pass] from its reconcile
// loop. A pass gathers what the API server knows ([Observed]), decides by a pure function ([Decide]),
// carries out that one decision, and says in a [Report] what to do next and when to look again. It
// keeps nothing in memory: a controller that is killed between any two requests and started again, or
// two controllers that work on one object, create no second Job and lose no result.
//
// [NewJob] alone builds the Job, and needs no API server. The rules are those of
// spec/state-and-locks.md, "Launching".
package launch
