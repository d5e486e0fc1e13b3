package command

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/mod/module"
)

// A Build says what a program was built from. What the build did not record is empty.
type Build struct {
	Version  string `json:"version"`            // of the module, "(devel)" where none is recorded
	Commit   string `json:"commit,omitempty"`   // in full from a clone, 12 digits from a module proxy
	Date     string `json:"date,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // files differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"` // GOOS/GOARCH
}

// Version is the module's version as the build recorded it.
func Version() string { return ThisBuild().Version }

// ThisBuild is the build of this process's program.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info)
}

// buildOf reads what Go's linker wrote. A program that was installed from a module
// proxy has no word of a clone, and its version may name the commit.
func buildOf(info *debug.BuildInfo) Build {
	b := Build{Version: cmp.Or(info.Main.Version, "(devel)"), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if b.Commit == "" && module.IsPseudoVersion(b.Version) {
		b.Commit, _ = module.PseudoVersionRev(b.Version)
		if at, err := module.PseudoVersionTime(b.Version); err == nil {
			b.Date = at.Format(time.RFC3339)
		}
	}
	return b
}
