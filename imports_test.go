package holdgate_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/holdgate/holdgate"

// imports is the table of who may import whom among our own packages. Arrows
// point downward only. A package that is not here may not exist: add it, and
// think about where it belongs.
var imports = map[string][]string{
	".":        {},
	"policies": {},

	"store":                 {},
	"store/badger":          {"store", "store/serial", "store/wal"},
	"store/serial":          {"store"},
	"store/postgres":        {"store", "store/serial"},
	"store/postgres/pgtest": {},
	"store/wal":             {},
	"store/storetest":       {"store"},
	"store/teststore":       {"store", "store/badger", "store/postgres", "store/postgres/pgtest"},
	"store/move":            {"store"},
	"store/audit":           {".", "store"},

	"approvals/briefing":        {"."},
	"approvals/folder":          {".", "approvals/briefing"},
	"approvals/sessions":        {".", "store"},
	"approvals":                 {"approvals/passkeys", ".", "store", "store/audit", "approvals/briefing", "approvals/sessions", "approvals/people", "approvals/record", "approvals/refusals", "approvals/tasks", "approvals/tools", "approvals/grants", "approvals/members", "approvals/quota", "approvals/redact", "approvals/agents", "approvals/tracks", "approvals/folder"},
	"approvals/people":          {"."},
	"approvals/passkeys":        {".", "approvals/people", "approvals/record", "store", "store/audit"},
	"approvals/record":          {".", "approvals/briefing", "approvals/people", "store", "store/audit", "approvals/redact"},
	"approvals/login":           {"."},
	"approvals/login/logintest": {},
	"approvals/roster":          {"approvals/record", "store"},
	"approvals/refusals":        {".", "approvals/record", "store"},
	"approvals/tasks":           {".", "approvals/record", "store"},
	"approvals/tools":           {".", "approvals/record", "store", "store/audit"},
	"approvals/grants":          {".", "approvals/people", "approvals/record", "approvals/redact", "store", "store/audit"},
	"approvals/redact":          {".", "rego/facts/secrets"},
	"approvals/quota":           {"approvals/record", "store"},
	"approvals/members":         {"approvals/record", "store"},
	"approvals/agents":          {".", "approvals/people", "approvals/record", "approvals/sessions", "store", "store/audit"},
	"approvals/tracks":          {".", "approvals/agents", "approvals/briefing", "approvals/people", "approvals/record", "approvals/sessions", "store", "store/audit"},
	"approvals/stats":           {".", "store/audit"},
	"approvals/api":             {"approvals/passkeys", ".", "approvals", "approvals/sessions", "approvals/stats", "store", "store/audit", "approvals/people", "approvals/record", "approvals/grants", "approvals/agents", "approvals/tracks"},
	"approvals/web":             {"approvals/push", "approvals/passkeys", ".", "approvals", "approvals/api", "approvals/briefing", "approvals/client", "approvals/people", "approvals/sessions", "approvals/stats", "store/audit", "approvals/record", "approvals/grants", "approvals/agents"},
	"approvals/push":            {".", "approvals", "approvals/people", "approvals/record", "store"},
	"approvals/socket":          {},
	"approvals/client":          {".", "approvals/socket", "approvals", "approvals/api", "approvals/sessions", "approvals/stats", "store/audit", "approvals/agents"},

	"approvals/socket/sockettest": {},

	"approvals/draft": {".", "approvals", "approvals/api", "approvals/client", "approvals/record", "plugins/host", "plugins/sdk/page"},
	"approvals/tui":   {".", "approvals", "approvals/agents", "approvals/draft", "approvals/api", "approvals/client", "approvals/record", "store/audit", "plugins/host", "plugins/sdk/page"},

	"rego/facts/snippet/outcome":    {},
	"rego/facts/snippet/tree":       {},
	"rego/facts/snippet/suspect":    {".", "rego/facts/lazyregexp", "rego/facts/wordlist"},
	"rego/facts/snippet/python":     {"rego/facts/lazyregexp", "rego/facts/snippet/tree"},
	"rego/facts/snippet/javascript": {"rego/facts/snippet/tree", "rego/facts/snippet/outcome"},
	"rego/facts/snippet/flow":       {"rego/facts/lazyregexp", "rego/facts/snippet/tree", "rego/facts/snippet/outcome"},
	"rego/facts/snippet/filter":     {"rego/facts/lazyregexp", "rego/facts/snippet/outcome"},
	"rego/facts/snippet/perl":       {"rego/facts/lazyregexp", "rego/facts/snippet/outcome"},
	"rego/facts/snippet/named":      {"rego/facts/lazyregexp", "rego/facts/snippet/outcome"},
	"rego/facts/snippet": {"rego/facts/snippet/python", "rego/facts/snippet/javascript", "rego/facts/snippet/flow",
		"rego/facts/snippet/filter", "rego/facts/snippet/perl", "rego/facts/snippet/named", "rego/facts/snippet/outcome", "rego/facts/snippet/tree"},
	"rego/facts/budget":             {},
	"rego/facts/lazyregexp":         {},
	"rego/facts/wordlist":           {},
	"rego/facts/sql":                {".", "rego/facts/budget", "rego/facts/lazyregexp", "rego/facts/wordlist"},
	"rego/facts/secrets":            {".", "rego/facts/budget", "rego/facts/lazyregexp"},
	"rego/facts/patch":              {},
	"rego/facts/collect":            {".", "rego/facts/budget", "rego/facts/lazyregexp", "rego/facts/patch", "rego/facts/secrets", "rego/facts/sql", "rego/facts/wordlist"},
	"rego/facts/operands":           {"rego/facts/collect"},
	"rego/facts/grammar":            {"rego/facts/budget", "rego/facts/lazyregexp", "rego/facts/wordlist"},
	"rego/facts/environ":            {"rego/facts/collect", "rego/facts/lazyregexp", "rego/facts/operands", "rego/facts/wordlist"},
	"rego/facts/argv":               {"rego/facts/collect", "rego/facts/environ", "rego/facts/lazyregexp", "rego/facts/wordlist"},
	"rego/facts/shell":              {".", "rego/facts/argv", "rego/facts/collect", "rego/facts/environ", "rego/facts/grammar", "rego/facts/lazyregexp", "rego/facts/operands", "rego/facts/wordlist"},
	"rego/facts/programs/databases": {".", "rego/facts/argv", "rego/facts/collect", "rego/facts/lazyregexp", "rego/facts/shell", "rego/facts/wordlist"},
	"rego/facts/programs":           {".", "rego/facts/argv", "rego/facts/collect", "rego/facts/environ", "rego/facts/grammar", "rego/facts/lazyregexp", "rego/facts/operands", "rego/facts/programs/databases", "rego/facts/shell", "rego/facts/snippet", "rego/facts/snippet/outcome", "rego/facts/snippet/suspect", "rego/facts/wordlist"},
	"rego/facts":                    {".", "rego/facts/argv", "rego/facts/collect", "rego/facts/lazyregexp", "rego/facts/programs", "rego/facts/secrets", "rego/facts/shell", "rego/facts/sql", "rego/facts/wordlist"},
	"rego/watch":                    {},
	"rego/effects":                  {".", "rego/facts/lazyregexp"},
	"rego/settings":                 {".", "rego/effects", "rego/facts", "rego/facts/lazyregexp"},
	"rego/schema":                   {".", "policies"},
	"rego/verdict":                  {".", "rego/schema"},
	"rego/ruleset":                  {".", "rego/schema", "rego/verdict"},
	"rego":                          {".", "rego/effects", "rego/facts", "rego/facts/collect", "rego/facts/secrets", "rego/ruleset", "rego/schema", "rego/settings", "rego/verdict", "rego/watch", "policies"},
	"rego/revisions":                {"store"},
	"rego/learn":                    {".", "rego", "store/audit"},
	"rego/score":                    {".", "rego"},

	"proxy/wire":           {"."},
	"proxy/wire/wiretest":  {".", "proxy/wire"},
	"proxy/mcp":            {".", "proxy/wire"},
	"proxy/acp":            {".", "proxy/wire"},
	"proxy/acpproxy":       {".", "approvals", "proxy/acp", "proxy/gate", "proxy/route", "proxy/steps", "proxy/wire"},
	"proxy/agentapi":       {".", "approvals", "approvals/sessions", "approvals/tracks", "proxy/hookproof", "store"},
	"proxy/hookproof":      {}, // which hooks start with
	"proxy/hook":           {".", "proxy/wire"},
	"proxy/mcpserver":      {"approvals", "approvals/sessions", ".", "proxy/agentapi", "proxy/mcp"},
	"proxy/authzen":        {".", "approvals", "proxy/gate", "proxy/trace", "proxy/wire"},
	"proxy/extauthz":       {".", "proxy/route"},
	"proxy/identity":       {"."},
	"proxy/credential":     {},
	"proxy/caller":         {".", "approvals", "proxy/gate", "proxy/identity", "proxy/upstream"},
	"proxy/http1":          {},
	"proxy/openfiles":      {},
	"proxy/drain":          {},
	"proxy/keepalive":      {"proxy/wire"},
	"proxy/route":          {".", "proxy/wire", "approvals", "proxy/mcp"}, // and each model format
	"proxy/upstream":       {".", "proxy/credential", "proxy/http1", "proxy/openfiles", "proxy/route", "proxy/wire"},
	"proxy/mcphost":        {"proxy/mcp", "proxy/mcpproxy/stdio", "proxy/wire"},
	"proxy/mcpproxy/stdio": {".", "proxy/mcp", "proxy/route", "proxy/trace/environ", "proxy/wire"},
	"proxy/mcpproxy":       {".", "proxy/trace", "approvals", "approvals/sessions", "rego", "rego/facts", "proxy/caller", "proxy/gate", "proxy/keepalive", "proxy/mcp", "proxy/mcphost", "proxy/mcpproxy/stdio", "proxy/route", "proxy/steps", "proxy/upstream", "proxy/wire", "approvals/tasks", "approvals/tools", "approvals/redact", "approvals/agents"},
	"proxy/trace":          {"."},
	"proxy/trace/environ":  {},
	"proxy/gate":           {".", "proxy/trace", "approvals", "approvals/sessions", "proxy/wire", "rego", "rego/facts", "store/audit", "approvals/redact", "approvals/agents", "approvals/tracks"},
	"proxy/steps":          {".", "proxy/trace", "approvals", "proxy/caller", "proxy/credential", "proxy/gate", "proxy/route", "proxy/upstream", "proxy/wire"},
	"proxy/intercept":      {".", "proxy/trace", "proxy/caller", "proxy/gate", "proxy/identity", "proxy/route", "proxy/steps", "proxy/upstream"},
	"proxy/model":          {".", "proxy/trace", "approvals", "approvals/sessions", "proxy/gate", "proxy/keepalive", "proxy/route", "proxy/steps", "proxy/upstream", "proxy/wire"},
	"proxy/socket":         {".", "proxy/gate", "proxy/keepalive", "proxy/route", "proxy/steps", "proxy/upstream", "proxy/wire"},
	"proxy":                {"proxy/drain", "proxy/socket", "proxy/acp", "proxy/acpproxy", "proxy/trace", "proxy/model", "proxy/steps", "proxy/intercept", "proxy/mcpproxy", ".", "approvals", "approvals/sessions", "rego", "proxy/agentapi", "proxy/hook", "proxy/authzen", "proxy/extauthz", "proxy/gate", "store/audit", "proxy/wire", "proxy/mcp", "proxy/mcpserver", "proxy/mcpproxy/stdio", "proxy/identity", "proxy/caller", "proxy/credential", "proxy/route", "proxy/upstream", "approvals/tracks"},

	"approvals/record/recordtest": {".", "approvals/people", "approvals/record", "store", "store/audit", "store/teststore"},

	"proxy/proxytest": {".", "approvals", "approvals/agents", "approvals/sessions", "proxy", "proxy/caller", "proxy/gate", "proxy/identity", "proxy/intercept", "proxy/route", "rego", "store", "store/audit", "store/teststore"},

	"plugins/sdk/channelv1":      {},
	"plugins/sdk":                {"plugins/sdk/channelv1", "plugins/sdk/session"},
	"plugins/sdk/session":        {},
	"plugins/sdk/sdktest":        {"plugins/sdk", "plugins/sdk/channelv1"},
	"plugins/sdk/page":           {"plugins/sdk"},
	"plugins/terminal":           {"plugins/sdk", "plugins/sdk/page"},
	"docs/examples/channel-file": {"plugins/sdk"},

	"plugins/desktop":      {"plugins/sdk", "plugins/sdk/page"},
	"plugins/telegram":     {"plugins/sdk", "plugins/sdk/page"},
	"plugins/sdk/document": {"plugins/sdk"},
	"plugins/email":        {"plugins/sdk", "plugins/sdk/page"},
	"plugins/exec":         {"plugins/sdk", "plugins/sdk/document"},
	"plugins/webhook":      {"plugins/sdk", "plugins/sdk/document"},
	"plugins/slack":        {"plugins/sdk", "plugins/sdk/page"},
	"plugins":              {"plugins/desktop", "plugins/email", "plugins/exec", "plugins/sdk", "plugins/slack", "plugins/telegram", "plugins/terminal", "plugins/webhook"},
	"plugins/host":         {".", "approvals", "plugins/sdk", "plugins/sdk/session", "plugins/sdk/channelv1", "plugins/sdk/page", "approvals/people", "approvals/record", "store"},

	"cmd/holdgate/hook":         {"proxy/hookproof", "proxy/trace/environ"}, // whose start is the start of a hook
	"cmd/holdgate/hook/install": {"proxy/hook"},

	"docs":                     {},
	"docs/docstest":            {},
	"cmd/holdgate/config":      {"approvals/passkeys", "docs", ".", "approvals/sessions", "plugins", "proxy/route"},
	"cmd/holdgate/metrics":     {".", "store/audit"},
	"cmd/holdgate/report":      {},
	"cmd/holdgate/app":         {"approvals/push", "proxy/hookproof", "proxy/gate", "approvals/login", "approvals/roster", "proxy/trace", "approvals/passkeys", ".", "approvals/socket", "approvals", "approvals/api", "approvals/web", "cmd/holdgate/config", "cmd/holdgate/app/runs", "cmd/holdgate/trust", "cmd/holdgate/takeover", "cmd/holdgate/metrics", "cmd/holdgate/report", "plugins", "plugins/host", "proxy", "proxy/authzen", "proxy/extauthz", "proxy/steps", "proxy/credential", "proxy/identity", "proxy/intercept", "proxy/mcpproxy", "proxy/model", "proxy/drain", "proxy/openfiles", "proxy/upstream", "rego", "rego/learn", "rego/revisions", "rego/verdict", "rego/watch", "store", "store/audit", "store/badger", "store/move", "store/postgres", "proxy/route", "approvals/people", "approvals/record"},
	"cmd/holdgate/app/runs":    {".", "approvals", "approvals/api", "cmd/holdgate/config", "cmd/holdgate/handover", "cmd/holdgate/takeover", "cmd/holdgate/trust", "proxy", "proxy/gate", "proxy/intercept", "proxy/openfiles", "store"},
	"cmd/holdgate/trust":       {"cmd/holdgate/config"},
	"cmd/holdgate/demo":        {".", "approvals", "approvals/client", "approvals/api", "cmd/holdgate/app", "cmd/holdgate/config", "plugins/sdk/page"},
	"cmd/holdgate/confine":     {},
	"cmd/holdgate/undo":        {"."},
	"cmd/holdgate/handover":    {"."},
	"cmd/holdgate/takeover":    {".", "approvals/socket", "cmd/holdgate/handover", "proxy/identity"},
	"cmd/holdgate/launch":      {".", "cmd/holdgate/confine", "approvals", "approvals/draft", "approvals/record", "approvals/api", "approvals/client", "cmd/holdgate/app", "cmd/holdgate/config", "plugins/host", "plugins/sdk", "plugins/sdk/page"},
	"cmd/holdgate/run":         {".", "approvals", "approvals/draft", "plugins/sdk/page", "approvals/api", "approvals/client", "cmd/holdgate/app", "cmd/holdgate/app/runs", "cmd/holdgate/trust", "cmd/holdgate/config", "cmd/holdgate/confine", "cmd/holdgate/handover", "cmd/holdgate/launch", "cmd/holdgate/undo", "rego/facts/collect", "store/badger"},
	"cmd/holdgate/relay":       {".", "cmd/holdgate/launch", "proxy/acp", "proxy/mcp", "proxy/mcpproxy/stdio", "proxy/wire"},
	"cmd/holdgate/bench":       {".", "cmd/holdgate/app", "cmd/holdgate/config", "proxy/route", "proxy/wire"},
	"cmd/holdgate":             {"cmd/holdgate/cli"},
	"cmd/holdgate/cli":         {".", "approvals", "approvals/client", "cmd/holdgate/bench", "cmd/holdgate/cli/agents", "cmd/holdgate/cli/audit", "cmd/holdgate/cli/command", "cmd/holdgate/cli/decide", "cmd/holdgate/cli/policy", "cmd/holdgate/cli/setup", "cmd/holdgate/cli/start", "cmd/holdgate/config", "cmd/holdgate/launch", "proxy/hook"},
	"cmd/holdgate/cli/command": {".", "approvals", "approvals/api", "approvals/client", "approvals/sessions", "cmd/holdgate/app", "cmd/holdgate/config", "cmd/holdgate/launch", "cmd/holdgate/run", "plugins/sdk/page", "store", "store/audit"},
	"cmd/holdgate/cli/agents":  {".", "approvals", "approvals/agents", "approvals/api", "approvals/client", "approvals/sessions", "cmd/holdgate/app", "cmd/holdgate/cli/command", "cmd/holdgate/config", "cmd/holdgate/undo", "plugins/sdk/page", "proxy/identity", "store/audit"},
	"cmd/holdgate/cli/audit":   {"approvals/passkeys", ".", "approvals/api", "approvals/stats", "cmd/holdgate/cli/command", "plugins/sdk/page", "store/audit"},
	"cmd/holdgate/cli/decide":  {".", "approvals", "approvals/draft", "approvals/api", "approvals/client", "approvals/grants", "approvals/record", "approvals/sessions", "approvals/tui", "cmd/holdgate/cli/command", "cmd/holdgate/config", "cmd/holdgate/launch", "plugins/host", "plugins/sdk/page"},
	"cmd/holdgate/cli/policy":  {"approvals/briefing", ".", "cmd/holdgate/app", "cmd/holdgate/cli/command", "plugins/sdk/page", "rego", "rego/learn", "rego/score", "rego/verdict", "store/audit"},
	"cmd/holdgate/cli/setup":   {".", "cmd/holdgate/hook", "cmd/holdgate/hook/install", "proxy/hook", "approvals/agents", "approvals/api", "approvals/client", "approvals/people", "cmd/holdgate/app", "cmd/holdgate/cli/command", "cmd/holdgate/config", "cmd/holdgate/run", "plugins", "plugins/host", "plugins/sdk/page", "rego"},
	"cmd/holdgate/cli/start":   {".", "approvals", "approvals/api", "approvals/client", "approvals/sessions", "cmd/holdgate/app", "cmd/holdgate/cli/command", "cmd/holdgate/config", "cmd/holdgate/confine", "cmd/holdgate/demo", "cmd/holdgate/launch", "cmd/holdgate/relay", "cmd/holdgate/report", "cmd/holdgate/run", "proxy/agentapi", "proxy/mcpproxy/stdio", "proxy/mcpserver", "proxy/trace/environ"},

	"cmd/holdgate/cli/screentest": {"plugins/sdk/page"},
}

