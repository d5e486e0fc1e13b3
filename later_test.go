package holdgate_test

import (
	"testing"

	"github.com/holdgate/holdgate"
)

func TestLaterCoversWhatItNames(t *testing.T) {
	for _, c := range []struct {
		may  holdgate.Later
		path string
		want bool
	}{
		{holdgate.Later{}, "/p/.envrc", false},
		{holdgate.Later{All: true}, "/p/.git/hooks/x", true},
		{holdgate.Later{Git: true}, "/p/.envrc", true},
		{holdgate.Later{Git: true}, "/p/sub/.vscode/tasks.json", true},
		{holdgate.Later{Git: true}, "/p/.git/hooks/x", false},
		{named("/p/.envrc"), "/p/.envrc", true},
		{named("/p/.envrc"), "/p/.envrc2", false},
		{named("/p/.envrc"), "/p/sub/.envrc", false},
		{named("/p/.vscode"), "/p/.vscode/a/b.json", true},
		{named("/p/ci/build-*.yml"), "/p/ci/build-7.yml", true},
		{named("/p/ci/build-*.yml"), "/p/ci/a/build-7.yml", false},
		{named("/p/ci/a.yml"), "/p/ci/a.yml.tmp.4711.00ff3d", true},
		{named("/p/ci/a.yml"), "/p/ci/a.yml.tmp", true},
		{named("/p/ci/a.yml"), "/p/ci/a.yml.tmp.evil.yml", false},
		{named("/p/ci/a.yml"), "/p/ci/b.yml.tmp.4711", false},
		{named("/p/ci/a.yml"), "/p/ci/sedA1b2C3", true},
		{named("/p/ci/a.yml"), "/p/ci/sedA1b2C3.yml", false},
		{named("/p/ci/a.yml"), "/p/hooks/sedA1b2C3", false},
	} {
		if got := c.may.Covers(c.path); got != c.want {
			t.Errorf("%+v covers %s: %v", c.may, c.path, got)
		}
	}
}

func TestLaterThatMayGo(t *testing.T) {
	gone := holdgate.Later{Gone: []string{"/p/.vscode", "/p/ci/build-*.yml"}}
	for _, c := range []struct {
		may  holdgate.Later
		path string
		want bool
	}{
		{gone, "/p/.vscode", true},
		{gone, "/p/.vscode/a/b.json", true},
		{gone, "/p/ci/build-7.yml", true},
		{gone, "/p/ci/build-7.yml.tmp", false},
		{gone, "/p/.envrc", false},
		{named("/p/.envrc"), "/p/.envrc", true},
		{holdgate.Later{All: true}, "/p/.envrc", true},
	} {
		if got := c.may.CoversRemoval(c.path); got != c.want {
			t.Errorf("%+v covers that %s goes: %v", c.may, c.path, got)
		}
	}
	if gone.None() || gone.Covers("/p/.vscode") || gone.Covers("/p/.vscode/a/b.json") {
		t.Error("what may go may be written, too, or is nothing")
	}
}

func named(path string) holdgate.Later { return holdgate.Later{Paths: []string{path}} }
