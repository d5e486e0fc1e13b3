package holdgate_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
)

// shape is the shape of a tool call in the folder /w, with its facts as they
// are really extracted.
func shape(t *testing.T, tool string, args any) holdgate.Shape {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	c := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: tool, Arguments: raw}}
	return holdgate.ShapeOf(c, facts.Extract(context.Background(), c, facts.Options{Dir: "/w", Home: "/home/ann", Deadline: time.Minute}))
}

type args = map[string]any

func TestShapesReadAsOneLine(t *testing.T) {
	tests := []struct {
		name, tool string
		args       args
		want       string
	}{
		{"a program with its subcommand", "Bash", args{"command": "git commit -m x"}, "Bash: git commit"},
		{"what describes a command is no part of it", "Bash", args{"command": "git commit", "description": "Commit"}, "Bash: git commit"},
		{"wrappers and variables are", "Bash", args{"command": "sudo FOO=1 rm build/a"}, "Bash: sudo FOO= rm, in ./build"},
		{"quoting changes nothing", "Bash", args{"command": `g'it' "commit"`}, "Bash: git commit"},
		{"an option hides the subcommand", "Bash", args{"command": "git -C /w commit"}, "Bash: git -C"},
		{"an option's value is not shown", "Bash", args{"command": "docker login -phunter2 x; gh --token=hunter2 auth; heroku config:set KEY=hunter2"}, "Bash: docker login -p; gh --token; heroku config:set"},
		{"the top folder inside", "write_file", args{"path": "/w/src/a/b.go", "content": "x"}, "write_file (content, path), in ./src"},
		{"the session's folder itself", "write_file", args{"path": "go.mod", "content": "x"}, "write_file (content, path), in ."},
		{"the folder itself outside", "write_file", args{"path": "/data/app/x", "content": "x"}, "write_file (content, path), in /data/app"},
		{"a path whose class matters, whole", "write_file", args{"path": "/home/ann/.ssh/config", "content": "x"}, "write_file (content, path), in /home/ann/.ssh/config"},
		{"a host with its port", "open_page", args{"url": "https://A.example:8443/x"}, "open_page (url), to https://a.example:8443"},
		{"a statement", "query", args{"sql": "DROP TABLE users"}, "query: drop table users"},
		{"a statement that spares nothing", "query", args{"sql": "delete from users"}, "query: delete users (all rows)"},
		{"what is known at run time only", "Bash", args{"command": "rm $X"}, "Bash: rm, in $X, and what cannot be told"},
		{"many things are counted", "Bash", args{"command": "rm a/1 b/1 c/1 d/1 e/1"}, "Bash: rm, in ./a, ./b, ./c, ./d, 1 more"},
		{"hidden characters are shown", "to\u202eol", args{}, "to⟨U+202E⟩ol"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := shape(t, tt.tool, tt.args).String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestShapesThatAreNotExact(t *testing.T) {
	tests := []struct {
		name, tool string
		args       any
	}{
		{"a variable of run time", "Bash", args{"command": "rm -rf $X"}},
		{"a substitution", "Bash", args{"command": "rm $(cat list)"}},
		{"words that are read", "Bash", args{"command": "ls | xargs rm"}},
		{"a script that nobody was shown", "Bash", args{"command": "./deploy.sh"}},
		{"a build file that nobody was shown", "Bash", args{"command": "terraform apply"}},
		{"code in another language", "Bash", args{"command": "ruby -e 'load ARGV[0]'"}},
		{"a line that cannot be parsed", "Bash", args{"command": "rm 'x"}},
		{"a variable of the environment of run time", "Bash", args{"command": "GIT_DIR=$X git commit"}},
		{"characters that deceive", "Bash", args{"command": "rm a\u202eb"}},
		{"keys for a running program", "write_stdin", args{"chars": "rm -rf /\n"}},
		{"arguments that are no object", "Bash", []int{1}},
		{"a place that is not known", "read_file", args{"path": "~bob/x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if s := shape(t, tt.tool, tt.args); s.Exact() {
				t.Errorf("%s is exact", s)
			}
		})
	}
	t.Run("what is plain is exact", func(t *testing.T) {
		if s := shape(t, "Bash", args{"command": "git commit -m x && rm a"}); !s.Exact() {
			t.Errorf("%s is not exact: %q", s, s.Unclear)
		}
	})
}

func TestKeysTellShapesApart(t *testing.T) {
	base := func() holdgate.Shape {
		return holdgate.Shape{Kind: "tool_call", Tool: "t", Server: "s", Category: "c", About: "a", Keys: []string{"k"}, Commands: []string{"x"},
			Places: []holdgate.Place{{Access: "read", Where: "."}}, Hosts: []string{"h"}, SQL: []string{"q"}, Secrets: []string{"p"}}
	}
	changes := map[string]func(*holdgate.Shape){
		"kind": func(s *holdgate.Shape) { s.Kind = "gate" }, "tool": func(s *holdgate.Shape) { s.Tool += "2" },
		"server": func(s *holdgate.Shape) { s.Server, s.Tool = "", "st" }, "category": func(s *holdgate.Shape) { s.Category = "" },
		"about": func(s *holdgate.Shape) { s.About = "b" }, "keys": func(s *holdgate.Shape) { s.Keys = append(s.Keys, "l") },
		"commands": func(s *holdgate.Shape) { s.Commands = nil }, "place": func(s *holdgate.Shape) { s.Places[0].Access = "write" },
		"inside": func(s *holdgate.Shape) { s.Places[0].Inside = true }, "class": func(s *holdgate.Shape) { s.Places[0].Class = "c" }, "no place": func(s *holdgate.Shape) { s.Places = nil },
		"host": func(s *holdgate.Shape) { s.Hosts, s.SQL = []string{"h", "q"}, nil }, "sql": func(s *holdgate.Shape) { s.SQL[0] = "Q" },
		"secret": func(s *holdgate.Shape) { s.Secrets = nil }, "recursive": func(s *holdgate.Shape) { s.Recursive = true },
		"force": func(s *holdgate.Shape) { s.Force = true }, "unclear": func(s *holdgate.Shape) { s.Unclear = []string{"u"} },
	}
	seen := map[string]string{base().Key(): "nothing"}
	for name, change := range changes {
		s := base()
		change(&s)
		if other, ok := seen[s.Key()]; ok {
			t.Errorf("a change of %s and of %s give the same key", name, other)
		}
		seen[s.Key()] = name
	}
	if again := base(); seen[again.Key()] != "nothing" {
		t.Error("the same shape has another key")
	}
}

func TestReachingNoFurther(t *testing.T) {
	write := args{"path": "/w/src/a.go", "content": "x"}
	tests := []struct {
		name   string
		tool   string
		args   args
		within bool
	}{
		{"the same", "write_file", write, true},
		{"another file and folder inside", "write_file", args{"path": "/w/docs/b.md", "content": "y"}, true},
		{"one more argument", "write_file", args{"path": "/w/src/a.go", "content": "x", "mode": "a"}, false},
		{"one argument less", "write_file", args{"path": "/w/src/a.go"}, true},
		{"a file outside", "write_file", args{"path": "/etc/a", "content": "x"}, false},
		{"a file that climbs out", "write_file", args{"path": "../a", "content": "x"}, false},
		{"a file that runs later by itself", "write_file", args{"path": "/w/.git/hooks/pre-commit", "content": "x"}, false},
		{"another tool", "edit_file", write, false},
		{"a credential in it", "write_file", args{"path": "/w/src/a.go", "content": "AKIAIOSFODNN7EXAMPLE"}, false},
		{"characters that deceive", "write_file", args{"path": "/w/src/a\u202e.go", "content": "x"}, false},
	}
	granted := shape(t, "write_file", write)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if s := shape(t, tt.tool, tt.args); s.Within(granted) != tt.within {
				t.Errorf("%s within %s: %v", s, granted, !tt.within)
			}
		})
	}
}

