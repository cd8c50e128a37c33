package result

import "testing"

func TestExitCode(t *testing.T) {
	failed := func(k Kind, r Reason) *Result { return &Result{Error: &Error{Kind: k, Reason: r}} }
	saved := func(s Saved) *Result { return &Result{State: &State{Saved: s}} }
	tests := map[string]struct {
		r    *Result
		want int
	}{
		"done":                   {&Result{}, ExitDone},
		"no result":              {nil, ExitFailed},
		"partial":                {&Result{Partial: true}, ExitRetry},
		"image layout":           {failed(KindImageLayout, ""), ExitFailed},
		"step":                   {failed(KindStep, ""), ExitFailed},
		"config":                 {failed(KindStep, ReasonConfig), ExitFailed},
		"provider":               {failed(KindStep, ReasonProvider), ExitFailed},
		"rbac":                   {failed(KindStep, ReasonRBAC), ExitFailed},
		"killed":                 {failed(KindStep, ReasonKilled), ExitFailed},
		"disk full":              {failed(KindStep, ReasonDisk), ExitFailed},
		"lock lost":              {failed(KindStep, ReasonLockLost), ExitFailed},
		"unknown":                {failed("new-kind", "new-reason"), ExitFailed},
		"usage":                  {failed(KindStep, ReasonUsage), ExitUsage},
		"locked":                 {failed(KindStep, ReasonLocked), ExitRetry},
		"registry":               {failed(KindStep, ReasonRegistry), ExitRetry},
		"backend":                {failed(KindStep, ReasonBackend), ExitRetry},
		"deadline":               {failed(KindInterrupted, ReasonDeadline), ExitRetry},
		"deadline in a step":     {failed(KindStep, ReasonDeadline), ExitRetry},
		"interrupted":            {failed(KindInterrupted, ""), ExitRetry},
		"interrupted, config":    {failed(KindInterrupted, ReasonConfig), ExitRetry},
		"partial failure":        {&Result{Partial: true, Error: &Error{Kind: KindStep}}, ExitFailed},
		"blocked":                {failed(KindBlocked, ""), ExitPerson},
		"plan changed":           {failed(KindPlanChanged, ""), ExitPerson},
		"write failed":           {failed(KindStep, ReasonStateWrite), ExitPerson},
		"saved":                  {saved(SavedNormally), ExitDone},
		"pushed":                 {saved(SavedPushed), ExitDone},
		"rescued":                {saved(SavedRescued), ExitPerson},
		"rescue dir":             {saved(SavedRescueDir), ExitPerson},
		"lost":                   {saved(SavedLost), ExitPerson},
		"unknown place":          {saved("elsewhere"), ExitPerson},
		"write failed, pushed":   {&Result{Error: &Error{Kind: KindStep, Reason: ReasonStateWrite}, State: &State{Saved: SavedPushed}}, ExitRetry},
		"interrupted and lost":   {&Result{Error: &Error{Kind: KindInterrupted}, State: &State{Saved: SavedLost}}, ExitPerson},
		"partial and rescued":    {&Result{Partial: true, State: &State{Saved: SavedRescued}}, ExitPerson},
		"lock lost, state saved": {&Result{Error: &Error{Kind: KindStep, Reason: ReasonLockLost}, State: &State{Saved: SavedNormally}}, ExitFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.r.ExitCode(); got != tt.want {
				t.Errorf("ExitCode() = %d, want %d", got, tt.want)
			}
			if got, want := tt.r.Succeeded(), tt.want == ExitDone; got != want {
				t.Errorf("Succeeded() = %v, want %v", got, want)
			}
		})
	}
}
