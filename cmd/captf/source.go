package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/captf/captf-runner/internal/buildinfo"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
	"github.com/captf/captf-runner/runner/statesrv/client"
)

// sourceFlags choose the state of a command that reads one.
type sourceFlags struct{ objectFlags }

// open opens a state: - is standard input, then there are addresses of a state server, objects, and files.
func (a *app) open(ctx context.Context, flags *sourceFlags, arg string) (io.ReadCloser, error) {
	switch {
	case arg == "-":
		return io.NopCloser(a.streams.In), nil
	case isAddress(arg):
		return a.openAddress(ctx, arg)
	case !isObject(arg):
		return os.Open(arg)
	}
	doc, err := a.openObject(ctx, flags, []string{arg})
	if err != nil && !strings.Contains(arg, "/") {
		err = fmt.Errorf("%w (and there is no file %s)", err, arg)
	}
	return doc, err
}

// isObject reports whether an argument means an object. A file of such a name is written ./KIND/NAME.
func isObject(arg string) bool {
	kind, _, found := strings.Cut(arg, "/")
	if _, known := parseKind(kind); found {
		return known
	}
	_, err := os.Stat(arg)
	return err != nil
}

// isCurrent reports whether a source is a state where it stands, and no copy of one.
func isCurrent(arg string) bool {
	return arg != "-" && (isAddress(arg) || isObject(arg) && !strings.Contains(arg, "@"))
}

func isAddress(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// checkSource refuses OBJECT@ without a copy: it is none of the state that is there now.
func checkSource(arg string) error {
	if isObject(arg) && strings.HasSuffix(arg, "@") {
		return usagef("%q: want the serial or the name of a copy behind the @", arg)
	}
	return nil
}

// openAddress reads from a state server, with the credentials that its own client takes.
func (a *app) openAddress(ctx context.Context, address string) (io.ReadCloser, error) {
	s, err := client.NewState(address, client.Options{
		User:     cmp.Or(a.getenv("STATESRV_USERNAME"), a.getenv("TF_HTTP_USERNAME")),
		Password: cmp.Or(a.getenv("STATESRV_PASSWORD"), a.getenv("TF_HTTP_PASSWORD")),
		Agent:    "captf/" + buildinfo.Of(version, commit).Version,
	})
	if err != nil {
		return nil, usageError{err}
	}
	doc, err := s.Pull(ctx, 0)
	if err != nil {
		return nil, serverError{err}
	}
	return doc, nil
}

// serverError is one of a state server or a registry: no advice on a cluster fits it.
type serverError struct{ error }

func (e serverError) Unwrap() error { return e.error }

// openObject opens the state of OBJECT, or a copy of it for OBJECT@COPY.
func (a *app) openObject(ctx context.Context, flags *sourceFlags, args []string) (io.ReadCloser, error) {
	which, name := flags.objectFlags, ""
	if len(args) == 1 {
		if err := checkSource(args[0]); err != nil {
			return nil, err
		}
		var object string
		object, name, _ = strings.Cut(args[0], "@")
		args = []string{object}
	}
	cl, o, err := a.object(ctx, &which, args)
	if err != nil {
		return nil, err
	}
	source, err := cl.source(ctx, o, name)
	if err != nil {
		return nil, err
	}
	doc, err := source.Open()
	if err != nil {
		return nil, cl.withNames(ctx, o, cl.lost(ctx, o, err))
	}
	return io.NopCloser(doc), nil
}

// source is the state of an object, or a copy of it.
func (cl *cluster) source(ctx context.Context, o naming.Object, copyName string) (state.Source, error) {
	if copyName != "" {
		return cl.copySource(ctx, o, copyName)
	}
	set, err := cl.chunks().Gather(ctx, o)
	if err != nil {
		return state.Source{}, err
	}
	if len(set.Hidden) > 0 {
		if set.Object, err = cl.withCluster(ctx, o); err != nil {
			return state.Source{}, err
		}
		return state.Source{}, cl.withDoctor(o, set.CheckLabels())
	}
	return set.Source(false), nil
}

// lost is the error that a state is lost, where err says that there is none and its copies say that there was one.
func (cl *cluster) lost(ctx context.Context, o naming.Object, err error) error {
	if !errors.Is(err, state.NotFound) {
		return err
	}
	if missing := cl.copies().CheckMissing(ctx, o); errors.Is(missing, state.Lost) {
		return cl.withDoctor(o, missing)
	}
	return err
}

// withDoctor adds to an error about a state the command that knows the way out.
func (cl *cluster) withDoctor(o naming.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; %s doctor %s -n %s says what to do", err, cl.captf, objectName(o), o.Namespace)
}

func (cl *cluster) copySource(ctx context.Context, o naming.Object, name string) (state.Source, error) {
	all, err := cl.copies().List(ctx, o)
	if err != nil {
		return state.Source{}, err
	}
	set, err := pick(all, name)
	if err != nil {
		return state.Source{}, fmt.Errorf("%s: %w", objectName(o), err)
	}
	content, err := cl.copies().Load(ctx, o, set)
	if err != nil {
		return state.Source{}, err
	}
	return content.Source, nil
}

// pick finds the copy of a serial or a name.
func pick(all []backup.Set, name string) (backup.Set, error) {
	var found []backup.Set
	var names []string
	for _, s := range all {
		if s.Name == name || strconv.FormatUint(s.Serial, 10) == name {
			found = append(found, s)
			names = append(names, s.Name)
		}
	}
	switch len(found) {
	case 0:
		return backup.Set{}, fmt.Errorf("it has no backup and no rescue set %s: state backups lists them", name)
	case 1:
		return found[0], nil
	}
	return backup.Set{}, usagef("serial %s is ambiguous: write one of %s behind the @", name, strings.Join(names, ", "))
}
