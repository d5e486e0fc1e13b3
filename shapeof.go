package holdgate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxShape bounds each list of a [Shape]. A call with more than that has no
// exact shape.
const maxShape = 64

// ShapeOf returns the shape of a call. The facts must be those of the same
// call.
func ShapeOf(c Call, f Facts) Shape {
	s := Shape{Kind: c.Kind, Category: f.Category, Recursive: f.Impact.Recursive, Force: f.Impact.Force}
	for _, cmd := range f.Commands {
		s.Commands = appendNew(s.Commands, commandShape(cmd))
	}
	switch {
	case c.Tool != nil:
		s.Tool, s.Server = c.Tool.Name, c.Tool.Server
		s.arguments(c.Tool)
	case c.Model != nil:
		s.About = modelShape(c.Model)
	case c.MCP != nil:
		s.About = c.MCP.Server + " " + c.MCP.Method + " " + c.MCP.Name
	case c.Gate != nil:
		s.About = c.Gate.Type
	case c.HTTP != nil:
		s.About = strings.Join(slices.DeleteFunc(append([]string{c.HTTP.Method, c.HTTP.Host, c.HTTP.Upgrade, c.HTTP.Operation, c.HTTP.MethodOverride}, c.HTTP.Unresolved...), func(s string) bool { return s == "" }), " ")
	}
	for _, p := range f.Paths {
		s.place(p, f.Dir)
	}
	for _, u := range f.URLs {
		s.Hosts = appendNew(s.Hosts, hostShape(u))
	}
	for _, q := range f.SQL {
		s.SQL = appendNew(s.SQL, statementShape(q))
	}
	for _, x := range f.Secrets {
		s.Secrets = appendNew(s.Secrets, x.Kind)
	}
	s.judge(f)
	s.bound()
	return s
}

// prose reports whether an argument is one of those of tools that run
// commands which only tell the user what the command is for. No command
// changes with them.
func prose(key string) bool {
	return key == "description" || key == "justification" || key == "explanation"
}

// arguments names the arguments that act.
func (s *Shape) arguments(t *Tool) {
	var args map[string]json.RawMessage
	if t.Arguments == nil || json.Unmarshal(t.Arguments, &args) != nil {
		s.Unclear = append(s.Unclear, "its arguments cannot be read")
		return
	}
	for _, k := range slices.Sorted(maps.Keys(args)) {
		if s.Category == "exec" && len(s.Commands) > 0 && prose(k) && args[k][0] == '"' {
			continue
		}
		s.Keys = append(s.Keys, k)
	}
}

// place adds where a path lies.
func (s *Shape) place(p Path, dir string) {
	at := Place{Access: p.Access, Where: p.Clean, Inside: p.Inside, Class: p.Class}
	switch {
	case !p.Inside && !path.IsAbs(p.Clean) && !strings.HasPrefix(p.Clean, "~/"):
		s.Unclear = appendNew(s.Unclear, "where a path lies is not known")
	case p.Class != "":
	case p.Inside:
		at.Where = topFolder(p.Clean, dir)
	default:
		at.Where = path.Dir(p.Clean)
	}
	if !slices.Contains(s.Places, at) {
		s.Places = append(s.Places, at)
	}
}

// topFolder is the topmost folder below dir that a path inside of it lies in.
func topFolder(clean, dir string) string {
	rel := clean
	if path.IsAbs(clean) {
		rel = strings.TrimPrefix(strings.TrimPrefix(clean, path.Clean(dir)), "/")
	}
	top, _, deeper := strings.Cut(rel, "/")
	if !deeper {
		return "."
	}
	return "./" + top
}

// judge says what keeps the shape from being exact. It quotes nothing.
func (s *Shape) judge(f Facts) {
	for _, c := range f.Commands {
		if c.Program == "" || len(c.Unresolved) > 0 || slices.ContainsFunc(c.Env, func(v Variable) bool { return v.Unresolved }) {
			s.Unclear = appendNew(s.Unclear, "a part of it is known only when it runs")
		}
		if len(c.Unbound) > 0 {
			s.Unclear = appendNew(s.Unclear, "it runs files that nobody was shown")
		}
	}
	if len(f.ParseErrors) > 0 {
		s.Unclear = appendNew(s.Unclear, "not all of it could be read")
	}
	if len(f.SuspiciousText) > 0 {
		s.Unclear = appendNew(s.Unclear, "it holds characters that deceive")
	}
	if s.Category == "exec" && len(f.Commands) == 0 {
		s.Unclear = appendNew(s.Unclear, "what it runs is not known")
	}
}

