package rego

import (
	"encoding/json"
	"testing"

	"github.com/holdgate/holdgate"
)

// What a call that goes on may change of what runs later: what it names, what git checks
// out where nothing else runs, all where that is what it is about, and else nothing.
func TestWhatACallMayChangeLater(t *testing.T) {
	e, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	tool := func(name, arguments string) holdgate.Call {
		c := bashCall("")
		c.Tool = &holdgate.Tool{Name: name, Arguments: json.RawMessage(arguments)}
		return c
	}
	const git, all = `{"git":true}`, `{"all":true}`
	for _, c := range []struct {
		command, want string
		call          holdgate.Call
		shell         string // where earlier calls have left it
	}{
		{command: "mkdir -p .github/workflows; echo x > .github/workflows/a.yml", want: `{"paths":["/p/.github/workflows","/p/.github/workflows/a.yml"]}`},
		{command: "tee -a sub/../.envrc < x", want: `{"paths":["/p/.envrc"]}`},
		{command: "rm -rf .github", want: `{"gone":["/p/.github"]}`},
		{command: "rm x", want: `{"gone":["/p/x"]}`},
		{command: "[ -d nothing ] && rm -f .git/commondir", want: `{"gone":["/p/.git/commondir"]}`},
		{command: "rm .envrc; echo x > .envrc", want: `{"paths":["/p/.envrc"],"gone":["/p/.envrc"]}`},
		{command: "Write", call: tool("Write", `{"file_path":"/p/CLAUDE.md","content":"x"}`), want: `{"paths":["/p/CLAUDE.md"]}`},
		{command: "Write, elsewhere", call: tool("Write", `{"file_path":"/p/main.go","content":"x"}`)},
		{command: "cat CLAUDE.md"},
		{command: "echo x > /etc/cron.d/x"},
		{command: "python3 gen.py"},
		{command: "rm -rf ."},
		{command: "npm test"},

		{command: "git checkout other", want: git},
		{command: "cd sub && git pull --rebase; cat x", want: git},
		{command: "git -C sub switch x", want: git},
		{command: "git -C /p/sub -C .. checkout x", want: git},
		{command: "cd sub && git -C .. checkout x", want: git},
		{command: "git clone -q --depth 1 up new", want: git},
		{command: "git switch -c new", want: git},
		{command: "git stash pop", want: git},
		{command: "git worktree add ../x", want: git},
		{command: "gh pr checkout 3", want: git},
		{command: "git checkout here", shell: "/p/sub", want: git},
		{command: "git checkout there", shell: "/tmp/x"},
		{command: "git checkout anywhere", shell: "?"},
		{command: "git status"},
		{command: "git push"},
		{command: "git commit -m x"},
		{command: "git pull && npm test"},
		{command: "git checkout other; ./x.sh"},
		{command: "git checkout $(python3 gen.py)"},
		{command: "git checkout $BRANCH"},
		{command: "git rebase -x 'python3 gen.py' main"},
		{command: "git rebase --exec='python3 gen.py' main"},
		{command: "git submodule foreach 'python3 gen.py'"},
		{command: "git pull --upload-pack=./x"},
		{command: "git clone -u ./x up new"},
		{command: "git clone -c core.fsmonitor=./x up new"},
		{command: "git clone --template=/tmp/x up new"},
		{command: "git merge -s mine other"},
		{command: "git -c core.hooksPath=/tmp/x checkout other"},
		{command: "git --git-dir=/tmp/x checkout other"},
		{command: "GIT_DIR=/tmp/x git checkout other"},
		{command: "export GIT_DIR=/tmp/x; git checkout other"},
		{command: "cd /tmp/x && git checkout other"},
		{command: "git -C /tmp/x checkout other"},
		{command: "git -C ../x checkout other"},
		{command: "cd .. && git checkout other"},
		{command: "cd && git checkout other"},
		{command: "cd - && git checkout other"},
		{command: "cd ~ && git checkout other"},
		{command: "cd ~/x && git checkout other"},
		{command: "git merge --strategy=mine other"},
		{command: "cd $X && git checkout other"},
		{command: "cd sub && git -C ../.. checkout other"},
		{command: "git rebase --exe='python3 gen.py' main"},
		{command: "git pull --upload-pa=./x"},
		{command: "git clone --conf core.fsmonitor=./x up new"},

		{command: "pre-commit install", want: all},
		{command: "git config core.hooksPath hooks", want: `{"paths":["/p/.git/config"],"all":true}`},
	} {
		call := c.call
		if call.Tool == nil {
			call = bashCall(c.command)
		}
		for _, undo := range []bool{true, false} {
			call.Agent.Undo = undo
			in := Input{Call: call, Dir: "/p", Shell: c.shell}
			p := e.current.Load()
			f, err := p.facts(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if may := p.later(in, f); may != nil {
				b, err := json.Marshal(may)
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			}
			if want := map[bool]string{true: c.want}[undo]; got != want {
				t.Errorf("%s (undo %v): %s, want %s", c.command, undo, got, want)
			}
		}
	}
}
