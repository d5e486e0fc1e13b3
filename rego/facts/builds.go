package facts

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// makeCommand is make: what its words set may be what the rules run.
func makeCommand(s *shell, in invocation, c *Command) {
	s.mentions(in)
	c.Unbound = append(c.Unbound, runsFiles("make", in.words[1:])...)
	for _, w := range in.words[1:] {
		name, value, ok := strings.Cut(w.text, "=")
		if !ok || !isAssignment(w) {
			continue
		}
		name = strings.TrimRight(name, ":?+!")
		switch name {
		case "MAKEFILES":
			c.Unbound = append(c.Unbound, strings.Fields(value)...)
		case "MAKEFLAGS", "GNUMAKEFLAGS", ".SHELLFLAGS", "MFLAGS":
			c.Unresolved = append(c.Unresolved, shorten(w.text))
		}
		if wordlist.Has(codeVariables, name) || strings.Contains(value, " ") && !strings.HasPrefix(value, "-") {
			s.codeText(field{text: value, dynamic: w.dynamic}, invocation{via: []string{"make " + name}})
		}
	}
	toolCommand(s, tool{loads: "-C --directory -f --file --makefile -I --include-dir"}, in, c)
	for _, f := range parseOptions(in.words[1:], "E", "eval").values("E", "eval") {
		c.Unresolved = append(c.Unresolved, shorten(f.text))
	}
}

// cargoCommand is cargo, whose settings may name programs.
func cargoCommand(s *shell, in invocation, c *Command) {
	s.mentions(in)
	c.Unbound = append(c.Unbound, runsFiles("cargo", in.words[1:])...)
	toolCommand(s, tool{loads: "--manifest-path -C --path", writes: "--target-dir --out-dir --artifact-dir --output-path"}, in, c)
	for _, f := range parseOptions(in.words[1:], "", "config").values("", "config") {
		key, value, ok := strings.Cut(f.text, "=")
		switch {
		case !ok:
			c.Unbound = append(c.Unbound, f.text)
		case strings.Contains(key, "runner"), strings.Contains(key, "rustc"), strings.Contains(key, "wrapper"), strings.Contains(key, "linker"), strings.Contains(key, "alias"):
			in := invocation{via: []string{"cargo --config"}}
			if !strings.HasPrefix(strings.TrimSpace(value), "[") {
				s.codeText(field{text: strings.Trim(value, `"' `), dynamic: f.dynamic}, in)
				continue
			}
			for _, m := range codeStrings.FindAllStringSubmatch(value, 50) {
				in.words = append(in.words, field{text: m[1] + m[2], dynamic: f.dynamic})
			}
			s.run(in)
		case strings.HasPrefix(key, "env"), strings.HasPrefix(key, "patch"), strings.HasPrefix(key, "source"), strings.HasPrefix(key, "registr"):
			c.Unresolved = append(c.Unresolved, shorten(f.text))
		}
	}
}
