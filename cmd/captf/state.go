package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/captf/captf-runner/internal/plural"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/chunks"
)

func (a *app) newStateCommand() *cobra.Command {
	return a.group("state", "List, show, copy and compare states",
		a.newStateListCommand(), a.newStateShowCommand(), a.newStatePullCommand(), a.newStateExplainCommand(), a.newStateDiffCommand(),
		a.newBackupCommand(), a.newCopiesCommand("backups", "List the copies that a state can be restored from", nil),
		a.newRescueCommand())
}

// stateView is a state, as it is shown: no value of it.
type stateView struct {
	Object    string `json:"object"`
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster,omitempty"`
	Suffix    string `json:"suffix"`
	// Readable, Reason and Message are those of the condition StateReadable.
	Readable string `json:"readable"` // True, False or Unknown
	Reason   string `json:"reason"`
	Message  string `json:"message,omitempty"`

	Next string `json:"next,omitempty"` // what to do about it

	Summary *summaryView `json:"state,omitempty"` // nil when it cannot be read

	cure     bool // Next repairs it
	unfilled bool // there is only a Secret that a first init was to fill
}

// usable is what the exit code tells: a state that OpenTofu encrypted is as it should be.
func (v stateView) usable() bool {
	return v.Readable == "True" || v.Reason == string(state.Encrypted)
}

type summaryView struct {
	Serial         uint64       `json:"serial"`
	Lineage        string       `json:"lineage"`
	ToolVersion    string       `json:"toolVersion,omitempty"`
	Encrypted      bool         `json:"encrypted,omitempty"`
	Resources      *int         `json:"resources,omitempty"` // nil when it is encrypted: nothing tells
	Outputs        []outputView `json:"outputs,omitempty"`
	Chunks         int          `json:"chunks"`
	Bytes          int64        `json:"bytes"`
	CompressedSize int64        `json:"compressedBytes"`
	InputsHash     string       `json:"inputsHash,omitempty"`
}

type outputView struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Sensitive bool   `json:"sensitive"`
}

// readState reads the state, and judges it as a controller does that knows of no Job. unknown is why the cluster of the
// object is not known, nil if it is. Only an error that is none of the state's is returned.
func (cl *cluster) readState(ctx context.Context, o naming.Object, unknown error) (stateView, error) {
	v := stateView{Object: objectName(o), Namespace: o.Namespace, Cluster: o.Cluster, Suffix: naming.Suffix(o)}
	set, err := cl.chunks().Gather(ctx, o)
	if err != nil {
		return v, err
	}
	sum, err := set.Read(false)
	encrypted := errors.Is(err, state.Encrypted)
	if err == nil || encrypted {
		err = cmp.Or(checkLabels(set, unknown), err)
	}
	if v.unfilled = set.Unfilled(); v.unfilled || errors.Is(err, state.NotFound) {
		if missing := cl.copies().CheckMissing(ctx, o); errors.Is(missing, state.Lost) {
			err, v.unfilled = missing, false
		} else if missing != nil {
			return v, missing
		}
	}
	v.Next, v.cure = cl.nextForState(ctx, set, err)
	condition := state.Readable(err)
	v.Readable, v.Reason, v.Message = condition.Status, condition.Reason, condition.Message
	if sum != nil {
		v.Summary = viewSummary(sum, encrypted)
	}
	return v, nil
}

// checkLabels is the guard against labels by which no Job would find the state. Those that name several clusters are
// wrong, whichever is right; where the cluster is not known for another reason, nothing is.
func checkLabels(set *chunks.Set, unknown error) error {
	switch {
	case unknown == nil:
		return set.CheckLabels()
	case errors.Is(unknown, errClusters):
		return &state.Error{Reason: state.Mislabelled, Err: unknown}
	}
	return nil
}

// nextForState is what to do about a state that cannot be read, and whether that repairs it.
func (cl *cluster) nextForState(ctx context.Context, set *chunks.Set, err error) (next string, cure bool) {
	o := set.Object
	doctor := fmt.Sprintf("%s doctor %s -n %s", cl.captf, objectName(o), o.Namespace)
	switch reason := state.ReasonOf(err); {
	case reason == "", reason == state.Encrypted:
		return "", false
	case errors.Is(err, errClusters):
		return doctor + " --cluster-name NAME", true
	case reason == state.Mislabelled:
		return cl.relabel(ctx, set, doctor), true
	case reason == state.NotFound:
		return cl.hint(ctx, o), false
	}
	if stranger := strangerOf(o, err); stranger != "" {
		return fmt.Sprintf("%s label secret -n %s %s %s-", cl.kubectl, o.Namespace, stranger, naming.LabelStateSuffix), true
	}
	return doctor, false
}

// strangerOf is the Secret that an error is about, if it has the labels of a state and is not called like a chunk of it.
func strangerOf(o naming.Object, err error) string {
	e := (*state.Error)(nil)
	if !errors.As(err, &e) || e.Reason != state.Inconsistent || e.Secret == "" {
		return ""
	}
	if _, chunk := naming.StatePart(naming.Suffix(o), e.Secret); chunk {
		return ""
	}
	return e.Secret
}

