package lock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/lock"
)

func TestParseInfo(t *testing.T) {
	created := time.Date(2026, 11, 30, 1, 47, 54, 701841437, time.UTC)
	tests := map[string]struct {
		text string
		want lock.Info
	}{
		"as a runtime writes it": {
			`{"ID":"1dc81f46","Operation":"OperationTypeApply","Info":"i","Who":"root@vm","Version":"1.12.6","Created":"2026-11-30T01:47:54.701841437Z","Path":"terraform.tfstate"}`,
			lock.Info{ID: "1dc81f46", Operation: "OperationTypeApply", Info: "i", Who: "root@vm", Version: "1.12.6", Path: "terraform.tfstate", Created: created, CreatedText: "2026-11-30T01:47:54.701841437Z"},
		},
		"no time":        {`{"ID":"x","Created":"yesterday"}`, lock.Info{ID: "x", CreatedText: "yesterday"}},
		"fields to come": {`{"ID":"x","Novel":[1]}`, lock.Info{ID: "x"}},
		"empty object":   {`{}`, lock.Info{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := lock.ParseInfo(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("info (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseInfoErrors(t *testing.T) {
	tests := map[string]struct {
		text   string
		noInfo bool
	}{
		"empty":       {"", true},
		"white space": {" \n", true},
		"null":        {"null", true},
		"array":       {`["ID"]`, false},
		"string":      {`"ID"`, false},
		"cut":         {`{"ID":"1dc8`, false},
		"two":         {`{}{}`, false},
		"wrong type":  {`{"ID":7}`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			info, err := lock.ParseInfo(test.text)
			if err == nil {
				t.Fatalf("parsed as %+v", info)
			}
			if errors.Is(err, lock.ErrNoInfo) != test.noInfo {
				t.Errorf("error %v: ErrNoInfo must be %v", err, test.noInfo)
			}
			if strings.Contains(err.Error(), "%!") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestHost(t *testing.T) {
	for who, want := range map[string]string{
		"root@vm":           "vm",
		"@pod":              "pod",
		"a@b@pod":           "pod",
		"user@corp.x@pod":   "pod",
		"root@":             "",
		"root":              "",
		"":                  "",
		"runner@" + podName: podName,
	} {
		if got := (lock.Info{Who: who}).Host(); got != want {
			t.Errorf("host of %q = %q, want %q", who, got, want)
		}
	}
}

func TestInfoString(t *testing.T) {
	info := lock.Info{ID: "x\x1b[31m", Who: "a@b\n", Operation: "OperationTypeApply", CreatedText: "now"}
	if got, want := info.String(), "lock x held by a@b for OperationTypeApply since now"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if got := (lock.Info{}).String(); got != "unknown holder" {
		t.Errorf("String() of nothing = %q", got)
	}
}

// An error is read by people who know JSON, and perhaps no Go.
func TestInfoErrors(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "no lock info: it is null", `[]`: "lock info: it is a JSON array", `{"Who":7}`: "lock info: Who is a JSON number",
	} {
		if _, err := lock.ParseInfo(text); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add(infoJSON(lockID, podName))
	f.Add(`{"ID":"x","Who":"@","Created":"0001-01-01T00:00:00Z"}`)
	f.Add(`null`)
	f.Add(`{"id":"lower","ID":"upper"}`)
	f.Fuzz(func(t *testing.T, text string) {
		info, err := lock.ParseInfo(text)
		if err != nil && info != (lock.Info{}) {
			t.Errorf("error %v and info %+v", err, info)
		}
		if strings.Contains(info.Host(), "@") || !strings.HasSuffix(info.Who, info.Host()) {
			t.Errorf("host %q of %q", info.Host(), info.Who)
		}
		if strings.ContainsAny(info.String(), "\n\r\x1b") {
			t.Errorf("String() moves the cursor: %q", info.String())
		}
	})
}