// standardOnly are packages that import nothing but the standard library.
var standardOnly = []string{".", "store"}

// jsontext, which is to come into the standard library, makes the canonical form.
const jsontext = "github.com/go-json-experiment/json/jsontext"

func TestImportsPointDownward(t *testing.T) {
	all := packages(t)
	formats := all["proxy/route"]["proxy/route/codecs.go"] // a line there is all that a format needs
	for pkg, files := range all {
		allowed, known := imports[pkg]
		switch {
		case pkg == "proxy/route":
			for _, path := range formats {
				allowed = append(allowed, short(path))
			}
		case !known && slices.Contains(formats, module+"/"+pkg):
			allowed, known = []string{".", "proxy/wire"}, true
		}
		if !known {
			t.Errorf("package %s is not in the table of imports", pkg)
			continue
		}
		for file, paths := range files {
			for _, path := range paths {
				own := path == module || strings.HasPrefix(path, module+"/")
				switch {
				case own && !slices.Contains(allowed, short(path)):
					t.Errorf("%s imports %s, which %s may not", file, short(path), pkg)
				case !own && path != jsontext && slices.Contains(standardOnly, pkg) && strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
					t.Errorf("%s imports %s; %s uses the standard library only", file, path, pkg)
				}
			}
		}
	}
}