// relabel is the one command that gives all Secrets of a state the labels that a runtime looks for. Where nothing tells
// the cluster any more it is to be given first: an empty one would hide the state for good.
func (cl *cluster) relabel(ctx context.Context, set *chunks.Set, doctor string) string {
	wrong, err := set.Mislabelled()
	if err != nil {
		return "" // it was gathered, so it is valid
	}
	var words []string
	labels := map[string]string{}
	for _, m := range wrong {
		words = append(words, m.Secret)
		maps.Copy(labels, m.Want)
	}
	if name, lost := labels[naming.LabelCluster]; lost && name == "" && !cl.outside(ctx, set.Object) {
		return doctor + " --cluster-name NAME"
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, key+"="+labels[key])
	}
	return fmt.Sprintf("%s label secret --overwrite -n %s %s", cl.kubectl, set.Object.Namespace, strings.Join(words, " "))
}

// outside reports whether labels say that an object is outside any cluster.
func (cl *cluster) outside(ctx context.Context, o naming.Object) bool {
	name, named, err := cl.namedCluster(ctx, o)
	return err == nil && named && name == ""
}

func viewSummary(sum *state.Summary, encrypted bool) *summaryView {
	v := &summaryView{
		Serial: sum.Serial, Lineage: sum.Lineage, ToolVersion: sum.TerraformVersion, Encrypted: encrypted,
		Chunks: sum.Chunks, Bytes: sum.Size, CompressedSize: sum.CompressedSize, InputsHash: sum.InputsHash,
	}
	if !encrypted {
		v.Resources = &sum.Resources
	}
	for _, name := range slices.Sorted(maps.Keys(sum.Outputs)) {
		o := sum.Outputs[name]
		v.Outputs = append(v.Outputs, outputView{name, string(o.Type), o.Sensitive})
	}
	return v
}

func (a *app) newStateShowCommand() *cobra.Command {
	which, out := &objectFlags{}, &output{}
	c := &cobra.Command{
		Use: "show OBJECT", Short: "Show whether a state can be read, its serial, lineage and sizes",
		Long: `Show whether a state can be read, its serial, lineage and sizes. The exit code is 1 for one that cannot be read, and
for none. One that OpenTofu encrypted is as it should be: 0.`,
		Args: which.args, ValidArgsFunction: a.completeObject,
		RunE: func(c *cobra.Command, args []string) error {
			cl, o, err := a.object(c.Context(), which, args)
			if err != nil {
				return err
			}
			o, unknown := cl.withCluster(c.Context(), o)
			if unknown != nil && !errors.Is(unknown, errClusters) {
				return unknown
			}
			v, err := cl.readState(c.Context(), o, unknown)
			if err != nil {
				return err
			}
			if err := a.print(out, v, func() error { return a.fields(v.rows()) }); err != nil || v.usable() {
				return err
			}
			return handled{errors.New(v.Reason)}
		},
	}
	which.flags(c)
	out.flags(c)
	return c
}

func (v stateView) rows() [][]string {
	rows := [][]string{
		{"object", v.Object}, {"cluster", v.Cluster}, {"secret", v.Namespace + "/" + naming.StateSecret(v.Suffix, 0)},
		{"readable", strings.TrimSpace(v.Readable + " " + v.Reason)},
	}
	if v.Message != "" {
		rows = append(rows, []string{"why", v.Message})
	}
	if v.Next != "" {
		rows = append(rows, []string{"do", v.Next})
	}
	s := v.Summary
	if s == nil {
		return rows
	}
	rows = append(rows, []string{"serial", strconv.FormatUint(s.Serial, 10)}, []string{"lineage", s.Lineage}, []string{"written by", s.ToolVersion})
	if s.Resources != nil {
		rows = append(rows, []string{"resources", strconv.Itoa(*s.Resources)}, []string{"outputs", outputNames(s.Outputs)})
	}
	return append(rows, []string{"bytes", fmt.Sprintf("%d, compressed %d, in %d", s.Bytes, s.CompressedSize, s.Chunks) + plural.Of(" Secret", s.Chunks)},
		[]string{"inputs hash", s.InputsHash})
}

func outputNames(outputs []outputView) string {
	var names []string
	for _, o := range outputs {
		name := o.Name
		if o.Sensitive {
			name += " (sensitive)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func (a *app) newStatePullCommand() *cobra.Command {
	flags := &sourceFlags{}
	c := &cobra.Command{
		Use: "pull OBJECT[@COPY]", Short: "Print a state, or a copy of it, as the runtime wrote it",
		Long: `Print a state as the runtime wrote it, decompressed, with all its secrets. COPY is the serial or the name of a
backup or rescue set, as state backups lists them.`,
		Args: flags.args, ValidArgsFunction: a.completeObject,
		RunE: func(c *cobra.Command, args []string) error {
			doc, err := a.openObject(c.Context(), flags, args)
			if err != nil {
				return err
			}
			defer doc.Close()
			if _, err := io.Copy(a.streams.Out, doc); err != nil {
				return fmt.Errorf("the output is not complete: %w", err)
			}
			return nil
		},
	}
	flags.flags(c)
	return c
}
