package programs

import (
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/environ"
	"github.com/holdgate/holdgate/rego/facts/shell"
)

// makeCommand is make: what its words set may be what the rules run.
func makeCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	mentions(s, in)
	if other := otherMakefiles(s); len(other) > 0 {
		c.Unbound = append(c.Unbound, other...)
	} else if makefileShown(s, in) {
		return
	}
	c.Unbound = append(c.Unbound, runsFiles("make", in.Words[1:])...)
	for _, w := range in.Words[1:] {
		name, value, ok := strings.Cut(w.Text, "=")
		if !ok || !argv.IsAssignment(w) {
			continue
		}
		name = strings.TrimRight(name, ":?+!")
		switch name {
		case "MAKEFILES":
			c.Unbound = append(c.Unbound, strings.Fields(value)...)
		case "MAKEFLAGS", "GNUMAKEFLAGS", ".SHELLFLAGS", "MFLAGS":
			c.Unresolved = append(c.Unresolved, Shorten(w.Text))
		}
		if environ.HoldsCode(name) || strings.Contains(value, " ") && !strings.HasPrefix(value, "-") {
			s.CodeText(argv.Field{Text: value, Dynamic: w.Dynamic}, shell.Invocation{Via: []string{"make " + name}})
		}
	}
	toolCommand(s, tool{loads: "-C --directory -f --file --makefile -I --include-dir"}, in, c)
	for _, f := range argv.ParseOptions(in.Words[1:], "E", "eval").Values("E", "eval") {
		c.Unresolved = append(c.Unresolved, Shorten(f.Text))
	}
}

// cargoCommand is cargo, whose settings may name programs.
func cargoCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	mentions(s, in)
	c.Unbound = append(c.Unbound, runsFiles("cargo", in.Words[1:])...)
	toolCommand(s, tool{loads: "--manifest-path -C --path", writes: "--target-dir --out-dir --artifact-dir --output-path"}, in, c)
	for _, f := range argv.ParseOptions(in.Words[1:], "", "config").Values("", "config") {
		key, value, ok := strings.Cut(f.Text, "=")
		switch {
		case !ok:
			c.Unbound = append(c.Unbound, f.Text)
		case strings.Contains(key, "runner"), strings.Contains(key, "rustc"), strings.Contains(key, "wrapper"), strings.Contains(key, "linker"), strings.Contains(key, "alias"):
			in := shell.Invocation{Via: []string{"cargo --config"}}
			if !strings.HasPrefix(strings.TrimSpace(value), "[") {
				s.CodeText(argv.Field{Text: strings.Trim(value, `"' `), Dynamic: f.Dynamic}, in)
				continue
			}
			for _, m := range codeStrings.FindAllStringSubmatch(value, 50) {
				in.Words = append(in.Words, argv.Field{Text: m[1] + m[2], Dynamic: f.Dynamic})
			}
			s.Run(in)
		case strings.HasPrefix(key, "env"), strings.HasPrefix(key, "patch"), strings.HasPrefix(key, "source"), strings.HasPrefix(key, "registr"):
			c.Unresolved = append(c.Unresolved, Shorten(f.Text))
		}
	}
}
