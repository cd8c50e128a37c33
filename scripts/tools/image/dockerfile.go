package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
)

// variables are those that a Dockerfile can expand.
type variables map[string]string

func (v variables) Get(key string) (string, bool) { value, ok := v[key]; return value, ok }

func (v variables) Keys() []string {
	var keys []string
	for key := range v {
		keys = append(keys, key)
	}
	return keys
}

func (v variables) expand(word string) (string, error) {
	expanded, _, err := shell.NewLex('\\').ProcessWord(word, v)
	return expanded, err
}

// declare sets an ARG: to what the command line says, else to its default.
func (v variables) declare(c instructions.ArgCommand, given variables) {
	for _, arg := range c.Args {
		if value, ok := given[arg.Key]; ok {
			v[arg.Key] = value
		} else if arg.Value != nil {
			v[arg.Key] = *arg.Value
		}
	}
}

// build makes the image of a Dockerfile's only stage, for one platform.
func build(r request, store *store, platform v1.Platform) (v1.Image, error) {
	text, err := os.ReadFile(r.dockerfile)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	stages, metaArgs, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, err
	}
	if len(stages) != 1 {
		return nil, errors.New("a Dockerfile of several stages needs docker build")
	}
	given := variables{"TARGETOS": platform.OS, "TARGETARCH": platform.Architecture, "TARGETPLATFORM": platform.String()}
	maps.Copy(given, r.args)
	global := variables{}
	for _, arg := range metaArgs {
		global.declare(arg, given)
	}
	base, err := global.expand(stages[0].BaseName)
	if err != nil {
		return nil, err
	}
	s := stage{context: r.context, given: given, vars: variables{}, platform: platform}
	if err := s.from(base, store); err != nil {
		return nil, err
	}
	for _, command := range stages[0].Commands {
		if err := s.run(command); err != nil {
			return nil, fmt.Errorf("%s: %w", command.Name(), err)
		}
	}
	return mutate.ConfigFile(s.image, s.config)
}

// stage is an image in the making.
type stage struct {
	context  string
	given    variables // from the command line
	vars     variables // declared so far
	platform v1.Platform
	image    v1.Image
	config   *v1.ConfigFile
}

func (s *stage) from(base string, store *store) (err error) {
	s.image = mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if base != "scratch" {
		if s.image, err = store.get(base, s.platform); err != nil {
			return err
		}
	}
	file, err := s.image.ConfigFile()
	if err != nil {
		return err
	}
	s.config = file.DeepCopy()
	s.config.OS, s.config.Architecture, s.config.Variant = s.platform.OS, s.platform.Architecture, s.platform.Variant
	if base == "scratch" { // as docker build does
		s.config.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	}
	return nil
}

func (s *stage) run(command instructions.Command) error {
	if e, ok := command.(instructions.SupportsSingleWordExpansion); ok {
		if err := e.Expand(s.vars.expand); err != nil {
			return err
		}
	}
	config := &s.config.Config
	switch c := command.(type) {
	case *instructions.ArgCommand:
		s.vars.declare(*c, s.given)
	case *instructions.CopyCommand:
		return s.copy(c)
	case *instructions.LabelCommand:
		if config.Labels == nil {
			config.Labels = map[string]string{}
		}
		for _, label := range c.Labels {
			config.Labels[label.Key] = label.Value
		}
	case *instructions.UserCommand:
		config.User = c.User
	case *instructions.WorkdirCommand:
		config.WorkingDir = path.Join("/", config.WorkingDir, c.Path)
		if path.IsAbs(c.Path) {
			config.WorkingDir = path.Clean(c.Path)
		}
	case *instructions.EntrypointCommand:
		config.Entrypoint, config.Cmd = c.CmdLine, nil
		return execForm(c.PrependShell)
	case *instructions.CmdCommand:
		config.Cmd = c.CmdLine
		return execForm(c.PrependShell)
	default:
		return errors.New("needs docker build: only ARG, COPY, LABEL, USER, WORKDIR, ENTRYPOINT and CMD are known here")
	}
	return nil
}

func execForm(shell bool) error {
	if shell {
		return errors.New("needs a shell: write it as a JSON array")
	}
	return nil
}

func (s *stage) copy(c *instructions.CopyCommand) error {
	if c.From != "" || c.Chmod != "" || len(c.SourceContents) > 0 || len(c.ExcludePatterns) > 0 || c.Parents {
		return errors.New("needs docker build: only --chown is known here")
	}
	l := layer{context: s.context}
	if err := l.own(c.Chown); err != nil {
		return err
	}
	for _, source := range c.SourcePaths {
		if err := l.add(source, c.DestPath, len(c.SourcePaths) > 1); err != nil {
			return err
		}
	}
	built, err := l.build()
	if err != nil {
		return err
	}
	// The configuration is set at the end, all at once; here it only gets the layer's diff ID.
	if s.image, err = mutate.AppendLayers(s.image, built); err != nil {
		return err
	}
	file, err := s.image.ConfigFile()
	if err != nil {
		return err
	}
	s.config.RootFS, s.config.History = file.RootFS, file.History
	return nil
}
