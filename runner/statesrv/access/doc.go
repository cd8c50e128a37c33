// Package access tells the state server who sends a request and which states they
// may touch: users of a password file, and client certificates. Start with
// [LoadUsers] and [LoadTLS], and give what they return to [New].
//
// # The users file
//
// One user a line, NAME:HASH[:PATTERNS[:read-only]], as htpasswd writes it:
//
//	ann:$2y$10$...
//	ci:$argon2id$v=19$m=19456,t=2,p=1$...:team-a/*,shared
//	audit:$2y$10$...:*:read-only
//	build.example.org:-:team-b/*
//
// HASH is bcrypt or argon2id; "-" is a user without a password, who comes with a
// client certificate of that name. PATTERNS are names of states, separated by
// commas, in which "*" stands for any characters, slashes too; none or an empty
// list means every state. Empty lines and lines that begin with "#" are skipped.
//
// # What an attacker learns and costs
//
// A user who does not exist costs as much time as one who does. Hashes are
// calculated for a few requests at once, and others wait for a bounded time; a
// password that was right once is recognised by a keyed digest, so clients that
// work do not wait behind somebody who guesses.
package access
