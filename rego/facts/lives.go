package facts

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Some agents keep one shell for all calls, and a cd of one call is where the next
// begins. Which do is not known for certain, so paths are judged from the session's
// folder; but an approval of "the same command" is one for the same place.

// maxLeaves bounds the name of where a shell was left, in bytes.
const maxLeaves = 500

// lostPlace stands for a place that is not known.
const lostPlace = "?"

// freshTools are tools each call of which starts a shell of its own.
const freshTools = "shell shellcommand localshell execcommand runshellcommand"

func startsAnew(tool string) bool {
	if i := strings.LastIndexAny(tool, "./:"); i >= 0 {
		tool = tool[i+1:]
	}
	return wordlist.Has(freshTools, normal(tool))
}

// noteLeft notes where a shell stands after what it ran.
func noteLeft(x *collect.Findings, s *shell.Shell) {
	if x.Fresh || slices.Equal(s.Dirs, collect.DirsOf(x.Start())) && !x.Gone {
		return
	}
	at := lostPlace
	if len(s.Dirs) > 0 {
		at = strings.Join(s.Dirs, "\n")
	}
	if x.Facts.Shell != "" { // it may have gone on from there
		at += "\nfrom " + x.Facts.Shell
	}
	if len(at) > maxLeaves {
		at = lostPlace
	}
	x.Facts.Leaves = at
}
