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
		{command: "mv .envrc x", want: `{"paths":["/p/x/.envrc"],"gone":["/p/.envrc"]}`},
		{command: "mv -t sub .envrc CLAUDE.md", want: `{"paths":["/p/sub/.envrc","/p/sub/CLAUDE.md"],"gone":["/p/.envrc","/p/CLAUDE.md"]}`},
		{command: "git mv .github/workflows/a.yml old.yml", want: `{"gone":["/p/.github/workflows/a.yml"]}`},
		{command: "mv x .envrc; mv .envrc y", want: `{"paths":["/p/.envrc","/p/y/.envrc"],"gone":["/p/x"]}`},
		{command: "mv .envrc x; echo y > .envrc", want: `{"paths":["/p/x/.envrc","/p/.envrc"]}`},
		{command: "move_file", call: tool("move_file", `{"source":"/p/.envrc","destination":"/p/x"}`), want: `{"gone":["/p/.envrc"]}`},
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
		{command: "cd /p && git pull --rebase; cat x", want: git},
		{command: "git -C /p switch x", want: git},
		{command: "git -C /p/sub -C .. checkout x", want: git},
		{command: "git clone -q --depth 1 up new", want: git},
		{command: "git switch -c new", want: git},
		{command: "git stash pop", want: git},
		{command: "git worktree add ../x", want: git},
		{command: "gh pr checkout 3", want: git},
		{command: "git checkout here", shell: "/p", want: git},
		{command: "git checkout -- *.yml", want: git},
		{command: "git fetch && git log -1 && git merge --abort && git rebase -q -X theirs up", want: git},
		{command: "x=$(wc -l < d.txt); (( x > 3 )) && git stash", want: git},
		{command: "git submodule update --init", want: git},
		{command: "git clean -fd", want: git},
		{command: "git checkout below", shell: "/p/sub"},
		{command: "cd sub && git pull"},
		{command: "cd sub && git -C .. checkout x"},
		{command: "cd sub; cd ..; git checkout x"},
		{command: "git -C sub switch x"},
		{command: "[ -d sub ] && cd sub; git checkout x"},
		{command: "cd sub && gh pr checkout 3"},
		{command: "Bash in another folder", call: tool("exec_command", `{"cmd":"git checkout x","workdir":"/p/sub"}`)},
		{command: "gh repo clone o/r -- --template=/tmp/x"},

		{command: "git stash list"},
		{command: "git stash show -p"},
		{command: "git stash drop"},
		{command: "git worktree list"},
		{command: "git worktree prune -n"},
		{command: "git submodule"},
		{command: "git submodule status --recursive"},
		{command: "git submodule summary"},
		{command: "git sparse-checkout list"},
		{command: "git clean -n"},
		{command: "git clean -fdn"},
		{command: "git clean -d --dry-run"},
		{command: "git rebase --show-current-patch"},
		{command: "git stash list; git stash pop", want: git},

		{command: "git submodule foreach ls"},
		{command: "git rebase -i main"},
		{command: "git rebase -qi main"},
		{command: "git rebase --inter main"},
		{command: "git rebase --continue"},
		{command: "git rebase --cont"},
		{command: "git rebase --skip"},
		{command: "git rebase --quit; git checkout x"},
		{command: "git rebase --edit-todo"},
		{command: "git merge --continue"},
		{command: "git cherry-pick --skip"},
		{command: "git revert --cont"},
		{command: "git pull --rebase=interactive"},
		{command: "git pull --reb=i"},
		{command: "git pull -ri"},
		{command: "git pull -qri"},
		{command: "git push ./evil HEAD:x && git checkout y"},
		{command: "git commit; git checkout y"},
		{command: "git commit -m x; git checkout y", want: git},
		{command: "git commit -am x && git checkout y", want: git},
		{command: "git commit -em x && git checkout y"},
		{command: "git revert HEAD"},
		{command: "git revert --no-edit HEAD", want: git},
		{command: "git tag -a v1; git checkout y"},
		{command: "git tag v1; git checkout y", want: git},
		{command: "git add -e; git checkout y"},
		{command: "git add -A; git checkout y", want: git},
		{command: "git branch --edit-d; git checkout y"},
		{command: "git merge -smine other"},
		{command: "git merge *"},
		{command: "git clone -qc core.fsmonitor=./x up new"},
		{command: "git checkout x && git bisect run ls"},
		{command: "git checkout x; (( "},
		{command: "x=$(cat d.txt); (( x )); git stash"},
		{command: "x=$(cat d.txt); [ 1 -eq 1 ] && echo $((x + 1)); git stash"},
		{command: "x=$(cat d.txt); [[ $x -eq 1 ]]; git stash"},
		{command: "x=$(cat d.txt); y=x; (( y )); git stash"},
		{command: "declare -i x; x=$(cat d.txt); git stash"},
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
