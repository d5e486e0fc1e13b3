package run

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
	"github.com/holdgate/holdgate/cmd/holdgate/trust"
)

// confine starts the sandbox. door is the port of the agents' door, for one
// without a network of its own.
func (r *agent) confine(door uint16) error {
	spec, err := r.spec(door)
	if err != nil {
		return err
	}
	if err := r.beginUndo(spec.Dir); err != nil {
		return err
	}
	spec.Undo = r.undo != nil
	if err := r.beginPrivate(&spec); err != nil {
		return err
	}
	r.box, err = confine.Start(spec)
	if missing, ok := errors.AsType[*confine.MissingError](err); ok {
		return r.cannotConfine(missing)
	}
	if err != nil {
		return err
	}
	if err := r.serveUndo(spec); err != nil {
		return err
	}
	r.tell(spec)
	return nil
}

// confineWeak starts a sandbox that shares the sidecar's network.
func (r *agent) confineWeak(agents string) error {
	if r.Confinement != confine.Weak {
		return nil
	}
	ap, err := netip.ParseAddrPort(agents)
	if err != nil {
		return fmt.Errorf("reading the address of the agents' door: %w", err)
	}
	if err := r.confine(ap.Port()); err != nil {
		return err
	}
	r.say("warning: ", "the confinement is WEAK: docs/run.md says what it leaves open", "")
	return nil
}

// closeBox ends what still runs inside.
func (r *agent) closeBox() {
	if r.box != nil {
		r.removed(r.box.Close())
	}
}

// cannotConfine says what is missing and what can be done. Nothing has run.
func (r *agent) cannotConfine(missing *confine.MissingError) error {
	x := &RefusedError{Text: fmt.Sprintf("the agent cannot be confined (%s), and was not started: %v", r.Confinement, missing)}
	var do []string
	if missing.Hint != "" {
		do = append(do, missing.Hint)
	}
	if r.Confinement == confine.Strong {
		do = append(do, "--confine weak, which leaves more open")
	}
	x.Hint = strings.Join(append(do, "--unconfined, with which it can go around Holdgate"), "; or ")
	return x
}

