package lock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/lock"
)

const tofuHTTP = `
Error: Error acquiring the state lock

Error message: HTTP remote state already locked:
ID=11111111-2222-3333-4444-555555555555
Lock Info:
  ID:        11111111-2222-3333-4444-555555555555
  Path:      
  Operation: OperationTypeApply
  Who:       root@other-host
  Version:   1.12.6
  Created:   2026-11-30 00:00:00.123456789 +0000 UTC
  Info:      


OpenTofu acquires a state lock to protect the state from being written
by multiple users at the same time. Please resolve the issue above and try
again. For most commands, you can disable locking with the "-lock=false"
flag, but this is not recommended.
`

var (
	holder = lock.Info{
		ID: "11111111-2222-3333-4444-555555555555", Operation: "OperationTypeApply", Who: "root@other-host", Version: "1.12.6",
		Created: time.Date(2026, 11, 30, 0, 0, 0, 123456789, time.UTC), CreatedText: "2026-11-30 00:00:00.123456789 +0000 UTC",
	}
	onlyID = lock.Info{ID: holder.ID}
)

func TestParseText(t *testing.T) {
	kubernetes := strings.Replace(tofuHTTP, "HTTP remote state already locked:\nID=11111111-2222-3333-4444-555555555555", "the state is already locked by another terraform client", 1)
	requester := strings.Replace(tofuHTTP, "ID:        11111111", "ID:        99999999", 1)
	unheld := "Error message: resource temporarily unavailable\n"
	tests := map[string]struct {
		text string
		want lock.Info
	}{
		"tofu, http":                       {tofuHTTP, holder},
		"tofu, http, detail of a -json":    {unwrapped(tofuHTTP), holder},
		"Terraform, http: the requester's": {requester, onlyID},
		"the same, detail of a -json":      {unwrapped(requester), onlyID},
		"kubernetes":                       {kubernetes, holder},
		"init without a state":             {strings.Replace(kubernetes, "Error acquiring the state lock", "Failed to load state: the state is already locked by another tofu client", 1), holder},
		"in a frame":                       {framed(tofuHTTP, "╷", "│ ", "╵"), holder},
		"in a red frame":                   {framed(tofuHTTP, "\x1b[31m╷\x1b[0m\x1b[0m", "\x1b[31m│\x1b[0m \x1b[0m", "\x1b[31m╵\x1b[0m\x1b[0m"), holder},
		"colour inside":                    {strings.Replace(tofuHTTP, "root@other-host", "\x1b[1mroot@\x1b[0mother-host\x1b]8;;x\x07", 1), holder},
		"from Windows":                     {strings.ReplaceAll(tofuHTTP, "\n", "\r\n"), holder},
		"wrapped by a narrow terminal":     {strings.NewReplacer("ID:        ", "ID:       \n", "123456789 +", "123456789\n+").Replace(tofuHTTP), holder},
		"two tries, two holders":           {strings.ReplaceAll(tofuHTTP, "11111111", "77777777") + tofuHTTP, holder},
		"only the line":                    {"Error message: HTTP remote state already locked: ID=11111111-2222-3333-4444-555555555555", onlyID},
		"cut after the ID":                 {tofuHTTP[:strings.Index(tofuHTTP, "  Path:")], onlyID},
		"a time of this process":           {strings.Replace(kubernetes, "UTC", "UTC m=+0.081", 1), withCreated("2026-11-30 00:00:00.123456789 +0000 UTC m=+0.081")},
		"no end of the block":              {framed("Lock Info:\n  Path: states/a\n  Who:  root@h\n", "╷", "│ ", "╵"), lock.Info{Path: "states/a", Who: "root@h"}},
		"a blank line ends the block":      {"Lock Info:\n  ID:  1\n  Who: root@h\n\nOpenTofu acquires a state lock\n", lock.Info{ID: "1", Who: "root@h"}},
		"the info ends the block":          {"Lock Info:\n  ID:   1\n  Info: two words\nOpenTofu acquires a state lock\n", lock.Info{ID: "1", Info: "two words"}},
		"nothing":                          {"", lock.Info{}},
		"no holder":                        {unheld, lock.Info{}},
		"a block of nothing":               {unheld + "Lock Info:\n  ID:        \n  Path:      \n  Who:       \n\n", lock.Info{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := lock.ParseText(test.text)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("info (-want +got):\n%s", diff)
			}
			if ok != (test.want != lock.Info{}) {
				t.Errorf("found = %v", ok)
			}
		})
	}
}

func unwrapped(text string) string { return strings.Replace(text, "locked:\nID", "locked: ID", 1) }

func withCreated(text string) lock.Info {
	info := holder
	info.CreatedText = text
	return info
}

func framed(text, first, left, last string) string {
	var b strings.Builder
	b.WriteString(first + "\n")
	for line := range strings.Lines(text) {
		if line == "\n" {
			line = strings.TrimSpace(left) + "\n"
		} else {
			line = left + line
		}
		b.WriteString(line)
	}
	return b.String() + last + "\n"
}

func FuzzParseText(f *testing.F) {
	f.Add(tofuHTTP)
	f.Add(framed(tofuHTTP, "╷", "│ ", "╵"))
	f.Add("Lock Info:\nID: a\nb\nInfo: c\nd")
	f.Add("already locked: ID=\x1b[1mx")
	f.Fuzz(func(t *testing.T, text string) {
		info, ok := lock.ParseText(text)
		if ok != (info.ID != "" || info.Who != "") {
			t.Errorf("found = %v, info %+v", ok, info)
		}
		for _, value := range []string{info.ID, info.Who, info.Operation, info.CreatedText} {
			if strings.Contains(value, "\n") || strings.TrimSpace(value) != value {
				t.Errorf("value of more than a line: %q", value)
			}
		}
		lock.ClassifyUnlock(1, text)
	})
}
