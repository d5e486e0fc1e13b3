package facts

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/budget"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/grammar"
)

func TestArgumentsThatAreNoObjectAreAParseError(t *testing.T) {
	f := Extract(context.Background(), holdgate.Call{Tool: &holdgate.Tool{Name: "Bash", ArgumentsRaw: `{"command":"rm`}}, patient)
	if len(f.ParseErrors) != 1 || f.Category != "exec" {
		t.Errorf("got %+v, want category exec and one parse error", f)
	}
}

func TestHTTPRequestsHaveTheirAddress(t *testing.T) {
	c := holdgate.Call{Kind: holdgate.KindHTTPRequest, HTTP: &holdgate.HTTP{Method: "GET", Scheme: "https", Host: "API.example:8443", Path: "/x"}}
	f := Extract(context.Background(), c, patient)
	if f.Category != "network" || len(f.URLs) != 1 || f.URLs[0].Host != "api.example" {
		t.Errorf("got %+v, want the host api.example", f)
	}
}

func TestPathsWhereTheFolderIsNotKnown(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"a relative path lies inside", "rm a", "- d a"},
		{"an absolute one does not", "rm /w/b", "- d ^/w/b"},
		{"nor does one in the home folder", "rm ~/c", "- d ^~/c"},
		{"nor by its variable", `rm "$HOME/c"`, "- d ^~/c"},
		{"nor what leaves where it starts", "rm a/../../b", "- d ^../b"},
		{"a folder below the start is inside", "cd sub && rm ../a", "- d a"},
		{"a folder above is not", "cd .. && rm a", "- d ^../a"},
		{"nor is what climbs out of a folder below", "cd sub && rm ../../a", "- d ^../a"},
		{"an absolute folder is outside", "cd /tmp && rm a", "- d ^/tmp/a"},
		{"so is the home folder", "cd && rm a", "- d ^~/a"},
		{"and what is below", "cd ~/x/y && rm ../a", "- d ^~/x/a"},
		{"what climbs out of the home folder stays outside", "cd ~ && rm ../../etc/x", "- d ^~/../../etc/x"},
		{"so it does by way of cd", "cd ~/x && cd ../../.. && rm a", "- d ^~/../../a"},
		{"a folder of run time is not known", `cd "$X" && rm a`, "- d ^a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args, err := json.Marshal(map[string]string{"command": tt.line})
			if err != nil {
				t.Fatal(err)
			}
			f := Extract(context.Background(), toolCall("Bash", string(args)), Options{Deadline: time.Minute})
			f.Commands = nil
			if diff := cmp.Diff(tt.want, render(f)); diff != "" {
				t.Errorf("paths of %q (-want +got):\n%s", tt.line, diff)
			}
		})
	}
}

