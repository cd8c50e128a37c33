package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/captf/captf-runner/runner/explain"
)

// explain tells what is in a state: in a file, on a server or in a directory.
func (a *App) explain(ctx context.Context, args []string) error {
	o := a.options("explain")
	version := o.version("`number` of an older version")
	rest, err := o.parse(args, 1)
	if err != nil {
		return err
	}
	body, err := o.content(ctx, rest[0], *version)
	if err != nil {
		return o.refused(err)
	}
	defer body.Close()
	doc, err := explain.Read(body)
	if err != nil {
		return err
	}
	if *version == 0 && o.isState(rest[0]) {
		doc.Current()
	}
	return o.printText(doc, doc)
}

// isState reports whether an argument names a state, not a file.
func (o *options) isState(arg string) bool {
	return o.data != "" || strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// content opens a file, standard input for "-", or a version of a state.
func (o *options) content(ctx context.Context, arg string, version int) (io.ReadCloser, error) {
	isFile := !o.isState(arg)
	switch {
	case isFile && version != 0:
		return nil, usagef("--version is for an address; %s is a file", arg)
	case isFile && arg == "-":
		return io.NopCloser(o.app.In), nil
	case isFile:
		return os.Open(arg)
	}
	s, err := o.state(ctx, arg)
	if err != nil {
		return nil, err
	}
	body, err := s.Pull(ctx, version)
	if err != nil {
		s.Close()
		return nil, err
	}
	return pulled{body, s}, nil
}

// pulled is a version that closes its state, too.
type pulled struct {
	io.ReadCloser
	state state
}

func (p pulled) Close() error { return errors.Join(p.ReadCloser.Close(), p.state.Close()) }

// diff tells what differs between two versions of a state.
func (a *App) diff(ctx context.Context, args []string) error {
	o := a.options("diff")
	rest, err := o.parse(args, 3)
	if err != nil {
		return err
	}
	var numbers [2]int
	for i, text := range rest[1:] {
		if numbers[i], err = versionNumber(text); err != nil {
			return err
		}
	}
	before, err := o.content(ctx, rest[0], numbers[0])
	if err != nil {
		return o.refused(err)
	}
	defer before.Close()
	after, err := o.content(ctx, rest[0], numbers[1])
	if err != nil {
		return o.refused(err)
	}
	defer after.Close()
	difference, err := explain.Diff(before, after)
	if err != nil {
		return err
	}
	return o.printText(difference, difference)
}

// versionNumber takes a number from 1, or current, which is 0.
func versionNumber(text string) (int, error) {
	if text == "current" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, usagef("version %q: want a number, or current; statesrv history lists them", text)
	}
	return n, nil
}

// printText is print for what writes itself.
func (o *options) printText(v any, text interface{ WriteText(io.Writer) error }) error {
	var err error
	if printErr := o.print(v, func() { err = text.WriteText(o.app.Out) }); printErr != nil {
		return printErr
	}
	return err
}
