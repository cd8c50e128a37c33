package lock

import (
	"regexp"
	"strings"
	"sync"

	"github.com/captf/captf-runner/runner/result"
)

// pattern is compiled at its first use: a run that meets no lock starts faster without.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var (
	blockHeader = pattern(`(?m)Lock Info:[ \t]*$`)
	blockField  = pattern(`^(ID|Path|Operation|Who|Version|Created|Info):(.*)$`)
	httpHolder  = pattern(`already locked:\s+ID=(\S+)`)
)

// ParseText finds the holder in what a runtime prints when it cannot take or release a lock: its
// human output, coloured, framed or wrapped as it may be, or better the detail of a diagnostic of its
// -json output. The last lock that the text mentions counts. It reports false when there is none.
//
// With the http backend the "Lock Info" block of Terraform describes the run that asks, not the one
// that holds; only the ID after "already locked" is the holder's, and then only the ID is known.
func ParseText(text string) (Info, bool) {
	text = plain(text)
	info := parseBlock(text)
	if id := lastSubmatch(httpHolder(), text); id != "" && id != info.ID {
		return Info{ID: id}, true
	}
	return info, info.ID != "" || info.Who != ""
}

func lastSubmatch(re *regexp.Regexp, text string) string {
	all := re.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

// parseBlock reads the last "Lock Info" block. A line that is no field continues the one before; the
// block ends at its last field, Info, or at a blank line.
func parseBlock(text string) Info {
	headers := blockHeader().FindAllStringIndex(text, -1)
	if len(headers) == 0 {
		return Info{}
	}
	body := strings.TrimPrefix(text[headers[len(headers)-1][1]:], "\n")
	fields := map[string]string{}
	current := ""
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		switch m := blockField().FindStringSubmatch(line); {
		case line == "":
			return blockInfo(fields)
		case m != nil:
			current = m[1]
			fields[current] = strings.TrimSpace(m[2])
		default:
			fields[current] = strings.TrimSpace(fields[current] + " " + line)
		}
		if current == "Info" {
			break
		}
	}
	return blockInfo(fields)
}

func blockInfo(fields map[string]string) Info {
	return Info{
		ID: fields["ID"], Path: fields["Path"], Operation: fields["Operation"], Who: fields["Who"],
		Version: fields["Version"], Info: fields["Info"],
		Created: parseCreated(fields["Created"]), CreatedText: fields["Created"],
	}
}

// plain removes colours, control characters and the frame that the runtimes draw around a diagnostic.
func plain(text string) string {
	text = result.Plain(text)
	var b strings.Builder
	for line := range strings.Lines(text) {
		for _, frame := range []string{"│", "╷", "╵"} {
			line = strings.TrimPrefix(line, frame)
		}
		b.WriteString(line)
	}
	return b.String()
}
