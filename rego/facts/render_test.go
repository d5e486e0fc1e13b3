package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
)

// patient is for tests that are not about time.
var patient = Options{Dir: "/w", Home: "/home/u", Deadline: time.Minute}

func toolCall(name, arguments string) holdgate.Call {
	return holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: name, Arguments: json.RawMessage(arguments)}}
}

func bashFacts(t testing.TB, line string) Facts {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	return Extract(context.Background(), toolCall("Bash", string(args)), patient)
}

// renderCommand writes a command on one line:
// "via,via: argv ?unresolved !unbound <stdin". Words with blanks in them are
// quoted; a command whose program is not known begins with a question mark.
func renderCommand(c Command) string {
	var sb strings.Builder
	if len(c.Via) > 0 {
		sb.WriteString(strings.Join(c.Via, ",") + ": ")
	}
	if c.Program == "" {
		sb.WriteString("? ")
	}
	for i, a := range c.Argv {
		if i > 0 {
			sb.WriteByte(' ')
		}
		if a == "" || strings.ContainsAny(a, " \n\t\"") {
			a = fmt.Sprintf("%q", a)
		}
		sb.WriteString(a)
	}
	for _, u := range c.Unresolved {
		sb.WriteString(" ?" + strings.ReplaceAll(u, "\n", `\n`))
	}
	for _, u := range c.Unbound {
		sb.WriteString(" !" + u)
	}
	if c.Stdin != "" {
		sb.WriteString(" <" + c.Stdin)
	}
	return sb.String()
}

// renderPath writes a path as a letter for its access, the clean path, and
// its class; "^" stands before one outside of the session's folder.
func renderPath(p Path) string {
	s := map[string]string{accessRead: "r ", accessWrite: "w ", accessDelete: "d "}[p.Access]
	if !p.Inside {
		s += "^"
	}
	s += p.Clean
	if p.Class != "" {
		s += " " + p.Class
	}
	return s
}

// render writes the commands, a bar, and the paths, all separated by "; ".
func render(f Facts) string {
	var parts []string
	for _, c := range f.Commands {
		parts = append(parts, renderCommand(c))
	}
	out := strings.Join(parts, "; ")
	parts = nil
	for _, p := range f.Paths {
		parts = append(parts, renderPath(p))
	}
	if len(parts) > 0 {
		out += " | " + strings.Join(parts, "; ")
	}
	if f.Impact.Recursive || f.Impact.Force {
		out += " |"
		if f.Impact.Recursive {
			out += " recursive"
		}
		if f.Impact.Force {
			out += " force"
		}
	}
	if len(f.ParseErrors) > 0 {
		errs := slices.Clone(f.ParseErrors)
		out += " # " + strings.Join(errs, "; ")
	}
	return out
}