// TestBudgets holds that what is too large, too deep or too much ends as a
// parse error, whatever the shape. Without the budgets some of these overflow
// the parser's stack, which nothing can recover from.
func TestBudgets(t *testing.T) {
	var lines []string
	for _, unit := range []string{"(", "$(", "{ ", "if ", "! ", "((", "$((", "${a:-", "\"$(", "<(", "while ", "a[", "f() ", "[[ (", "{a,", "((-", "case x in x) ", "x|", "x&&", "x;", "eval ", "sudo ", "rm a;", "time ", "xargs ", "`", "<<E "} {
		lines = append(lines, strings.Repeat(unit, budget.MaxText/len(unit)), strings.Repeat(unit, 300))
	}
	lines = append(lines,
		strings.Repeat("for i in 1 2 3 4 5 6 7 8; do ", 20)+"rm a"+strings.Repeat("; done", 20),
		strings.Repeat("while x; do ", 40)+"rm a"+strings.Repeat("; done", 40),
		"x() { y; y; }; y() { z; z; }; z() { x; x; }; x",
		"rm "+strings.Repeat("{a,b}", 40),
		strings.Repeat("ls | ", 2000)+"cat",
		strings.Repeat("echo $(", 60)+"ls"+strings.Repeat(")", 60),
		"cat "+strings.Repeat("$(ls) ", 8000),
		strings.Repeat("export A$RANDOM=1; ls;", 2000),
		strings.Repeat("A=1 ", 8000)+"ls",
		strings.Repeat("npx ", 8000)+"rm a",
		"rm "+strings.Repeat("$((", 3000)+"1"+strings.Repeat("))", 3000),
		strings.Repeat("x # \\\n", budget.MaxText/6),
		strings.Repeat("# \\\n", budget.MaxText/4),
		strings.Repeat("$(", 2000)+strings.Repeat("ls; ", 2000)+strings.Repeat(")", 2000),
		strings.Repeat("`", 1)+strings.Repeat("ls # \\\n", 7000)+"`",
		"x='"+strings.Repeat("#\n", 25000)+"'\n"+strings.Repeat("eval \"$x\"\n", 800),
		"alias a='"+strings.Repeat("#b\n", 10000)+"'\n"+strings.Repeat("a\n", 10000),
		"a=aaaaaaaa\n"+strings.Repeat("a=$a$a\n", 40)+"echo $a",
		"a=(b)\n"+strings.Repeat("a=(\"${a[@]}\" \"${a[@]}\")\n", 40)+"${a[@]}",
		"set -- rm a\n"+strings.Repeat("set -- \"$@\" \"$@\"\n", 40)+"\"$@\"",
		"echo "+strings.Repeat("a", 30000)+" | xargs -I{} echo "+strings.Repeat("{}", 15000),
		"parallel echo "+strings.Repeat("{}", 15000)+" ::: "+strings.Repeat("a", 30000),
		strings.Repeat("a", collect.DefaultMaxBytes+1),
	)
	for _, line := range lines {
		args, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		f := bounded(t, toolCall("Bash", string(args)))
		if len(line) > collect.DefaultMaxBytes && !slices.ContainsFunc(f.ParseErrors, func(e string) bool { return strings.HasPrefix(e, "over budget") }) {
			t.Errorf("%.20q: parse errors %q, want over budget", line, f.ParseErrors)
		}
		if len(f.Commands) == 0 && len(f.ParseErrors) == 0 {
			t.Errorf("%.20q yields neither commands nor a parse error", line)
		}
	}
}

func TestOpeningsAreCountedBeforeTheyAreParsed(t *testing.T) {
	for _, unit := range []string{"<(", ">(", "$(", "(", "`", "${a:-", "a["} {
		for n, want := range map[int]bool{grammar.MaxOpenings + 1: true, 2: false} {
			args, err := json.Marshal(map[string]string{"command": strings.Repeat(unit, n)})
			if err != nil {
				t.Fatal(err)
			}
			f := bounded(t, toolCall("Bash", string(args)))
			if got := slices.Contains(f.ParseErrors, "over budget: shell text opens too much"); got != want {
				t.Errorf("%d times %q: over budget is %v, want %v", n, unit, got, want)
			}
		}
	}
}

func TestAContextThatEndedEndsTheWork(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := Extract(ctx, toolCall("Bash", `{"command":"`+strings.Repeat("rm a; ", 200)+`"}`), patient)
	if len(f.ParseErrors) != 1 || !strings.HasPrefix(f.ParseErrors[0], "over budget") {
		t.Errorf("parse errors %q, want over budget", f.ParseErrors)
	}
}

func BenchmarkExtract(b *testing.B) {
	for _, bb := range []struct{ name, tool, arguments string }{
		{"no_arguments", "TodoRead", `{}`},
		{"read_file", "Read", `{"file_path":"/w/src/main.go"}`},
		{"git_status", "Bash", `{"command":"git status"}`},
		{"test_and_filter", "Bash", `{"command":"cd /w && go test ./... 2>&1 | grep -v '^ok' | head -50"}`},
		{"script", "Bash", `{"command":"set -e\nfor f in a b c; do\n  if [ -f $f ]; then rm -rf build/$f; fi\ndone\nbash -c 'find . -name x -delete' && curl -sS https://x.example/y -o out"}`},
		{"write_64KiB", "Write", `{"file_path":"/w/a.go","content":"` + strings.Repeat("func main() { fmt.Println(1) } ", 2100) + `"}`},
		{"notes_1KiB", "read_file", `{"notes":[` + strings.TrimSuffix(strings.Repeat(`{"by":"one","text":"Please look at the file and say what it does; quote \"names\" as they are."},`, 8), ",") + `],"page":1000000001,"path":"src/main.go"}`},
		{"sql", "query", `{"sql":"with d as (select id from a where x) update t set y = 1 where id in (select id from d)"}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := toolCall(bb.tool, bb.arguments)
			b.ReportAllocs()
			for b.Loop() {
				Extract(context.Background(), c, patient)
			}
		})
	}
}
