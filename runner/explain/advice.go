package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/captf/captf-runner/internal/plural"
)

// nextWrite is what serial and lineage mean for whoever writes next.
func (d *Document) nextWrite() []string {
	switch {
	case d.Lineage == "" && d.Encryption == nil:
		return []string{"it has no lineage: nothing can tell it from another state, so take the lock, read again and compare first"}
	case d.Lineage == "":
		return []string{"the envelope shows no serial and no lineage: nothing can tell a write built on an old read from a new one, so take the lock and read again first"}
	}
	return []string{
		fmt.Sprintf("it has to bring lineage %s: another lineage is another state, and is refused", d.Lineage),
		fmt.Sprintf("it has to bring a serial above %d; a lower one was built on an old read, and is refused", d.Serial),
		fmt.Sprintf("with serial %d again, the same bytes are a repeated write, and other bytes are refused", d.Serial),
	}
}

// advice lists what to check before something is done with the state.
func (d *Document) advice() []Advice {
	if d.Encryption != nil {
		return d.encryptedAdvice()
	}
	return slices.Concat(d.pushAdvice(), d.moveAdvice(), d.removeAdvice(), d.keepAdvice())
}

func (d *Document) encryptedAdvice() []Advice {
	return []Advice{
		{Push, "compare serial and lineage with those of the state in the backend: they are all that can be checked without the key"},
		{Move, "OpenTofu with the same encryption configuration has to do it: nothing else reads this state"},
		{Remove, "OpenTofu with the same encryption configuration has to do it: nothing else reads this state"},
		{Keep, "a copy is worth what its key is worth: keep the key, or the passphrase, of every copy that you keep"},
	}
}

func (d *Document) pushAdvice() []Advice {
	text := "pull what is there now, and compare: this one has no lineage that would tell whether it is the same state"
	if d.Lineage != "" {
		text = fmt.Sprintf("pull what is there now: its lineage has to be %s and its serial below %d, or the push is refused. "+
			"Do not use -force: it skips just that check", d.Lineage, d.Serial)
	}
	all := []Advice{{Push, text}}
	add := func(text string, names []string) {
		if len(names) > 0 {
			all = append(all, Advice{Push, fmt.Sprintf(text, some(names))})
		}
	}
	add("tainted, so the next apply replaces it: %s", d.instances(func(i Instance) bool { return i.Tainted }))
	add("deposed, so the next apply destroys the old object: %s", d.instances(func(i Instance) bool { return i.Deposed != "" }))
	add("a check has not passed: %s", d.openChecks())
	add("a provider without a namespace, which needs state replace-provider first: %s", d.legacyProviders())
	if d.ToolVersion != "" {
		all = append(all, Advice{Push, fmt.Sprintf("push with the program that wrote it%s, or a newer version of the same program",
			parenthesis(d.Runtime, d.ToolVersion))})
	}
	return all
}

// Current makes d tell of a state where it stands, and not of a copy that may be put in
// the place of another: what has to be pushed there is a changed one.
func (d *Document) Current() {
	text := "it is the current state: nothing has to be pushed. A changed copy of it has to bring " +
		"the same lineage and a higher serial"
	if d.Lineage != "" {
		text = fmt.Sprintf("it is the current state: nothing has to be pushed. A changed copy of it has to bring lineage %s "+
			"and a serial above %d", d.Lineage, d.Serial)
	}
	first := slices.IndexFunc(d.Advice, func(a Advice) bool { return a.Topic == Push })
	d.Advice[first].Text = text
}

func parenthesis(words ...string) string {
	return " (" + strings.TrimSpace(strings.Join(words, " ")) + ")"
}

func (d *Document) moveAdvice() []Advice {
	all := []Advice{{Move, "take a backup, then move, then plan: the plan has to say that there is nothing to do. A moved block in the configuration is the safer way"}}
	if keyed := d.instances(func(i Instance) bool { return strings.HasSuffix(i.Address, `"]`) }); len(keyed) > 0 {
		all = append(all, Advice{Move, "put addresses with a key into single quotes, or the shell takes their quotes away: " + some(keyed)})
	}
	if needed := d.needed(); len(needed) > 0 {
		all = append(all, Advice{Move, "others name it as their dependency, under its old address until the next apply: " + some(needed)})
	}
	return all
}

func (d *Document) removeAdvice() []Advice {
	all := []Advice{{Remove, "what is removed from the state goes on existing, and nobody manages it: note its ID first. It is not destroyed"}}
	if needed := d.needed(); len(needed) > 0 {
		all = append(all, Advice{Remove, "others depend on it, and are destroyed in the wrong order without it: " + some(needed)})
	}
	return all
}

func (d *Document) keepAdvice() []Advice {
	text := "nothing in it is known to be sensitive, but a state is not encrypted: treat copies as you treat the credentials of its providers"
	if n := len(d.Sensitive); n > 0 {
		text = fmt.Sprintf("it holds %d sensitive %s in clear text: keep copies as you keep what is sensitive, and remove them when done",
			n, plural.Of("value", n))
	}
	return []Advice{{Keep, text}}
}

// instances lists the addresses of the managed instances that is selects.
func (d *Document) instances(is func(Instance) bool) []string {
	var all []string
	for _, r := range d.Resources {
		for _, i := range r.Instances {
			if r.Managed() && is(i) {
				all = append(all, i.Address)
			}
		}
	}
	return all
}

// needed lists the resources that others depend on, the most needed first.
func (d *Document) needed() []string {
	var resources []Resource
	for _, r := range d.Resources {
		if r.Managed() && len(r.NeededBy) > 0 {
			resources = append(resources, r)
		}
	}
	slices.SortStableFunc(resources, func(a, b Resource) int { return cmp.Compare(len(b.NeededBy), len(a.NeededBy)) })
	var all []string
	for _, r := range resources {
		all = append(all, fmt.Sprintf("%s (%d)", r.Address, len(r.NeededBy)))
	}
	return all
}

func (d *Document) openChecks() []string {
	var all []string
	for _, c := range d.Checks {
		if c.Status == "fail" || c.Status == "error" {
			all = append(all, c.Address+" ("+c.Status+")")
		}
	}
	return all
}

func (d *Document) legacyProviders() []string {
	var all []string
	for _, p := range d.Providers {
		if strings.Contains(p.Name, "/-/") {
			all = append(all, p.Name)
		}
	}
	return all
}

// shown is how many names a sentence lists.
const shown = 5

// some lists the first names.
func some(names []string) string {
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
