package rego

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/download"
	"github.com/open-policy-agent/opa/v1/plugins"
	bundleplugin "github.com/open-policy-agent/opa/v1/plugins/bundle"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/util"
)

// A remote is what an OPA configuration names: servers that bundles come from
// and that decision logs go to. It uses OPA's own clients, downloaders and
// log plugin, but not OPA's bundle plugin: that one activates what it has
// downloaded by itself, without the pack below it and Holdgate's checks, and
// would replace a good policy by one that misses the entry point.
type remote struct {
	name    string // of the configuration file
	manager *plugins.Manager
	bundles map[string]*download.Downloader
	checks  map[string]*bundle.VerificationConfig
	keep    map[string]string // the file in which a bundle is kept
	logs    *logs.Plugin      // nil: none
	log     *slog.Logger

	turn    sync.Mutex // held while one update is taken up
	changed func(own *sources, err error)

	mu     sync.Mutex          // held while what follows is read or changed
	latest map[string]*sources // by the bundle's name
	failed map[string]string   // the last error of a bundle, until it succeeds
}

// remoteKeys are the keys of an OPA configuration that are understood. Any
// other would do nothing, which nobody would notice.
var remoteKeys = []string{"services", "labels", "keys", "bundles", "decision_logs"}

// openRemote reads an OPA configuration, and starts its log plugin. Close it.
func openRemote(ctx context.Context, o Options) (_ *remote, err error) {
	raw, err := os.ReadFile(o.OPAConfig)
	if err != nil {
		return nil, fmt.Errorf("reading the OPA configuration: %w", err)
	}
	var known map[string]any
	if err := util.Unmarshal(raw, &known); err != nil {
		return nil, fmt.Errorf("reading the OPA configuration %s: %w", o.OPAConfig, err)
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if !slices.Contains(remoteKeys, key) {
			return nil, fmt.Errorf("reading the OPA configuration %s: %s is not supported: only %s are", o.OPAConfig, key, strings.Join(remoteKeys, ", "))
		}
	}
	logger := opaLogger{log: o.Logger}
	manager, err := plugins.New(raw, "holdgate", inmem.New(), plugins.Logger(logger), plugins.ConsoleLogger(logger))
	if err != nil {
		return nil, fmt.Errorf("reading the OPA configuration %s: %w", o.OPAConfig, err)
	}
	r := &remote{
		name: o.OPAConfig, manager: manager, bundles: map[string]*download.Downloader{}, checks: map[string]*bundle.VerificationConfig{}, keep: map[string]string{},
		log: o.Logger, latest: map[string]*sources{}, failed: map[string]string{},
	}
	defer func() {
		if err != nil {
			r.close(context.WithoutCancel(ctx))
			err = fmt.Errorf("reading the OPA configuration %s: %w", o.OPAConfig, err)
		}
	}()
	if err := r.addBundles(o); err != nil {
		return nil, err
	}
	if err := r.addLogs(); err != nil {
		return nil, err
	}
	return r, manager.Start(ctx)
}

// addBundles makes a downloader for each bundle.
func (r *remote) addBundles(o Options) error {
	raw := r.manager.GetConfig().Bundles
	c, err := bundleplugin.NewConfigBuilder().WithBytes(raw).WithServices(r.manager.Services()).WithKeyConfigs(r.manager.PublicKeys()).Parse()
	if err != nil || c == nil {
		return err
	}
	for name, src := range c.Bundles {
		switch client := r.manager.Client(src.Service); {
		case strings.HasPrefix(src.Resource, "file:"):
			return fmt.Errorf("bundle %s: files are named by policy.path", name)
		case *src.Trigger != plugins.TriggerPeriodic:
			return fmt.Errorf("bundle %s: only the trigger periodic is supported", name)
		case strings.EqualFold(client.Config().Type, "oci"):
			return fmt.Errorf("bundle %s: OCI registries are not supported", name)
		}
		if r.checks[name], err = r.verification(src, o.Signing); err != nil {
			return fmt.Errorf("bundle %s: %w", name, err)
		}
		if src.Persist {
			if o.KeepDir == "" || !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) {
				return fmt.Errorf("bundle %s cannot be kept under that name", name)
			}
			r.keep[name] = filepath.Join(o.KeepDir, name+".tar.gz")
		}
		r.bundles[name] = download.New(src.Config, r.manager.Client(src.Service), src.Resource).
			WithCallback(func(_ context.Context, u download.Update) error { r.update(name, u); return nil }).
			WithBundleVerificationConfig(r.checks[name]).
			WithSizeLimitBytes(min(src.SizeLimitBytes, maxSourceBytes)).
			WithBundlePersistence(src.Persist)
	}
	return nil
}

