package lock

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/captf/captf-runner/runner/result"
)

// Info is what a runtime records about itself when it takes a lock, as it wrote it.
type Info struct {
	ID        string
	Operation string // OperationTypeApply, OperationTypePlan, init, …
	Info      string
	Who       string // user@host; in a Job's pod the host is the pod's name
	Version   string // of the runtime; it does not tell which of the two
	Path      string

	Created     time.Time // zero when CreatedText is not a time
	CreatedText string
}

// ParseInfo reads the JSON document of a lock: the annotation of the Lease, or the body of an http
// backend's LOCK. Unknown fields are ignored, missing ones are empty, and a Created that is no time
// keeps its text. An empty text is ErrNoInfo; anything but a JSON object is an error.
func ParseInfo(text string) (Info, error) {
	if strings.TrimSpace(text) == "" {
		return Info{}, ErrNoInfo
	}
	var doc *struct{ ID, Operation, Info, Who, Version, Path, Created string }
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return Info{}, fmt.Errorf("lock info: %w", plainly(err))
	}
	if doc == nil {
		return Info{}, fmt.Errorf("%w: it is null", ErrNoInfo)
	}
	info := Info{
		ID: doc.ID, Operation: doc.Operation, Info: doc.Info, Who: doc.Who,
		Version: doc.Version, Path: doc.Path, CreatedText: doc.Created,
	}
	info.Created = parseCreated(doc.Created)
	return info, nil
}

// plainly is an error of a type in the words of JSON.
func plainly(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s is a JSON %s", cmp.Or(wrong.Field, "it"), wrong.Value)
	}
	return err
}

// parseCreated knows the form of the JSON document and the one that the runtimes print. Anything
// else is the zero time.
func parseCreated(text string) time.Time {
	text, _, _ = strings.Cut(text, " m=") // of a time that was read from the clock of this process
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999 -0700 MST"} {
		if created, err := time.Parse(layout, text); err == nil {
			return created
		}
	}
	return time.Time{}
}

// Host is what follows the last @ of Who: the user part may be empty or hold an @. It is empty when
// Who names no host.
func (i Info) Host() string {
	at := strings.LastIndexByte(i.Who, '@')
	if at < 0 {
		return ""
	}
	return i.Who[at+1:]
}

// String describes the holder in one line of printable text, for logs and messages.
func (i Info) String() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+printable(value))
		}
	}
	add("lock", i.ID)
	add("held by", i.Who)
	add("for", i.Operation)
	add("since", i.CreatedText)
	if len(parts) == 0 {
		return "unknown holder"
	}
	return strings.Join(parts, " ")
}

// printable drops what could move a terminal's cursor: the text was written by somebody else.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, result.Plain(s))
}
