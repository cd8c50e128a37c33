// Command image builds a Dockerfile that needs no container engine: one that only copies files and sets
// the configuration. It adds the image to an OCI layout, and the same files always give the same bytes.
//
//	image [-f Dockerfile] [--build-arg KEY=VALUE]... [--platform OS/ARCH[,OS/ARCH]...] -t REF -o LAYOUT CONTEXT
//
// The layout is a folder; `tar -C LAYOUT -cf FILE .` makes the archive of it that `ctr images import` takes.
// An image that a FROM names is looked for in the same layout.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// request is what the command line asks for.
type request struct {
	dockerfile string
	context    string
	ref        string
	layout     string
	args       map[string]string
	platforms  []v1.Platform
}

func run(arguments []string) error {
	r, err := parse(arguments)
	if err != nil {
		return err
	}
	store, err := openStore(r.layout)
	if err != nil {
		return err
	}
	images := make([]v1.Image, len(r.platforms))
	for i, platform := range r.platforms {
		images[i], err = build(r, store, platform)
		if err != nil {
			return fmt.Errorf("build %s for %s: %w", r.dockerfile, platform, err)
		}
	}
	return store.put(r.ref, r.platforms, images)
}

func parse(arguments []string) (request, error) {
	r := request{args: map[string]string{}}
	platforms := "linux/" + runtime.GOARCH
	f := flag.NewFlagSet("image", flag.ContinueOnError)
	f.StringVar(&r.dockerfile, "f", "Dockerfile", "the `file` to build")
	f.StringVar(&r.ref, "t", "", "the image's `name`")
	f.StringVar(&r.layout, "o", "", "the OCI layout, a `folder`; made if it is not there")
	f.StringVar(&platforms, "platform", platforms, "`OS/ARCH`; several, with commas, make one image for all of them")
	f.Func("build-arg", "a `KEY=VALUE`; repeat it", func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("no = in it")
		}
		r.args[key] = value
		return nil
	})
	if err := f.Parse(arguments); err != nil {
		return r, err
	}
	if f.NArg() != 1 || r.ref == "" || r.layout == "" {
		return r, errors.New("give -t REF, -o LAYOUT and one CONTEXT")
	}
	r.context = f.Arg(0)
	for name := range strings.SplitSeq(platforms, ",") {
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return r, err
		}
		r.platforms = append(r.platforms, *platform)
	}
	return r, nil
}