func TestWhatHangsOnAnyArgument(t *testing.T) {
	tests := []struct {
		name, tool string
		args       args
		acts       bool
	}{
		{"a file that is written", "write_file", args{"path": "a", "content": "x"}, false},
		{"a file that is read", "read_file", args{"path": "/etc/hosts"}, false},
		{"a file that is moved", "move_file", args{"source": "a", "destination": "b"}, false},
		{"a file that is deleted", "delete_file", args{"path": "a"}, true},
		{"a tool of files that names none", "write_file", args{"id": 1}, true},
		{"a file that is fetched", "read_file", args{"path": "a", "url": "https://a.example"}, true},
		{"a file and SQL", "read_file", args{"path": "a", "sql": "select 1"}, true},
		{"a file and a command", "write_file", args{"path": "a", "command": "ls"}, true},
		{"a command", "Bash", args{"command": "ls"}, true},
		{"an address", "fetch", args{"url": "https://a.example"}, true},
		{"another agent", "Task", args{"prompt": "go"}, true},
		{"a message", "send_email", args{"to": "a@a.example"}, true},
		{"a database", "execute_sql", args{"sql": "select 1"}, true},
		{"a database of which nothing is said", "list_tables", args{}, true},
		{"a tool that is not known", "sync_notes", args{"path": "a"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if s := shape(t, tt.tool, tt.args); s.Acts() != tt.acts {
				t.Errorf("%s acts: %v", s, !tt.acts)
			}
		})
	}
}
