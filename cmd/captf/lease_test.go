package main

import (
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/lease"
)

// What is said of a live lease is counted from when its Job started, and from nothing while that is suspended.
func TestWhyLease(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r := lease.Record{Job: "j", AcquiredAt: now.Add(-2 * time.Hour), Backstop: 75 * time.Minute}
	for want, job := range map[string]lease.Job{
		"held: its Job is suspended: resume it, or delete it":                   {Exists: true, Suspended: true},
		"held: its Job is not finished; at the latest in 65m it counts no more": {Exists: true, StartedAt: now.Add(-10 * time.Minute)},
	} {
		if got := whyLease(lease.Judge(r, job, now), r, job, now); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
