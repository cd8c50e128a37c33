package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"

	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/captf/captf-runner/runner/result"
)

// ErrNotExecutable says that the configured runtime is no program that can be started.
var ErrNotExecutable = errors.New("runtime is not an executable file")

// Runtime is one tofu or terraform, in the directory of one root module.
type Runtime struct {
	Command []string // resolved: the first element is a path
	Dir     string
	Env     Environ
	Stop    *Stop

	// Outputs says that somebody reads [Output.Outputs]: the event with them is then kept whole, however long it is.
	Outputs bool

	// Inherited is what every process of the runtime has open besides its streams, see process.Inherited: all but those of
	// terraform-exec.
	Inherited *os.File

	// tf is nil when the command has several elements: terraform-exec takes one path.
	tf *tfexec.Terraform
}

// New resolves the command (a path, or a name on PATH) and prepares to run it in dir. The error is
// [ErrNotExecutable] when the first element is no executable file.
func New(command []string, dir string, env Environ, stop *Stop) (*Runtime, error) {
	if len(command) == 0 || command[0] == "" {
		return nil, fmt.Errorf("%w: no command given", ErrNotExecutable)
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("%w: %s is not on PATH", ErrNotExecutable, command[0])
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %s is not there", ErrNotExecutable, command[0])
		}
		return nil, fmt.Errorf("%w: %w", ErrNotExecutable, err)
	}
	r := &Runtime{Command: append([]string{path}, command[1:]...), Dir: dir, Env: env, Stop: stop}
	if len(command) == 1 {
		if r.tf, err = newTerraformExec(dir, path, env, stop); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Sink receives a step's output while it runs. Its methods are never called at the same time.
type Sink interface {
	// Event gets one line of the -json stream, and all that the step said up to it.
	Event(e Event, sofar *Output)
	// Text gets any other line of either stream, without colour codes and other control characters.
	Text(line string)
}

// Run runs one step and reads its output: JSON lines as events, anything else as text. The error says
// that the process could not be started; a failed step is an Exit with a code.
func (r *Runtime) Run(ctx context.Context, args []string, sink Sink) (Exit, *Output, error) {
	return r.RunInput(ctx, args, nil, sink)
}

// RunInput is Run for a command that reads its standard input.
func (r *Runtime) RunInput(ctx context.Context, args []string, input io.Reader, sink Sink) (Exit, *Output, error) {
	reader := &reader{sink: sink, output: &Output{}}
	if r.Outputs {
		reader.whole = []string{outputsMessage}
	}
	stdout, stderr := reader.stream(), reader.stream()
	p := r.process(args)
	p.Stdin, p.Stdout, p.Stderr = input, stdout.lines, stderr.lines
	exit, err := p.Run(ctx, r.Stop)
	stdout.flush()
	stderr.flush()
	return exit, reader.output, err
}

// process is a command of the runtime, without its streams.
func (r *Runtime) process(args []string) process {
	return process{
		Command: append(r.Command[:len(r.Command):len(r.Command)], args...),
		Dir:     r.Dir, Env: r.Env.Vars, Inherited: r.Inherited,
	}
}

// WithStop is the same runtime for commands that belong to another stop: the rescue of a state runs after
// the stop of the run was requested.
func (r *Runtime) WithStop(stop *Stop) *Runtime {
	other := *r
	other.Stop = stop
	return &other
}

// initGOGC lets init collect its garbage less often. Most of its collections come while the program starts, with a heap of
// a few MiB: without them it needs no more memory than an apply, and a third less processor time.
const initGOGC = "400"

// ForInit is the same runtime for its init, unless the environment sets GOGC. What starts providers is not run so: they
// would inherit it.
func (r *Runtime) ForInit() *Runtime {
	other := *r
	other.Env = r.Env.withDefault("GOGC", initGOGC)
	return &other
}

// reader merges both streams of a step.
type reader struct {
	mu     sync.Mutex
	sink   Sink
	output *Output
	whole  []string // the messages of events that somebody needs whole
}

// stream is one of the two.
type stream struct {
	lines *lines
	dump  *dump
}

func (r *reader) stream() stream {
	d := &dump{text: r.text, state: r.state}
	return stream{dump: d, lines: newLines(func(line []byte) {
		if !d.take(line) {
			r.line(line)
		}
	}, r.whole...)}
}

func (s stream) flush() {
	s.lines.Flush()
	s.dump.flush()
}

func (r *reader) line(line []byte) {
	e, ok := parseEvent(line)
	if !ok {
		r.text(line)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.output.event(e)
	r.sink.Event(e, r.output)
}

func (r *reader) text(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := result.Plain(string(line)) // a failure is decided by exit codes, never by colours
	r.output.text.add([]byte(text))
	r.sink.Text(text)
}

func (r *reader) state(document []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.output.State = document
}
