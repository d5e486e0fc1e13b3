package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
)

// What is hidden: credentials of other programs in the home folder, and files of
// the working folder that hold some. What only looks like such a file stays.
func TestHidden(t *testing.T) {
	home := t.TempDir()
	home, err := filepath.EvalSymlinks(home)
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(home, "work")
	for path, text := range map[string]string{
		".ssh/id_ed25519": "k", ".claude/.credentials.json": "c", ".codex/auth.json": "x", ".cache/huggingface/token": "h",
		"work/.env": "A=b", "work/a/b/.env.local": "", "work/.env.example": "A=", "work/.npmrc": "registry=https://npm.example\n", "work/a/.npmrc": "//npm.example/:_authToken=t\n",
		"work/server.pem": "-----BEGIN CERTIFICATE-----", "work/own.pem": "-----BEGIN PRIVATE KEY-----", "work/testdata/own.pem": "-----BEGIN PRIVATE KEY-----",
		"work/config/database.yml": "password: <%= ENV['X'] %>", "work/.yarnrc.yml": "yarnPath: .yarn/releases/yarn.cjs", "work/node_modules/m/.env": "A=b",
		"work/id_rsa": "k", "work/main.go": "package main",
	} {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	r := &agent{Options: Options{Program: "/usr/bin/claude", Host: Host{Getenv: getenv}}, o: app.Options{Dir: work}}
	spec := confine.Spec{Dir: work, Write: []string{filepath.Join(home, ".cache"), filepath.Join(home, ".claude")}}
	for _, c := range []struct {
		show  []string
		want  string
		shown bool
	}{
		{nil, ".cache/huggingface/token .codex .ssh work/.env work/a/.npmrc work/a/b/.env.local work/config/database.yml work/id_rsa work/own.pem", false},
		{[]string{".env", "~/.ssh/id_ed25519"}, ".cache/huggingface/token .codex work/a/.npmrc work/a/b/.env.local work/config/database.yml work/id_rsa work/own.pem", true},
		{[]string{"a"}, ".cache/huggingface/token .codex .ssh work/.env work/config/database.yml work/id_rsa work/own.pem", true},
	} {
		r.Contained.Show = c.show
		hidden, shown, err := r.credentials(spec)
		if err != nil {
			t.Fatal(err)
		}
		for i := range hidden {
			hidden[i] = strings.TrimPrefix(hidden[i], home+"/")
		}
		slices.Sort(hidden)
		if got := strings.Join(hidden, " "); got != c.want || shown != c.shown {
			t.Errorf("shown %q: hidden are %s, want %s; %t", c.show, got, c.want, shown)
		}
	}
}

// Of the environment a private run gets the keys of models, and no others.
func TestPrivateEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "a")
	t.Setenv("GITHUB_TOKEN", "g")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	t.Setenv("DATABASE_URL", "d")
	r := &agent{}
	if env := r.environ(); !slices.Contains(env, "GITHUB_TOKEN=g") {
		t.Error("without --private the environment is as it was")
	}
	r.private = &private{}
	r.Contained.Show = []string{"$DATABASE_URL"}
	env := r.environ()
	for v, want := range map[string]bool{"ANTHROPIC_API_KEY=a": true, "GITHUB_TOKEN=g": false, "AWS_SECRET_ACCESS_KEY=s": false, "DATABASE_URL=d": true} {
		if slices.Contains(env, v) != want {
			t.Errorf("%s: want %t", v, want)
		}
	}
}
