package rego

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A spec says where the user's own policy comes from and how it is to be read.
// The zero value is the shipped pack alone.
type spec struct {
	path    string
	signing Signing
	pushed  *Pushed
	remote  *remote // with bundles; nil: none
	adapter adapter
}

// spec is where policy comes from, without what an OPA configuration names.
func (o Options) spec() spec {
	return spec{path: o.Path, signing: o.Signing, pushed: o.Pushed, adapter: adapter{kind: o.Adapter, query: o.Query}}
}

// resolve is spec with what an OPA configuration names; the remote is nil where
// there is none, else to be closed. Bundles are fetched.
func (o Options) resolve(ctx context.Context) (spec, *remote, error) {
	s := o.spec()
	if o.OPAConfig == "" {
		return s, nil, nil
	}
	r, err := openRemote(ctx, o)
	if err != nil {
		return s, nil, err
	}
	if len(r.bundles) == 0 {
		return s, r, nil
	}
	if s.path != "" {
		err = fmt.Errorf("the policy comes from %s and from bundles of %s: choose one", s.path, o.OPAConfig)
	} else {
		err = r.first(ctx)
	}
	if err != nil {
		r.close(context.WithoutCancel(ctx))
		return s, nil, err
	}
	s.remote, s.pushed = r, nil
	return s, r, nil
}

// Pushed is a policy that was handed over as files rather than found in a
// folder.
type Pushed struct {
	Name  string            // for people; need not be unique
	Files map[string]string // by slash-separated names such as "deploys.rego"
}

// from says where the user's policy is: a path, or the OPA configuration that
// names its servers.
func (s spec) from() string {
	if s.remote != nil {
		return s.remote.name
	}
	return s.path
}

// read reads what the user brings; nil where that is nothing.
func (s spec) read() (*sources, error) {
	switch {
	case s.remote != nil:
		return s.remote.sources()
	case s.pushed != nil:
		return s.pushed.sources()
	case s.path == "":
		return nil, nil
	case isBundle(s.path):
		return readBundle(s.path, s.signing)
	case s.signing.Key != "":
		return nil, fmt.Errorf("reading policy %s: it is no bundle (.tar.gz), and only signed bundles are taken while there is a key to check them with", s.path)
	}
	return readSources(s.path)
}

// maxPushedFiles bounds a pushed policy.
const maxPushedFiles = 1000

func (p *Pushed) sources() (*sources, error) {
	if len(p.Files) == 0 || len(p.Files) > maxPushedFiles {
		return nil, fmt.Errorf("reading policy %s: it has %d files: want 1 to %d", p.Name, len(p.Files), maxPushedFiles)
	}
	s := &sources{label: p.Name}
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("reading policy %s: %w", p.Name, err)
		}
		s.add(name, folders(path.Dir(name)), []byte(p.Files[name]))
	}
	return s, nil
}

// checkName makes sure that a name is that of a file below a folder, and of a
// policy.
func checkName(name string) error {
	if !filepath.IsLocal(name) || path.Clean(name) != name || strings.Contains(name, `\`) {
		return fmt.Errorf("%q is no name for a file: want one such as rules.rego or team/rules.rego", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return fmt.Errorf("%q is no name for a file: a part of it begins with a dot", name)
		}
	}
	if !isSource(name) {
		return fmt.Errorf("%q is no file of a policy: want .rego, .json or .yaml", name)
	}
	return nil
}
