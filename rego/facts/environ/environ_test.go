package environ

import (
	"slices"
	"testing"
)

func TestLoads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program, assignment string
		want                []string
	}{
		{"make", "PATH=/tmp/x:$PATH", []string{"/tmp/x"}},
		{"make", "PATH=/usr/bin:$PATH", nil},
		{"ls", "LD_PRELOAD=./x.so", []string{"./x.so"}},
		{"python3", "PYTHONPATH=src:../lib", []string{"src", "../lib"}},
		{"cat", "PYTHONPATH=src", nil},
		{"node", "NODE_OPTIONS=--max-old-space-size=4096", nil},
		{"node", "NODE_OPTIONS=--require ./x.js", []string{"NODE_OPTIONS=--require ./x.js"}},
		{"bash", "BASH_ENV=x.sh", []string{"x.sh"}},
		{"npm", "NPM_CONFIG_USERCONFIG=/tmp/npmrc", []string{"/tmp/npmrc"}},
		{"npm", "COLOR=1", nil},
		{"npm", "COLOR", nil},
	} {
		if got := Loads(tt.program, tt.assignment); !slices.Equal(got, tt.want) {
			t.Errorf("%s with %s loads %q, want %q", tt.program, tt.assignment, got, tt.want)
		}
	}
}

func TestWhatVariablesDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                string
		steers, code, files bool
	}{
		{"PATH", true, false, false}, {"IFS", true, false, false}, {"GIT_SSH_COMMAND", true, true, false}, {"BASH_ENV", true, false, true},
		{"LD_PRELOAD", true, false, false}, {"GOFLAGS", true, false, false}, {"COLOR", false, false, false},
	} {
		if Steers(tt.name) != tt.steers || HoldsCode(tt.name) != tt.code || NamesFiles(tt.name) != tt.files {
			t.Errorf("%s: steers %t, holds code %t, names files %t", tt.name, Steers(tt.name), HoldsCode(tt.name), NamesFiles(tt.name))
		}
	}
	if !RunsText("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER") || RunsText("CARGO_TERM_COLOR") {
		t.Error("cargo's variables are not told apart")
	}
}
