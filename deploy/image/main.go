// Command image makes the container image of Holdgate, without a daemon: from scratch,
// with the program, the CA certificates of Mozilla and a user. deploy/image/build
// compiles the programs and calls it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	var b build
	programs := map[string]string{}
	var order []string
	flags.StringVar(&b.Version, "version", "0.0.0", "the `version` that the image's label says")
	flags.StringVar(&b.Commit, "commit", "", "the `commit` that the image's label says")
	created := flags.Int64("created", 0, "when the image was made, in `seconds` since 1970")
	folder := flags.String("layout", "", "write an OCI layout into this new `folder`")
	push := flags.String("push", "", "push to this `reference`, as registry.example/holdgate:1")
	license := flags.String("license", "", "the program's license, a `file`")
	notice := flags.String("notice", "", "the licenses of what the program is made of, a `file` by deploy/package/notice")
	flags.Func("program", "the program for a processor, as `amd64=FILE`; may be repeated", func(s string) error {
		arch, file, ok := strings.Cut(s, "=")
		if !ok || slices.Contains(order, arch) {
			return errors.New("it must be ARCH=FILE, once for each processor")
		}
		programs[arch], order = file, append(order, arch)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if len(order) == 0 || flags.NArg() > 0 || (*folder == "") == (*push == "") {
		return errors.New("it takes --program, --license, --notice, and one of --layout and --push")
	}
	var err error
	if b.License, err = os.ReadFile(*license); err != nil {
		return fmt.Errorf("--license: %w", err)
	}
	if b.Notice, err = os.ReadFile(*notice); err != nil {
		return fmt.Errorf("--notice: %w", err)
	}
	b.Created = time.Unix(*created, 0).UTC()
	index, err := b.index(programs, order)
	if err != nil {
		return err
	}
	if err := say(index); err != nil {
		return err
	}
	if *folder != "" {
		_, err := layout.Write(*folder, index)
		return err
	}
	ref, err := name.ParseReference(*push)
	if err != nil {
		return err
	}
	return remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// say prints what was made, and its size.
func say(index v1.ImageIndex) error {
	m, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, one := range m.Manifests {
		img, err := index.Image(one.Digest)
		if err != nil {
			return err
		}
		layers, err := img.Layers()
		if err != nil {
			return err
		}
		total := one.Size
		for _, l := range layers {
			size, err := l.Size()
			if err != nil {
				return err
			}
			total += size
		}
		fmt.Printf("%s\t%s\t%.1f MB to pull\n", one.Platform, one.Digest, float64(total)/1e6)
	}
	return nil
}