// bound sorts the lists and cuts those that are too long.
func (s *Shape) bound() {
	slices.Sort(s.Hosts)
	slices.Sort(s.SQL)
	slices.Sort(s.Secrets)
	slices.SortFunc(s.Places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Access, b.Access))
	})
	long := len(s.Places) > maxShape
	s.Places = s.Places[:min(len(s.Places), maxShape)]
	for _, l := range []*[]string{&s.Keys, &s.Commands, &s.Hosts, &s.SQL, &s.Secrets} {
		long = long || len(*l) > maxShape
		*l = (*l)[:min(len(*l), maxShape)]
	}
	if long {
		s.Unclear = append(s.Unclear, "it touches too many things")
	}
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// commandShape is a command's wrappers, program and subcommand, and the names
// of the variables that the line sets for it.
func commandShape(c Command) string {
	words := slices.Clone(c.Via)
	for _, v := range c.Env {
		words = appendNew(words, v.Name+"=")
	}
	words = append(words, c.Program)
	for i := 1; i <= subcommands(c.Program) && i < len(c.Argv); i++ {
		if option, ok := strings.CutPrefix(c.Argv[i], "-"); ok {
			words = append(words, "-"+optionName(option))
			break // what follows may be its value
		}
		if !plainWord(c.Argv[i]) {
			break
		}
		words = append(words, c.Argv[i])
	}
	return strings.Join(words, " ")
}

// optionName is an option's name, behind its first dash, without what it is
// set to: that may be a password.
func optionName(s string) string {
	if name, ok := strings.CutPrefix(s, "-"); ok {
		name, _, _ = strings.Cut(name, "=")
		return "-" + name
	}
	return s[:min(len(s), 1)]
}

// plainWord reports whether a word can be a subcommand.
func plainWord(s string) bool {
	return len(s) <= 24 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != ':'
	})
}

// subcommands is how many words after a program say what it does.
func subcommands(program string) int {
	switch program {
	case "git", "npm", "pnpm", "yarn", "bun", "deno", "go", "cargo", "rustup", "pip", "pip3", "uv", "poetry", "bundle", "gem",
		"composer", "dotnet", "helm", "terraform", "tofu", "brew", "apt", "apt-get", "dnf", "yum", "systemctl", "service", "make", "mvn", "gradle", "fly", "vercel":
		return 1
	case "docker", "podman", "kubectl", "oc", "gh", "glab", "aws", "gcloud", "az", "heroku":
		return 2
	}
	return 0
}

// statementShape is a statement's verb and what it is about.
func statementShape(s Statement) string {
	words := []string{s.Verb}
	if s.Object != "" {
		words = append(words, s.Object)
	}
	words = append(words, strings.Join(s.Tables, ","))
	if (s.Verb == "delete" || s.Verb == "update") && !s.Where {
		words = append(words, "(all rows)")
	}
	return strings.TrimRight(strings.Join(words, " "), " ")
}

// hostShape is where an address leads, with its port where it names one.
func hostShape(u URL) string {
	_, authority, ok := strings.Cut(u.URL, "://")
	if !ok {
		authority = u.URL
	}
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	port := authority[strings.LastIndex(authority, ":")+1:]
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && len(port) < len(authority) {
		return fmt.Sprintf("%s://%s:%d", u.Scheme, u.Host, n)
	}
	return u.Scheme + "://" + u.Host
}

// modelShape is the model and the tools that its provider runs. The tools that
// the agent runs itself come as calls of their own.
func modelShape(m *Model) string {
	parts := []string{"model " + m.Provider + "/" + m.Name}
	if m.Host != "" && !m.HostKnown {
		parts[0] += " at " + m.Host
	}
	for _, t := range m.ServerTools {
		parts = append(parts, strings.TrimRight(fmt.Sprintf("provider's tool %s %s %s", t.Type, t.Name, t.URL), " "))
	}
	return strings.Join(parts, ", ")
}