// verification is what a bundle's signature is checked with. Where OPA would
// take a bundle without signature although there are keys, it is refused.
func (r *remote) verification(src *bundleplugin.Source, own Signing) (*bundle.VerificationConfig, error) {
	keys := r.manager.PublicKeys()
	switch {
	case src.Signing.SignatureRequired():
		return src.Signing, nil
	case own.Key != "":
		return own.verification()
	case len(keys) == 0:
		return nil, nil
	}
	only := ""
	if len(keys) == 1 {
		only = slices.Collect(maps.Keys(keys))[0]
	}
	return bundle.NewVerificationConfig(keys, only, "", nil), nil
}

// update takes up what a downloader says of its bundle.
func (r *remote) update(name string, u download.Update) {
	own, err := r.taken(name, u)
	if own == nil && err == nil {
		return // nothing new
	}
	r.turn.Lock()
	defer r.turn.Unlock()
	again := r.note(name, own, err)
	if r.changed == nil || again {
		return // first says it, or it was said before
	}
	if err == nil {
		own, err = r.sources()
	}
	r.changed(own, err)
}

// note keeps what an update brought. It reports whether that is the error of
// the update before.
func (r *remote) note(name string, own *sources, err error) (again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		again = r.failed[name] == err.Error()
		r.failed[name] = err.Error()
		return again
	}
	delete(r.failed, name)
	r.latest[name] = own
	return false
}

// taken reads an update, and keeps its bundle.
func (r *remote) taken(name string, u download.Update) (*sources, error) {
	if u.Error != nil {
		return nil, fmt.Errorf("fetching bundle %s: %w", name, u.Error)
	}
	if u.Bundle == nil {
		return nil, nil
	}
	own, err := bundleSources(name, u.Bundle)
	if err != nil {
		return nil, err
	}
	if file := r.keep[name]; file != "" {
		if err := keepFile(file, u.Raw); err != nil {
			r.log.Error("keeping a bundle", "bundle", name, "err", err)
		}
	}
	return own, nil
}

// keepFile writes a file as a whole.
func keepFile(name string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(from); err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", body.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// first fetches each bundle once. One that cannot be had is what was kept of
// it; where nothing was, that is an error.
func (r *remote) first(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.bundles)) {
		fetched := r.bundles[name].Trigger(ctx)
		r.mu.Lock()
		have, said := r.latest[name] != nil, r.failed[name]
		r.mu.Unlock()
		if have {
			continue
		}
		err := errors.New("fetching bundle " + name + ": the server has none")
		switch {
		case said != "":
			err = errors.New(said)
		case fetched != nil:
			err = fmt.Errorf("fetching bundle %s: %w", name, fetched)
		}
		if r.keep[name] == "" {
			return err
		}
		own, keptErr := r.readKept(name)
		if keptErr != nil {
			return errors.Join(err, keptErr)
		}
		r.log.Warn("a bundle cannot be fetched, and what was kept of it is used", "bundle", name, "err", err)
		r.mu.Lock()
		r.latest[name] = own
		r.mu.Unlock()
	}
	return nil
}

func (r *remote) readKept(name string) (*sources, error) {
	body, err := os.ReadFile(r.keep[name])
	if err != nil {
		return nil, fmt.Errorf("reading what was kept of bundle %s: %w", name, err)
	}
	return parseBundle(name, body, r.checks[name])
}

// sources are the files of all bundles together. As in OPA, no two bundles may
// claim one place: the second would change what the first one says.
func (r *remote) sources() (*sources, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := &sources{}
	var labels, roots []string
	for _, name := range slices.Sorted(maps.Keys(r.bundles)) {
		own := r.latest[name]
		if own == nil {
			return nil, fmt.Errorf("reading bundles: %s has not been fetched", name)
		}
		for _, root := range own.roots {
			for _, other := range roots {
				if bundle.RootPathsOverlap(root, other) {
					return nil, fmt.Errorf("reading bundles: %s and another have overlapping roots (%q and %q)", name, root, other)
				}
			}
		}
		roots = append(roots, own.roots...)
		all.modules = append(all.modules, own.modules...)
		all.tests = append(all.tests, own.tests...)
		all.data = append(all.data, own.data...)
		if own.label != "" {
			labels = append(labels, name+" "+own.label)
		}
	}
	all.label = strings.Join(labels, ", ")
	return all, nil
}

// run fetches bundles as configured until ctx ends. changed is called after
// each update that says something new, one at a time.
func (r *remote) run(ctx context.Context, changed func(own *sources, err error)) {
	r.turn.Lock()
	r.changed = changed
	r.turn.Unlock()
	for _, d := range r.bundles {
		d.Start(ctx)
	}
	<-ctx.Done()
	for _, d := range r.bundles {
		d.Stop(ctx)
	}
}

// close sends what decision logs still hold, for as long as ctx lasts.
func (r *remote) close(ctx context.Context) { r.manager.Stop(ctx) }
