package folder

import (
	"cmp"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
)

func TestPackagesThatAreNew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "js", "package.json"), `{"dependencies":{"lodash":"^4.17.0","@acme/ui":"1"}}`)
	put(t, filepath.Join(dir, "js", "package-lock.json"), `{"packages":{"node_modules/ms":{}}}`)
	put(t, filepath.Join(dir, "js", "web", "package.json"), `{}`)
	put(t, filepath.Join(dir, "js", "node_modules", "there", "package.json"), `{}`)
	put(t, filepath.Join(dir, "py", "requirements-dev.txt"), "Typing_Extensions==4\n")
	put(t, filepath.Join(dir, "go", "go.mod"), "module x\nrequire (\n\tgithub.com/acme/kit v1.2.3\n\tgopkg.in/yaml.v3 v3.0.1\n)\n")
	put(t, filepath.Join(dir, "rs", "Cargo.toml"), "[dependencies]\nserde = \"1\"\n")
	put(t, filepath.Join(dir, "big", "package.json"), strings.Repeat(" ", maxFile+1))
	for _, c := range []struct{ dir, command, want string }{
		{"js", "npm install left-pad", "Installs left-pad (new here, runs install scripts)"},
		{"js", "npm i --save-dev left-pad", "Installs left-pad (new here, runs install scripts)"},
		{"js/web", "yarn add left-pad", "Installs left-pad (new here, runs install scripts)"},
		{"js", "npm install left-pad right-pad", "Installs left-pad, right-pad (all new here, runs install scripts)"},
		{"js", "npm install lodash left-pad", "Installs lodash, left-pad (left-pad is new here, runs install scripts)"},
		{"js", "npm install lodash", ""},
		{"js", "npm install ms", ""},
		{"js", "npm install there", ""},
		{"js/web", "pnpm add @acme/ui", ""},
		{"js", "npm install -g left-pad", ""},
		{"js", "npm install --prefix /srv left-pad", ""},
		{"js", "npm install git+https://evil.example/x", ""},
		{"js", "npm install ./local", ""},
		{"none", "npm install left-pad", ""},
		{"big", "npm install left-pad", ""},
		{"py", "pip install typing-extensions", ""},
		{"py", "pip3 install requests", "Installs requests (new here, runs install scripts)"},
		{"py", "uv pip install requests", "Installs requests (new here, runs install scripts)"},
		{"go", "go get github.com/acme/kit/log", ""},
		{"go", "go get gopkg.in/yaml.v3", ""},
		{"go", "go get github.com/acme/other", "Installs github.com/acme/other (new here, runs install scripts)"},
		{"rs", "cargo add serde", ""},
		{"rs", "cargo add rand", "Installs rand (new here, runs install scripts)"},
		{"rs", "cargo install rand", ""},
		{"js", "brew install jq", ""},
	} {
		t.Run(c.dir+": "+c.command, func(t *testing.T) {
			words := strings.Fields(c.command)
			var packages []string
			for _, w := range words[2:] {
				if !strings.HasPrefix(w, "-") && w != "install" && w != "/srv" {
					packages = append(packages, w)
				}
			}
			says := "Installs " + strings.Join(packages, ", ") + " (runs install scripts)"
			d := holdgate.Decision{Facts: &holdgate.Facts{
				Dir: filepath.Join(dir, c.dir), Commands: []holdgate.Command{{Program: words[0], Argv: words}},
				Effects: []holdgate.Effect{{Kind: holdgate.EffectRun, What: "package", Where: strings.Join(packages, ", "), Says: says}},
			}}
			b := briefing.Briefing{Summary: says, Effects: append([]holdgate.Effect(nil), d.Facts.Effects...), Undo: "may not be undone"}
			Complete(&b, d)
			if b.Summary != cmp.Or(c.want, says) {
				t.Errorf("got %q, want %q", b.Summary, c.want)
			}
		})
	}
	f := &holdgate.Facts{Dir: filepath.Join(dir, "js"), Effects: []holdgate.Effect{{What: "package", Where: "left-pad", Says: "Installs left-pad"}}}
	cd, npm := holdgate.Command{Program: "cd", Argv: []string{"cd", "$X"}}, holdgate.Command{Program: "npm", Argv: []string{"npm", "i", "left-pad"}}
	if f.Commands = []holdgate.Command{cd, npm}; unnamed(f, f.Effects[0]) != "" {
		t.Error("where a folder is not known, a package is new")
	}
	npm.Dir = filepath.Join(dir, "js")
	if f.Commands = []holdgate.Command{cd, npm}; unnamed(f, f.Effects[0]) != "new here" {
		t.Error("where a folder is known, it is not looked at")
	}
}
