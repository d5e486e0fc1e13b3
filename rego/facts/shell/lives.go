package shell

import (
	"path"
	"slices"

	"github.com/holdgate/holdgate/rego/facts/collect"
)

// hangs notes that a command starts where earlier calls left the shell. One that
// only goes somewhere else from anywhere does not.
func hangs(x *collect.Findings, s *Shell, in Invocation) {
	if x.Fresh || x.Opts.Shell == "" || !slices.Equal(s.Dirs, collect.DirsOf(x.Start())) {
		return
	}
	switch in.Name() {
	case "cd", "chdir", "pushd":
		if to := in.Words[len(in.Words)-1]; len(in.Words) > 1 && to.Known() && path.IsAbs(to.Text) {
			x.Gone = true
			return
		}
	}
	x.Facts.Shell = x.Opts.Shell
}
