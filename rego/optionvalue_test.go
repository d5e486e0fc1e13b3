package rego

import (
	"testing"

	"github.com/holdgate/holdgate"
)

// What looks like an option may be the value of the one before it. Then the text behind it,
// which somebody else may have written, is an option itself.
func TestAnOptionMayBeTheValueOfTheOneBefore(t *testing.T) {
	e := open(t, Options{})
	for command, want := range map[string]holdgate.Action{
		`git log -S --grep "$(cat x.txt)"`:                                holdgate.Hold,
		`git log -S "$(cat x.txt)"`:                                       holdgate.Allow,
		`git log --oneline -5 --grep "$(cat x.txt)"`:                      holdgate.Allow,
		`git commit --author -m "$(cat x.txt)"`:                           holdgate.Hold,
		`git commit -q -m "$(cat x.txt)"`:                                 holdgate.Allow,
		`grep -e -m "$(cat x.txt)"`:                                       holdgate.Hold,
		`head -n -c "$(cat x.txt)"`:                                       holdgate.Hold,
		`head -n "$(cat x.txt)" a`:                                        holdgate.Allow,
		`cargo test --features -p "$(cat x.txt)"`:                         holdgate.Hold,
		`cargo test --release -p "$(cat x.txt)"`:                          holdgate.Allow,
		`awk -F -v "x=$(cat x.txt)" a`:                                    holdgate.Hold,
		`awk -F: -v "x=$(cat x.txt)" '{print x}' a`:                       holdgate.Allow,
		`docker build --build-arg "A=$x" --build-arg "B=$y" .`:            holdgate.Allow,
		`git commit -m "$x" -m "$y"`:                                      holdgate.Allow,
		`docker build --file -t "$(cat x.txt)" .`:                         holdgate.Hold,
		`docker build --no-cache -t "$(cat x.txt)" .`:                     holdgate.Allow,
		`go run -tags -run "$(cat x.txt)"`:                                holdgate.Hold,
		`n=$(git log -1 --grep --format=%h); git fetch $n`:                holdgate.Hold,
		`n=$(git log -1 --format=%h --grep=x -- src); git fetch $n`:       holdgate.Allow,
		`n=$(git log --author ann --format=%h -1); git fetch $n`:          holdgate.Allow,
		`for t in $(git tag); do git log -1 --format=%cs "$t"; done`:      holdgate.Allow,
		`n=$(git log -S"$(cat x.txt)" --format=%h -1); git fetch $n`:      holdgate.Hold,
		`n=$(git log -1 --format=%h "$(cat x.txt)"); git fetch $n`:        holdgate.Hold,
		`n=$(git log --format='%h %B' | awk '{print $1}'); git fetch $n`:  holdgate.Hold,
		`n=$(git log --grep --format='%h %s' | cut -d' ' -f1); find . $n`: holdgate.Hold,
	} {
		if d := e.Decide(t.Context(), Input{Call: bashCall(command)}); d.Action != want {
			t.Errorf("%s: %v by %s, want %v", command, d.Action, d.Rule, want)
		}
	}
}

// git prints more than its format says, and words as they are: what it prints so is no hash.
func TestGitPrintsMoreThanHashes(t *testing.T) {
	e := open(t, Options{})
	for printed, want := range map[string]holdgate.Action{
		"git log -1 --format=%h":                      holdgate.Allow,
		"git log -1 -p --format=%h":                   holdgate.Hold,
		"git log -1 --stat --format=%h":               holdgate.Hold,
		"git log -1 --pretty=%h --format=%s":          holdgate.Hold,
		"git log -1 --format=%s --pretty=%h":          holdgate.Allow,
		"git show --format=%h":                        holdgate.Hold,
		"git show -s --format=%h HEAD":                holdgate.Allow,
		"git rev-list --oneline -1 HEAD":              holdgate.Hold,
		"git rev-list --count main..HEAD":             holdgate.Allow,
		"git tag -n":                                  holdgate.Hold,
		"git tag --list 'v2.*' --sort=v:refname":      holdgate.Allow,
		"git describe --tags --abbrev=0":              holdgate.Allow,
		"git rev-parse HEAD~2":                        holdgate.Allow,
		`git rev-parse "$(cat x.txt)"`:                holdgate.Hold,
		"git rev-parse 'a[$(id)]'":                    holdgate.Hold,
		`git for-each-ref --format='%(refname)' "$x"`: holdgate.Hold,
		"grep -zn . f | cut -d: -f1":                  holdgate.Hold,
		"grep -n -A1 . f | cut -d: -f1":               holdgate.Hold,
		"grep -nl -e x f | cut -d: -f1":               holdgate.Hold,
		"grep -n -e x f | cut -d: -f1":                holdgate.Allow,
		"grep -n -e x f g | cut -d: -f1":              holdgate.Hold,
	} {
		command := "n=$(" + printed + "); git fetch origin $n"
		if d := e.Decide(t.Context(), Input{Call: bashCall(command)}); d.Action != want {
			t.Errorf("%s: %v by %s, want %v", command, d.Action, d.Rule, want)
		}
	}
}
