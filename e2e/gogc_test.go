package e2e

import (
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// TestGOGC sees which of the runtime's processes collect their garbage less often: init alone, because providers inherit
// the environment of the others, and not even that when the container says how often.
func TestGOGC(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		env         []string
		init, apply string
	}{
		"unset": {nil, "400", ""},
		"set":   {[]string{"GOGC=75"}, "75", "75"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tools.Runtimes(t)[0], newLocal)
			f.env = append(f.env, row.env...)
			calls := f.record(t)
			if o := f.run(t, "apply"); o.code != 0 {
				t.Fatal(o)
			}
			made := calls.calls(t)
			for step, want := range map[string]string{"init": row.init, "apply": row.apply} {
				if got := find(t, made, step).env["GOGC"]; got != want {
					t.Errorf("%s has GOGC=%s, want %s", step, got, want)
				}
			}
		})
	}
}
