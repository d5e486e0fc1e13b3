package collect

import (
	"path"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// ToolFolder is where the person's own tools lie, or those that the project has
// installed: to write there is asked about.
var ToolFolder = lazyregexp.New(`^(~|\$HOME|\$\{HOME\})/(\.(cargo|local|bun|deno|pyenv|rbenv|volta|nvm|asdf|npm-global|dotnet|pub-cache|mix)(/[\w.-]+)*|go)/(bin|shims)/?$|^((\$PWD|\$\{PWD\}|\$\(pwd\)|\.|(/[\w.-]+)+)/)?(node_modules/\.bin|\.?venv/bin|vendor/bin)/?$`)

// SystemProgram reports whether a program lies where the system keeps its
// own.
func SystemProgram(p string) bool {
	p = path.Clean(p)
	for _, dir := range []string{"/bin/", "/sbin/", "/usr/", "/opt/", "/lib/", "/lib64/", "/System/", "/Applications/", "/snap/", "/nix/store/"} {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	return false
}
