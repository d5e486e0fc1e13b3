package undo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
)

// runsLater stands for what tells which files run later by themselves.
func runsLater(rel string) bool {
	if _, in, ok := strings.Cut("/"+rel+"/", "/.git/"); ok {
		in = strings.TrimSuffix("/"+in, "/")
		return in == "" || strings.HasPrefix(in, "/hooks/") && !strings.HasSuffix(in, ".sample") || slices.Contains([]string{"/config", "/commondir", "/hooks"}, in)
	}
	return slices.ContainsFunc([]string{".vscode", ".github/workflows", ".envrc", "CLAUDE.md"}, func(p string) bool { return strings.Contains("/"+rel+"/", "/"+p+"/") })
}

// Each way to change what runs later by itself: it does without the rule, it does not with
// it, and it does where a call that goes on may.
func TestWhatRunsLaterIsNotChanged(t *testing.T) {
	for name, script := range map[string]string{
		"a hook":                    "echo x > .git/hooks/pre-commit",
		"a hook, from a sample":     "cp .git/hooks/a.sample .git/hooks/post-merge",
		"a hook, by its name":       "mv .git/hooks/a.sample .git/hooks/post-merge",
		"a hook, to be run":         "chmod +x .git/hooks/old",
		"a hook, taken away":        "rm .git/hooks/old",
		"all hooks, taken away":     "mv .git/hooks .git/off",
		"hooks elsewhere":           "git config core.hooksPath /tmp/h",
		"an alias":                  "git config alias.st '!sh'",
		"a configuration":           "printf '[core]\\n\\tfsmonitor = /tmp/x\\n' > .git/config",
		"a configuration, by mv":    "printf '[core]\\n\\tfsmonitor = /tmp/x\\n' > c; mv c .git/config",
		"another repository":        "mkdir sub/.git; echo ../../x > made; mv made sub/.git/commondir",
		"a repository elsewhere":    "mkdir other; echo gitdir: /tmp/x > other/.git",
		"a folder that becomes one": "mkdir -p x/hooks; echo x > x/hooks/pre-push; mv .git gone; mv x .git",
		"an editor's tasks":         "echo x > .vscode/tasks.json",
		"an editor's folder":        "mkdir -p v/.zed; echo x > v/tasks.json; mkdir w; mv v w/.vscode",
		"an editor's folder, link":  "mkdir w v; ln -s v w/.vscode",
		"swapped":                   "echo x > e; python3 -c 'import ctypes; l=ctypes.CDLL(None); exit(l.renameat2(-100,b\"e\",-100,b\".envrc\",2) and 1)'",
		".envrc":                    "echo x >> .envrc",
		".envrc, truncated":         "truncate -s 1 .envrc",
		".envrc, by a hard link":    "ln .envrc e; echo x > e",
		".envrc, by a temporary":    `python3 -c 'import os; fd=os.open(".",os.O_TMPFILE|os.O_RDWR,0o600); os.unlink(".envrc") if 0 else None; os.link(f"/proc/self/fd/{fd}","sub.envrc",src_dir_fd=fd,follow_symlinks=True); os.replace("sub.envrc",".envrc")'`,
		".envrc, by a descriptor":   `python3 -c 'import os; fd=os.open(".envrc",os.O_RDONLY); os.open(f"/proc/self/fd/{fd}",os.O_WRONLY|os.O_TRUNC)'`,
		"CI":                        "mkdir -p .github/workflows; echo x > .github/workflows/ci.yml",
		"CI, below a moved folder":  "mkdir -p g/workflows; echo x > g/workflows/ci.yml; mv g .github",
		"instructions":              "echo x > CLAUDE.md",
		"instructions, copied":      "cp .envrc CLAUDE.md",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []string{"no rule", "refused", "let"} {
				s := newSetting(t)
				plantLater(t, s.root)
				before := later(t, s.root)
				if mode != "no rule" {
					s.later = runsLater
				}
				if mode == "let" {
					s.let = holdgate.Later{All: true}
				}
				e := s.run(t, "bash", "-c", script)
				same := strings.Join(before, "\n") == strings.Join(later(t, s.root), "\n")
				if want := mode == "refused"; same != want || len(e.refused) > 0 != want {
					t.Errorf("%s: it is as it was: %v; refused %q\n%s\n%s", mode, same, e.refused, strings.Join(later(t, s.root), "\n"), e.out)
				}
			}
		})
	}
}

// A call that removes something lets it go, and nothing come in its place.
func TestALeaveToRemoveIsNoneToWrite(t *testing.T) {
	swap := "python3 -c 'import ctypes; l=ctypes.CDLL(None); exit(l.renameat2(-100,b\"e\",-100,b\".envrc\",2) and 1)'"
	for script, goes := range map[string]bool{
		"rm .envrc":                             true,
		"mv .envrc e":                           true,
		"rm -r .git/hooks .vscode":              true,
		"mv .vscode v":                          true,
		"echo ../x > .git/commondir":            false,
		"echo ../x > c; mv c .git/commondir":    false,
		"echo x >> .envrc":                      false,
		"truncate -s 1 .envrc":                  false,
		"ln .envrc e":                           false,
		"ln -s e .git/commondir":                false,
		"mkfifo .git/commondir":                 false,
		"echo x > e; mv e .envrc":               false,
		"echo x > e; " + swap:                   false,
		"chmod +x .git/hooks/old":               false,
		"mv .git/hooks/a.sample .git/hooks/new": false,
		"mkdir v; echo x > v/tasks.json; mv .vscode w; mv v .vscode": true, // only the first
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			s := newSetting(t)
			plantLater(t, s.root)
			before := later(t, s.root)
			s.later = runsLater
			for _, name := range []string{".git", ".envrc", ".vscode"} {
				s.let.Gone = append(s.let.Gone, filepath.Join(s.root, name))
			}
			e := s.run(t, "bash", "-c", script)
			after := later(t, s.root)
			for _, line := range after {
				if !slices.Contains(before, line) {
					t.Errorf("what runs later came to be: %s", line)
				}
			}
			if went := len(after) < len(before); went != goes {
				t.Errorf("something went: %v; refused %q\n%s", went, e.refused, e.out)
			}
		})
	}
}

