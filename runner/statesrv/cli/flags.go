package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"strconv"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/client"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

// options are those of a command.
type options struct {
	*flag.FlagSet
	app    *App
	data   string
	output string
}

const tableOutput = "table"

// bare returns no options, for a command that has only its own.
func (a *App) bare(name string) *options {
	o := &options{FlagSet: flag.NewFlagSet("statesrv "+name, flag.ContinueOnError), app: a, output: tableOutput}
	o.SetOutput(io.Discard) // Run tells of errors
	return o
}

// printing returns those of a command that prints for people or programs.
func (a *App) printing(name string) *options {
	o := a.bare(name)
	o.StringVar(&o.output, "o", tableOutput, "output `format`: table or json")
	return o
}

// options returns those of a command that works on a server or a directory.
func (a *App) options(name string) *options {
	o := a.printing(name)
	o.StringVar(&o.data, "data", "", "work on this `directory`, without a server")
	return o
}

// version adds --version, a number from 1; the result is 0 without it.
func (o *options) version(about string) *int {
	n := new(int)
	o.Func("version", about, func(text string) (err error) {
		if *n, err = strconv.Atoi(text); err != nil || *n < 1 {
			return errors.New("want a positive number; statesrv history lists the versions")
		}
		return nil
	})
	return n
}

// parse takes options before, between and after the arguments, of which there
// must be want, and returns the arguments.
func (o *options) parse(args []string, want int) ([]string, error) {
	rest, err := o.parseAny(args)
	if err == nil && len(rest) != want {
		err = usagef("takes %d arguments, not %d", want, len(rest))
	}
	return rest, err
}

func (o *options) parseAny(args []string) ([]string, error) {
	var rest []string
	for {
		if err := o.Parse(args); errors.Is(err, flag.ErrHelp) {
			o.SetOutput(o.app.Err)
			o.Usage()
			return nil, err
		} else if err != nil {
			return nil, usageError{err}
		}
		if args = o.Args(); len(args) == 0 {
			break
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	if o.output != tableOutput && o.output != "json" {
		return nil, usagef("-o %q: want table or json", o.output)
	}
	return rest, nil
}

// print writes v for a program, or calls table for a person.
func (o *options) print(v any, table func()) error {
	if o.output != "json" {
		table()
		return o.app.written()
	}
	e := json.NewEncoder(o.app.Out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return cmp.Or(o.app.written(), err)
	}
	return nil
}

// refused tells a program of a refusal; a person is told by Run.
func (o *options) refused(err error) error {
	var r *statesrv.Refusal
	if o.output != "json" || !errors.As(err, &r) {
		return err
	}
	out := refusal{Error: r.Message, Status: r.Status}
	if r.Holder != nil {
		out.Holder = &r.Holder.Info
	}
	return errors.Join(handled{err}, o.print(out, nil))
}

// state opens the state that an argument names. The caller closes it.
func (o *options) state(ctx context.Context, arg string) (state, error) {
	if o.data == "" {
		conn, err := o.app.connection()
		if err != nil {
			return nil, err
		}
		s, err := client.NewState(arg, conn)
		if err != nil {
			return nil, usageError{err}
		}
		return remote{s}, nil
	}
	if err := statesrv.CheckName(arg); err != nil {
		return nil, usageError{err}
	}
	store, states, err := o.app.openData(ctx, o.data)
	if err != nil {
		return nil, err
	}
	l := &local{states: states, name: arg, by: o.app.caller(), store: store}
	if uid, yes := dir.Foreign(o.data); yes {
		return &owned{local: l, path: o.data, uid: uid}, nil
	}
	return l, nil
}

// openData opens a directory that exists: a mistyped one must not be made.
func (a *App) openData(ctx context.Context, path string) (*dir.Store, *statesrv.States, error) {
	store, err := dir.Open(ctx, path, dir.Options{MustExist: true})
	if err != nil {
		return nil, nil, err
	}
	return store, statesrv.NewStates(store, statesrv.Rules{}), nil
}

func (a *App) caller() statesrv.Caller {
	return statesrv.Caller{Addr: "local", Agent: "statesrv/" + a.Version, User: a.Who}
}