func TestTheTableHasNoCycles(t *testing.T) {
	var visit func(pkg string, path []string)
	visit = func(pkg string, path []string) {
		if slices.Contains(path, pkg) {
			t.Fatalf("cycle: %s", strings.Join(append(path, pkg), " -> "))
		}
		for _, next := range imports[pkg] {
			visit(next, append(path, pkg))
		}
	}
	for pkg := range imports {
		visit(pkg, nil)
	}
}

// A package that the map does not name is found by nobody, and a name in it that is
// not in the code misleads.
func TestTheMapIsOfTheCode(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			last := ""
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				if rest, below := strings.CutPrefix(m[1], "/"); below {
					m[1] = path.Join(path.Dir(last), rest)
				}
				last = m[1]
				named[last] = true
			}
		}
	}
	var source strings.Builder
	for pkg, files := range packages(t) {
		if !named[pkg] && pkg != "." {
			t.Errorf("docs/architecture.md has no line for package %s", pkg)
		}
		for file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(code)
		}
	}
	for _, m := range method.FindAllStringSubmatch(string(text), -1) {
		if m[2] == "go" { // a file
			continue
		}
		if ok, _ := regexp.MatchString(`(?m)^func \(\w* ?\*?`+m[1]+`\) `+m[2]+`\(`, source.String()); !ok {
			t.Errorf("docs/architecture.md tells of %s.%s, which is not in the code", m[1], m[2])
		}
	}
}

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	method = regexp.MustCompile("`(?:[a-z0-9]+\\.)?([A-Z][A-Za-z]*|request|answer)\\.([A-Za-z]+)`")
)

func TestTheTopLevelIsWhatTheDesignNames(t *testing.T) {
	want := []string{"approvals", "cmd", "deploy", "docs", "plugins", "policies", "proxy", "rego", "store", "testdata"}
	entries, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(e, ".") && e != "LICENSE" && e != "Makefile" && e != "holdgate" && !slices.Contains(want, e) {
			t.Errorf("%s stands at the top level; nothing but %v belongs there", e, want)
		}
	}
}

func short(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// packages returns the imports of every file that is not a test, by package.
func packages(t *testing.T) map[string]map[string][]string {
	t.Helper()
	found := map[string]map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); d.IsDir() && path != "." && err == nil {
			return filepath.SkipDir // a module of its own
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		if found[pkg] == nil {
			found[pkg] = map[string][]string{}
		}
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			found[pkg][path] = append(found[pkg][path], p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
