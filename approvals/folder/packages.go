package folder

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// A kind of package: the files in which a project names those that it uses, and the
// commands that add one.
type ecosystem struct {
	files []string // patterns of names
	adds  []string // beginnings of commands
	owned string   // a folder that packages lie in by their names
}

var ecosystems = []ecosystem{
	{
		files: []string{"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"},
		adds:  []string{"npm install", "npm i", "npm add", "pnpm add", "pnpm install", "pnpm i", "yarn add", "bun add", "bun install", "bun i"},
		owned: "node_modules",
	},
	{
		files: []string{"pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "Pipfile.lock", "poetry.lock", "uv.lock", "pdm.lock", "environment.y*ml", "*requirements*.txt", "requirements/*.txt", "constraints*.txt"},
		adds:  []string{"pip install", "pip3 install", "uv add", "uv pip install", "poetry add", "pdm add", "pipenv install"},
	},
	{files: []string{"Cargo.toml", "Cargo.lock"}, adds: []string{"cargo add"}},
	{files: []string{"go.mod", "go.sum"}, adds: []string{"go get"}},
	{files: []string{"composer.json", "composer.lock"}, adds: []string{"composer require"}},
	{files: []string{"Gemfile", "Gemfile.lock"}, adds: []string{"bundle add"}},
}

// elsewhere are beginnings of options by which a package goes somewhere else.
var elsewhere = []string{"-g", "--global", "--location", "--prefix", "-C", "--dir", "--cwd", "--directory", "-w", "--workspace", "--filter", "-F", "--project", "--manifest-path", "--working-dir", "-t", "--target", "--root", "--user", "--system"}

// plainName is a package by its name alone, as [holdgate.Effect.Where] has it before a version.
var plainName = regexp.MustCompile(`^@?[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// unnamed says which packages of an effect the project does not name, in words for a
// sentence that lists them; empty where it names them, or where that is not certain.
func unnamed(f *holdgate.Facts, e holdgate.Effect) string {
	if e.What != "package" || e.Where == "" || e.On != "" || !strings.HasPrefix(e.Says, "Installs ") {
		return ""
	}
	eco, dir := installer(f)
	if dir == "" {
		return ""
	}
	packages := strings.Split(e.Where, ", ")
	for i, p := range packages {
		packages[i], _, _ = strings.Cut(p, " ")
		if !plainName.MatchString(packages[i]) {
			return ""
		}
	}
	fresh, ok := eco.fresh(dir, packages)
	switch {
	case !ok || len(fresh) == 0:
		return ""
	case len(packages) == 1:
		return "new here"
	case len(fresh) == len(packages):
		return "all new here"
	case len(fresh) == 1:
		return holdgate.Visible(fresh[0]) + " is new here"
	}
	return holdgate.Visible(strings.Join(fresh, ", ")) + " are new here"
}

// installer finds the one command that adds packages, of which kind they are, and the folder
// of its project; empty where that is not certain.
func installer(f *holdgate.Facts) (eco ecosystem, dir string) {
	for _, c := range f.Commands {
		i := slices.IndexFunc(ecosystems, func(eco ecosystem) bool {
			return slices.ContainsFunc(eco.adds, func(add string) bool { return begins(c, strings.Fields(add)) })
		})
		switch {
		case i < 0 && (c.Program == "cd" || c.Program == "pushd" || c.Program == "popd"):
			if dir != "" {
				return ecosystem{}, ""
			}
		case i < 0:
		case dir != "", len(c.Unresolved) > 0, c.On != "", slices.ContainsFunc(c.Argv, func(w string) bool {
			return slices.ContainsFunc(elsewhere, func(option string) bool { return strings.HasPrefix(w, option) })
		}):
			return ecosystem{}, ""
		default:
			eco, dir = ecosystems[i], f.Dir
			if c.Dir != "" {
				dir = c.Dir
			} else if slices.ContainsFunc(f.Commands, func(c holdgate.Command) bool { return c.Program == "cd" || c.Program == "pushd" }) {
				return ecosystem{}, ""
			}
		}
	}
	if !filepath.IsAbs(dir) {
		return ecosystem{}, ""
	}
	return eco, dir
}

// begins reports whether a command begins with these words, options left out.
func begins(c holdgate.Command, words []string) bool {
	if c.Program != words[0] || len(c.Argv) < len(words) {
		return false
	}
	return slices.Equal(c.Argv[1:len(words)], words[1:])
}

// maxNamed is how many bytes are read of the files in which projects name packages.
const maxNamed = 32 << 20

// fresh lists those of the packages that no file of the project in a folder, or in one
// above it, has the name of. It is not certain where there is no such file, or too much
// of them.
func (eco ecosystem) fresh(dir string, packages []string) (fresh []string, certain bool) {
	fresh = slices.Clone(packages)
	most, found := int64(maxNamed), false
	for range maxUp {
		if eco.owned != "" {
			fresh = slices.DeleteFunc(fresh, func(p string) bool {
				_, err := os.Lstat(filepath.Join(dir, eco.owned, p))
				return err == nil
			})
		}
		for _, pattern := range eco.files {
			files, err := filepath.Glob(filepath.Join(literal(dir), pattern))
			if err != nil {
				return nil, false
			}
			for _, file := range files {
				text := read(file, min(most, maxFile), false)
				if text == nil {
					return nil, false
				}
				most, found = most-int64(len(text)), true
				text = folded(text)
				fresh = slices.DeleteFunc(fresh, func(p string) bool { return named(text, p) })
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return fresh, found
}

// literal is a path in which no character stands for others.
func literal(path string) string {
	if filepath.Separator != '/' {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// named reports whether a text that has been folded has the name of a package, or of a
// module that it may lie in. A name in another one counts.
func named(text []byte, pkg string) bool {
	parts := strings.Split(pkg, "/")
	if len(parts) < 3 || !strings.Contains(parts[0], ".") {
		return bytes.Contains(text, folded([]byte(pkg)))
	}
	for n := 2; n <= len(parts); n++ { // a Go package of a module: its own path is longer
		if bytes.Contains(text, folded([]byte(strings.Join(parts[:n], "/")+" "))) {
			return true
		}
	}
	return false
}

// folded is a text in which spellings that registries take for the same name are the same.
func folded(text []byte) []byte {
	text = bytes.ToLower(text)
	for i, c := range text {
		if c == '_' || c == '.' {
			text[i] = '-'
		}
	}
	return text
}
