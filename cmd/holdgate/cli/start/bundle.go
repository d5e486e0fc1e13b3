package start

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/report"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
)

// bundle writes a report on this machine and its sidecar.
func (e *env) bundle(c *cli.Context) error {
	if c.Args().Present() {
		return command.Usage("doctor --bundle takes a file and no agent, got %q too", c.Args().First())
	}
	files := report.Files{}
	files.JSON("build.json", command.ThisBuild())
	self, err := run.ConfinedArgs()
	if err != nil {
		return err
	}
	files.JSON("machine.json", machine(self))
	e.askSidecar(c, files)
	return e.writeBundle(c.String("bundle"), files)
}

// machine is what this machine is and can do.
func machine(self []string) map[string]any {
	m := map[string]any{"platform": runtime.GOOS + "/" + runtime.GOARCH, "cpus": runtime.NumCPU()}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m["kernel"], _, _ = strings.Cut(strings.TrimSpace(string(kernel)), "-") // builders name themselves behind it
	}
	var kinds []map[string]any
	for _, f := range confinements(self, nil) {
		kinds = append(kinds, map[string]any{"confinement": f.Confinement, "possible": f.Possible, "missing": report.Scrub(f.Missing), "why": report.Scrub(f.Why)})
	}
	m["confinements"] = kinds
	var set []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if upper := strings.ToUpper(name); strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") || slices.Contains([]string{config.EnvStateDir, config.EnvConfig, command.EnvTokenFile, command.EnvURL,
			"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "GOMEMLIMIT", "GOMAXPROCS", "SSL_CERT_FILE"}, upper) {
			set = append(set, report.Scrub(strings.ToLower(name)))
		}
	}
	slices.Sort(set)
	m["variables_set"] = set
	return m
}

// askSidecar adds what the sidecar says of itself; where none answers, what can be
// found out without one, and why.
func (e *env) askSidecar(c *cli.Context, files report.Files) {
	sc, err := e.Sidecar(c)
	if err == nil {
		defer sc.Close()
		var own map[string]string
		if own, err = sc.Report(c.Context); err == nil {
			maps.Copy(files, own)
			return
		}
	}
	files["no-sidecar.txt"] = report.Scrub(err.Error()) + "\n"
	if s, err := e.Settings(c); err != nil {
		files["config.txt"] = report.Scrub(err.Error()) + "\n"
	} else {
		files.YAML("config.yaml", config.Outline(s))
		files.Conceal("no-sidecar.txt", config.Texts(s), config.Names(s))
	}
}

// writeBundle writes a file that was not there.
func (e *env) writeBundle(name string, files report.Files) (err error) {
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return command.Usage("%s is there already: name a new file", name)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(name)
		}
	}()
	if err := errors.Join(files.Write(out, time.Now()), out.Close()); err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "%s holds:\n", name)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(e.Stdout, "  %s (%d bytes)\n", file, len(files[file]))
	}
	if _, failed := files["no-sidecar.txt"]; failed {
		fmt.Fprintln(e.Stdout, "No sidecar told of itself: no-sidecar.txt says why.")
	}
	_, err = fmt.Fprintln(e.Stdout, "Secrets, names, paths and addresses are left out. Read it before you send it.")
	return err
}
