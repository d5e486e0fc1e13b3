package programs

import (
	"path"
	"slices"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// emptied is what a program leaves in the files that it writes by itself:
// nothing where it copies a device that holds nothing, or input that is empty,
// and a file that is elsewhere where a link takes its place.
func emptied(s *shell.Shell, p operands.Program, files []argv.Field, target, links bool) shell.Content {
	sources := files
	switch p.Use {
	case operands.UseCopy, operands.UseMove:
		if !target && len(files) > 0 {
			sources = files[:len(files)-1]
		}
	case operands.UseOutput:
		if s.Stdin.Nothing() {
			return shell.ContentNothing
		}
		return shell.ContentText
	case operands.UseRead:
	case operands.UseSecondWrite:
		if len(files) == 0 {
			return shell.ContentText
		}
		sources = files[:1]
	default:
		return shell.ContentText
	}
	switch {
	case len(sources) == 0:
		return shell.ContentText
	case !slices.ContainsFunc(sources, func(f argv.Field) bool { return !wordlist.Has(shell.EmptyDevices, f.Text) }):
		return shell.ContentNothing
	case links && len(files) == 2 && path.Base(files[0].Text) != path.Base(files[1].Text):
		return shell.ContentReport
	}
	return shell.ContentText
}
