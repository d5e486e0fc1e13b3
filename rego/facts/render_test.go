package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/collect"
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

func sqlFacts(t testing.TB, sql string) Facts {
	t.Helper()
	args, err := json.Marshal(map[string]string{"sql": sql})
	if err != nil {
		t.Fatal(err)
	}
	return Extract(context.Background(), toolCall("execute_sql", string(args)), patient)
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
	s := map[string]string{collect.AccessRead: "r ", collect.AccessWrite: "w ", collect.AccessDelete: "d "}[p.Access]
	if !p.Inside {
		s += "^"
	}
	s += p.Clean
	if p.Class != "" {
		s += " " + p.Class
	}
	return s
}

// render writes one fact a line: commands, paths, SQL, addresses, what is
// recursive or forced, and parse errors.
func render(f Facts) string {
	var lines []string
	for _, c := range f.Commands {
		lines = append(lines, renderCommand(c))
	}
	for _, p := range f.Paths {
		lines = append(lines, "- "+renderPath(p))
	}
	for _, st := range f.SQL {
		lines = append(lines, "= "+renderStatement(st))
	}
	for _, u := range f.URLs {
		lines = append(lines, "@ "+u.URL+" "+u.Host)
	}
	if f.Impact.Recursive {
		lines = append(lines, "+ recursive")
	}
	if f.Impact.Force {
		lines = append(lines, "+ force")
	}
	for _, e := range f.ParseErrors {
		lines = append(lines, "# "+e)
	}
	return strings.Join(lines, "\n")
}

func renderStatement(st Statement) string {
	parts := []string{st.Verb}
	if st.Object != "" {
		parts = append(parts, st.Object)
	}
	if len(st.Tables) > 0 {
		parts = append(parts, strings.Join(st.Tables, ","))
	}
	if st.Where {
		parts = append(parts, "where")
	}
	if st.Rows > 0 {
		parts = append(parts, strconv.Itoa(st.Rows)+" rows")
	}
	return strings.Join(parts, " ")
}