// spec says what the agent may reach.
func (r *agent) spec(door uint16) (confine.Spec, error) {
	if err := os.MkdirAll(r.Config.StateDir, 0o700); err != nil {
		return confine.Spec{}, fmt.Errorf("making the state folder: %w", err)
	}
	temp := filepath.Join(r.trust.Dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		return confine.Spec{}, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	args, err := ConfinedArgs()
	if err != nil {
		return confine.Spec{}, err
	}
	writes, err := launch.Writes(r.Program, r.Host.Getenv("HOME"))
	if err != nil {
		return confine.Spec{}, fmt.Errorf("making what the agent keeps of its own: %w", err)
	}
	s := confine.Spec{
		Kind: r.Confinement, Self: args, Dir: r.o.Dir, Temp: temp, Door: door, Loopback: loopbackPorts(r.Config),
		Terminal: term.IsTerminal(int(r.Stdin.Fd())) && term.IsTerminal(int(r.Stdout.Fd())),
		Mask:     trust.Masked(r.Config),
		ReadOnly: trust.Files(r.Config, r.o.Program),
		Keep:     append([]string{r.trust.Dir}, programFolder(r.Program)...),
	}
	for _, path := range append(writes, r.Write...) {
		real, err := realPath(path)
		if err != nil {
			return confine.Spec{}, fmt.Errorf("--write: %w", err)
		}
		s.Write = append(s.Write, real)
	}
	if token := r.Door.TokenFile; token != "" {
		s.Mask = append(s.Mask, token)
	}
	if r.beside != nil {
		s.Mask, s.ReadOnly = append(s.Mask, r.beside.terms.Mask...), append(s.ReadOnly, r.beside.terms.ReadOnly...)
	}
	guarded, err := r.configPlace(s)
	if err != nil {
		return confine.Spec{}, err
	}
	s.ReadOnly = append(s.ReadOnly, guarded...)
	for _, list := range []*[]string{&s.Mask, &s.ReadOnly, &s.Keep} {
		for i, path := range *list {
			if (*list)[i], err = realPath(path); err != nil {
				return confine.Spec{}, err
			}
		}
	}
	s.Dir, err = realPath(s.Dir)
	return s, err
}

// configPlace is the folder where later commands look for a configuration,
// where the agent works above it: it must not write one there. The folder is
// made, for what is not there cannot be guarded.
func (r *agent) configPlace(s confine.Spec) (guarded []string, err error) {
	dir := config.Folder(r.Host.Getenv)
	if dir == "" {
		return nil, nil
	}
	for _, root := range append([]string{s.Dir}, s.Write...) {
		at, err := trust.Reachable(dir, root)
		if err != nil {
			return nil, fmt.Errorf("the configuration's usual place: %w", err)
		}
		if at == "" {
			continue
		}
		if root, err = realPath(root); err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(at, root)
		within := err == nil && filepath.IsLocal(rel)
		info, err := os.Lstat(at)
		link := err == nil && info.Mode()&os.ModeSymlink != 0
		if within || link || s.Kind != confine.Strong {
			if r.o.TrustWritable {
				continue
			}
			return nil, fmt.Errorf("the agent could write a configuration for later sidecars (%s), for it writes in %s: start it in another folder, or say --trust-writable-policy", at, root)
		}
		if err := os.MkdirAll(at, 0o700); err != nil {
			return nil, fmt.Errorf("making the configuration's usual place: %w", err)
		}
		guarded = append(guarded, at)
	}
	return guarded, nil
}

// realPath is absolute and without links: what is masked must be what is meant.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// programFolder are the folders of /tmp that a program, and what a link there
// leads to, lie in: the agent has a /tmp of its own.
func programFolder(program string) (folders []string) {
	abs, err := filepath.Abs(program)
	if err != nil {
		return nil // starting it says why
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil
	}
	for _, path := range []string{abs, real} {
		parts := strings.SplitN(path, "/", 4)
		if len(parts) == 4 && parts[1] == "tmp" {
			folders = append(folders, "/tmp/"+parts[2])
		}
	}
	return slices.Compact(folders)
}

// loopbackPorts are the ports of this host that the configuration names as
// upstreams.
func loopbackPorts(s config.Config) (ports []uint16) {
	add := func(text string) {
		u, err := url.Parse(text)
		if err != nil {
			return // starting the sidecar says so
		}
		ip := net.ParseIP(u.Hostname())
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err == nil && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) && port != confine.PortAgents && !slices.Contains(ports, uint16(port)) {
			ports = append(ports, uint16(port))
		}
	}
	for _, u := range s.Upstreams {
		add(u.URL)
	}
	for _, m := range s.MCP {
		add(m.URL)
	}
	return ports
}

// ConfinedArgs start the process inside.
func ConfinedArgs() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return []string{self, confine.Command}, nil
}

// held are the values of variables that the sidecar has and the agent must not.
func (r *agent) held() (values []string) {
	for _, c := range r.Config.Credentials {
		if c.Env != "" {
			values = append(values, strings.TrimSpace(r.Host.Getenv(c.Env)))
		}
	}
	return values
}

// way is how the agent is led to the sidecar.
func (r *agent) way(agents string) launch.Way {
	w := launch.Way{Agents: agents, CA: r.trust.CA, Bundle: r.trust.Bundle, JavaStore: r.trust.JavaStore, BaseURL: r.BaseURL}
	for _, name := range slices.Sorted(maps.Keys(r.Config.Credentials)) {
		if c := r.Config.Credentials[name].WithDefaults(); c.Env != "" {
			w.Placeholders = append(w.Placeholders, c.Env+"="+c.Placeholder)
		}
	}
	if !r.Config.Run.Telemetry {
		w.Quiet = launch.Quiet(r.Program, r.environ())
	}
	switch r.Confinement {
	case confine.Strong:
		w.NoProxy, w.Temp = "localhost,127.0.0.1,::1", "/tmp" // its own servers, which nobody else reaches
	case confine.Weak:
		w.Temp = filepath.Join(r.trust.Dir, "tmp")
	}
	return w
}
