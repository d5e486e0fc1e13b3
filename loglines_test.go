package holdgate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/docs/docstest"
)

// aboutNoRequest are the lines of the proxy, the queue and policy that are about no request
// of an agent's, and so are logged without a context.
var aboutNoRequest = map[string]string{
	"approvals/members.go: taking up what members that are gone held; trying again":                                         "by itself",
	"approvals/queue.go: what sessions have used in the last minute is lost":                                                "at the end",
	"approvals/timer.go: doing what is due in the queue; trying again":                                                      "by itself",
	"proxy/intercept/transparent.go: a redirected connection ended early":                                                   "before a request of it was read",
	"proxy/mcphost/process.go: an MCP server is ended: it sent too long a message; raise limits.body, or have it send less": "what a server sends",
	"proxy/mcphost/session.go: a message of an MCP server was dropped: its client takes none":                               "what a server sends",
	"proxy/mcphost/session.go: an answer of an MCP server to nothing that it was asked was dropped":                         "what a server sends",
	"proxy/mcpproxy/taskagain.go: a task cannot be taken up again":                                                          "at the start",
	"proxy/mcpproxy/taskagain.go: the tasks of MCP clients cannot be read: their clients are told of none":                  "at the start",
	"approvals/tools/definitions.go: an MCP server lists more tools than are kept: nothing is known of the others":          "what a server says",
	"rego/engine.go: policy loaded":                           "the policy",
	"rego/engine.go: policy loaded that may let more through": "the policy",
	"rego/engine.go: policy refused, the earlier one stays":   "the policy",
	"rego/engine.go: the policy that was pushed does not load: no call is let through until another is pushed, or holdgate policy rollback": "the policy",
	"rego/remote.go: a bundle cannot be fetched, and what was kept of it is used":                                                           "the policy",
	"rego/remote.go: keeping a bundle": "the policy",
	"rego/watch/watch.go: watching ":   "files",
}

// A logLine is a call of slog's in the code.
type logLine struct {
	file, method, message string
	keys                  []string
}

// logLines are those of the packages below folders.
func logLines(t *testing.T, folders ...string) (lines []logLine) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if line, ok := logLineOf(call); ok {
						line.file = filepath.ToSlash(file)
						lines = append(lines, line)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// logLineOf reads a call of a logger's method, by the logger's name.
func logLineOf(call *ast.CallExpr) (line logLine, ok bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error", "With"}, strings.TrimSuffix(method.Sel.Name, "Context")) {
		return line, false
	}
	logger := ""
	switch x := method.X.(type) {
	case *ast.SelectorExpr:
		logger = x.Sel.Name
	case *ast.Ident:
		logger = x.Name
	}
	if !slices.Contains([]string{"logger", "log", "slog"}, strings.ToLower(logger)) {
		return line, false
	}
	line.method = method.Sel.Name
	for _, arg := range call.Args {
		if sum, ok := arg.(*ast.BinaryExpr); ok {
			arg = sum.X
			if inner, ok := arg.(*ast.BinaryExpr); ok {
				arg = inner.X
			}
		}
		text, ok := arg.(*ast.BasicLit)
		switch {
		case !ok || text.Kind != token.STRING:
		case line.message == "" && line.method != "With":
			line.message, _ = strconv.Unquote(text.Value)
		default:
			key, _ := strconv.Unquote(text.Value)
			line.keys = append(line.keys, key)
		}
	}
	return line, true
}

// What is logged about a request says which, by the request's context.
func TestLogLinesHaveTheirRequest(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	lines := logLines(t, "proxy", "approvals", "rego")
	for _, line := range lines {
		name := line.file + ": " + line.message
		seen[name] = true
		if !strings.HasSuffix(line.method, "Context") && line.method != "With" && aboutNoRequest[name] == "" {
			t.Errorf("%s: log it with %sContext and the context of the request that it is about, or say here that it is about none", name, line.method)
		}
	}
	if len(lines) < 50 {
		t.Errorf("only %d lines were found", len(lines))
	}
	for name := range aboutNoRequest {
		if !seen[name] {
			t.Errorf("there is no line any more %s", name)
		}
	}
}

// The key "request" is the id of an agent's request, which the handler adds. What people
// are asked has another id, and the key "approval".
func TestRequestIsOneKeyOfLogLines(t *testing.T) {
	t.Parallel()
	for _, line := range logLines(t, "proxy", "approvals", "rego", "plugins", "store", "cmd") {
		if slices.Contains(line.keys, "request") || slices.Contains(line.keys, "trace") {
			t.Errorf("%s: %q: request and trace are what the handler adds: call the id of what people are asked approval", line.file, line.message)
		}
	}
}

var shownLogLine = regexp.MustCompile(`(?m)^ +(?:time=\S+ )?level=\w+ msg=("[^"]*"|\S+)(.*)$`)

// A line of the log that a page shows is one that the code writes, with the keys that it has there.
func TestTheLogLinesOfThePagesAreLogged(t *testing.T) {
	t.Parallel()
	lines, shown := logLines(t, "proxy", "approvals", "rego", "plugins", "store", "cmd"), 0
	for name, page := range docstest.Pages(t, ".") {
		for _, m := range shownLogLine.FindAllStringSubmatch(page, -1) {
			shown++
			message := strings.Trim(m[1], `"`)
			if message == "configuration" { // app's tests hold this one, which is made as a record
				continue
			}
			i := slices.IndexFunc(lines, func(l logLine) bool { return l.message == message })
			if i < 0 {
				t.Errorf("%s shows a line of the log that nothing writes: %s", name, message)
				continue
			}
			for _, pair := range strings.Fields(m[2]) {
				if key, _, _ := strings.Cut(pair, "="); !slices.Contains(lines[i].keys, key) {
					t.Errorf("%s: the line %q has no key %s", name, message, key)
				}
			}
		}
	}
	if shown < 2 {
		t.Errorf("only %d lines were found", shown)
	}
}