// A call whose end nobody sees is let for a while, and not until the run ends.
func TestALeaveEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Broker
		covers := func(path string) bool { return b.lets.cover(holdgate.Later.Covers, path) }
		b.Let("first", holdgate.Later{Paths: []string{"/p/.envrc"}})
		time.Sleep(29 * time.Minute)
		b.Let("second", holdgate.Later{Paths: []string{"/p/CLAUDE.md"}})
		if !covers("/p/.envrc") || !covers("/p/CLAUDE.md") {
			t.Error("a call of 29 minutes is not let any longer")
		}
		time.Sleep(2 * time.Minute)
		if covers("/p/.envrc") || !covers("/p/CLAUDE.md") {
			t.Error("the first is let for ever, or has ended the second")
		}
		if b.Ended("second"); covers("/p/CLAUDE.md") {
			t.Error("what has ended is let")
		}
	})
}

func plantLater(t *testing.T, root string) {
	t.Helper()
	for name, text := range map[string]string{
		".git/config": "[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = /etc/theirs\n", ".git/HEAD": "ref: refs/heads/main\n",
		".git/hooks/a.sample": "x", ".git/hooks/old": "x", ".git/objects/x": "", ".git/refs/x": "", ".envrc": "theirs", ".vscode/x": "", "sub/x/y": "",
	} {
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// later are the lines of a manifest of what runs later, without times.
func later(t *testing.T, root string) (list []string) {
	t.Helper()
	for _, line := range manifest(t, root) {
		name, rest, _ := strings.Cut(line[1:], `" `)
		if mode, content, _ := strings.Cut(rest, " "); runsLater(name) && !strings.HasPrefix(mode, "40") {
			_, content, _ = strings.Cut(content, " ")
			list = append(list, name+" "+mode+" "+content)
		}
	}
	return list
}

// What git and others do every day works without being let, and what was let ends.
func TestWhatRunsLaterLetsGitWork(t *testing.T) {
	s := newSetting(t)
	s.later = runsLater
	e := s.shell(t, `
export HOME=/tmp GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q . && echo x > f && git add f && git commit -qm x
[ "$(git config core.filemode)" = true ]
git init -q up; git -C up commit -q --allow-empty -m x; git remote add origin ./up; git fetch -q
git checkout -qb feature --track origin/$(git branch --show-current); git config user.email z@z; git branch -u origin/feature 2>/dev/null || true
git stash -q || true; git rebase -q HEAD; git gc -q; git remote rename origin two; git remote remove two
mkdir d .vscode; touch d/x .git/hooks/new.sample; mv d e; rm -r e .git/hooks/*.sample
mkdir -p far/.vscode; rm -r far; rm -rf .git up; [ ! -e .git ]`)
	if len(e.refused) > 0 {
		t.Errorf("this was refused: %q", e.refused)
	}
}

func TestGitsPlainSettings(t *testing.T) {
	const theirs = "[core]\n\tfsmonitor = true\n[include] path = theirs ; x\n[branch \"a\"]\n\tremote = origin\n"
	for text, want := range map[string]bool{
		theirs: true,
		theirs + "[remote \"o/p.q\"]\n\turl = https://example.com/x\n\tfetch = +refs/heads/*:refs/remotes/o/*\n": true,
		"[core]\n\tbare = false\n[user]\n\temail = a@b # x\n":                                                    true,
		"[remote \"o\"]\n\turl = ext::sh -c x\n":                                                                 false,
		"[branch \"a\"]\n\tremote = \"ext::sh -c x\"\n":                                                          false,
		"[remote \"o\"]\n\turl = -x\n":                                                                           false,
		"[remote \"o\"]\n\tuploadpack = x\n":                                                                     false,
		"[remote \"a.fetch\"]\n\tuploadpack = x\n":                                                               false,
		"[core] fsmonitor = x\n":                                                                                 false,
		"[CORE]\n\tFSMonitor = x\n":                                                                              false,
		"[core]fsmonitor=x\n":                                                                                    false,
		"[core]\n\tbare = false\\\n fsmonitor = x\n":                                                             false,
		"[user]\n\tname = \"a\nfsmonitor = x\n":                                                                  false,
		"[branch \"x\\\"]\n[core] fsmonitor = x\"]\n":                                                            false,
		"[branch \"x]\n[core] fsmonitor = x\"]\n":                                                                false,
		"[core\t\"x\"]\n\tbare = false\n":                                                                        false,
		"[core]\n\tworktree = /home\n":                                                                           false,
		"fsmonitor = x\n":                                                                                        false,
		"[core]\r\n\tfsmonitor = x\r\n":                                                                          false,
		"\xef\xbb\xbf[core]\n\tfsmonitor = x\n":                                                                  false,
		"[filter \"x\"]\n\tclean = x\n":                                                                          false,
		"[include]\n\tpath = mine\n":                                                                             false,
		"[core]\n\tfsmonitor = other\n[include] path = theirs ; x\n[core] bare = x":                              false,
	} {
		if got := plainGitConfig([]byte(theirs), []byte(text), false); got != want {
			t.Errorf("plain: %v, want %v\n%s", got, want, text)
		}
	}
	if !plainGitConfig(nil, []byte("[core]\n\tworktree = ../../../sub\n"), true) {
		t.Error("a submodule names its folder")
	}
}
