package programs

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/shell"
)

// run is what is found of one line of shell text.
func run(t testing.TB, line string) holdgate.Facts {
	t.Helper()
	x := collect.New(t.Context(), collect.Options{Dir: "/w", Home: "/home/u", Deadline: time.Minute})
	x.Guard(func() { shell.New(x, "/w", Table()).Source(line) })
	return x.Finish()
}

func TestEffects(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"a row of the table", "cp -r a b", "read /w/a; write /w/b"},
		{"what is moved away is gone", "mv a /v/", "delete /w/a; write /v"},
		{"recursion and force", "rm -rf a", "delete /w/a; recursive; force"},
		{"dd", "dd if=a of=b", "read /w/a; write /w/b"},
		{"tar", "tar xzf a.tgz -C d", "read /w/a.tgz; write /w/d"},
		{"curl sends a file", "curl -d @a -o b https://h.example/", "write /w/b; read /w/a; url https://h.example/"},
		{"git throws work away", "git clean -fd", "delete /w; recursive; force"},
		{"git runs what it is told to", "git -c core.pager='rm x' log", "runs rm x; delete /w/x"},
		{"find deletes", "find d -name '*.o' -delete", "read /w/d; delete /w/d/**/*.o; recursive"},
		{"xargs", "echo a | xargs rm", "runs rm a; delete /w/a"},
		{"a small program", `python3 -c "import os; os.remove('a')"`, "delete /w/a; ?import os; os.remove('a')"},
		{"a file of the project", "python3 tool.py", "unbound tool.py; project tool.py; read /w/tool.py"},
		{"a compiler", "gcc -o a a.c", "write /w/a"},
		{"SQL", "psql -c 'delete from t'", "sql delete t"},
		{"a word of run time that may be an option", "rm $X", "delete $X; ?$X"},
		{"one that can only be text", "echo $X", ""},
		{"a program of awk in a file", "awk -E /v/x.awk", "read /v/x.awk; unbound /v/x.awk"},
		{"what a program of jq takes in", `jq -n 'import "/v/x" as $d; $d'`, "read /v/x.json; read /home/u/.jq/v/x.json"},
		{"modules of a folder elsewhere", `python3 -c "import sys; sys.path.insert(0, '/v'); import a"`, "unbound a.py; unbound a/__init__.py; unbound /v/a.py; unbound /v/a/__init__.py; project a.py; project a/__init__.py; ?import sys; sys.path.insert(0, '/v'); import a"},
		{"another place", "docker exec c rm -rf /a", "delete /a; recursive; force; runs rm -rf /a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := run(t, tt.line)
			var got []string
			for _, p := range f.Paths {
				got = append(got, p.Access+" "+p.Clean)
			}
			if f.Impact.Recursive {
				got = append(got, "recursive")
			}
			if f.Impact.Force {
				got = append(got, "force")
			}
			for _, u := range f.URLs {
				got = append(got, "url "+u.URL)
			}
			for _, st := range f.SQL {
				got = append(got, "sql "+st.Verb+" "+strings.Join(st.Tables, ","))
			}
			for _, c := range f.Commands {
				if len(c.Via) > 0 {
					got = append(got, "runs "+strings.Join(c.Argv, " "))
				}
				for _, u := range c.Unbound {
					got = append(got, "unbound "+u)
				}
				for _, u := range c.Project {
					got = append(got, "project "+u)
				}
				for _, u := range c.Unresolved {
					got = append(got, "?"+u)
				}
			}
			want := strings.Split(tt.want, "; ")
			if tt.want == "" {
				want = nil
			}
			for _, w := range want {
				if !strings.Contains("; "+strings.Join(got, "; ")+";", "; "+w+";") {
					t.Errorf("%q is missing: %s", w, cmp.Diff(tt.want, strings.Join(got, "; ")))
				}
			}
			if len(want) == 0 && len(got) > 0 {
				t.Errorf("got %q, want nothing", got)
			}
		})
	}
}

// FuzzPrograms holds that no words of any program panic.
func FuzzPrograms(f *testing.F) {
	for _, name := range []string{"git", "go", "docker", "tar", "rsync", "curl", "sed", "find", "xargs", "python3", "make", "cargo", "gcc", "psql", "zip", "socat", "kubectl", "npm", "perl", "awk"} {
		f.Add(name + " -x --y=z a")
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, e := range run(t, line).ParseErrors {
			if strings.HasPrefix(e, collect.InternalError) {
				t.Errorf("%q: %s", line, e)
			}
		}
	})
}
