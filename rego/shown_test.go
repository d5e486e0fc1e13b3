package rego

import (
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/docs/docstest"
)

// A tried is an input, with what is decided: the action, the rules that ask, and what is redacted.
type tried struct{ input, want string }

func shell(command, more string) string {
	return fmt.Sprintf(`{"kind": "tool_call", "tool": {"name": "Bash", "arguments": {"command": %q}}%s}`, command, more)
}

// said are the decisions that pages tell of rules that they show, by the rules' names.
var said = map[string][]tried{
	"deploys.ask": {{shell("deployctl up", ""), "hold deploys.ask shell.unknown"}, {shell("ls", ""), "allow default"}},
	"prod.kubectl": {
		{shell("kubectl --context prod delete pod x", ""), "deny prod.kubectl"},
		{shell("kubectl --context prod get pods", ""), "allow default"},
		{shell("kubectl delete pod x", ""), "hold production.deploy"}, // it names no context: the pack asks
	},
	"team.lost": {{shell("rm -rf ../data", ""), "deny team.lost"}, {shell("ls", ""), "allow default"}},
	"plans.ask": {
		{`{"kind": "tool_call", "door": "authzen", "tool": {"server": "authzen", "name": "can_read", "arguments": {"resource": {"type": "document", "id": "q4-plan"}}}}`, "hold tools.unknown plans.ask"},
	},
	"notes.private": {
		{`{"kind": "tool_call", "tool": {"server": "notes", "name": "read", "arguments": {}}, "result": {"text": "PRIVATE", "size": 7, "is_error": false, "secrets": [], "body": {}}}`, "hold notes.private /result/body/structuredContent/author"},
		{`{"kind": "tool_call", "tool": {"server": "notes", "name": "read", "arguments": {}}, "result": {"text": "hello", "size": 5, "is_error": false, "secrets": [], "body": {}}}`, "allow default /result/body/structuredContent/author"},
	},
	"release.friday": {
		{shell("git commit -m x", `, "time": "2026-11-27T10:00:00Z"`), "hold release.friday"},
		{shell("git commit -m x", `, "time": "2026-11-26T10:00:00Z"`), "allow default"},
	},
}

// fileName is the first line of a block that is a whole file.
var fileName = regexp.MustCompile(`^# (\w+\.rego)\n`)

var ruleName = regexp.MustCompile(`"rule": "([a-z_.]+)"`)

// Every rule that the pages show loads over the pack, its types fit the schemas, and it decides what the page says.
func TestTheRulesOfTheDocsDecideWhatTheySay(t *testing.T) {
	left, files := maps.Clone(said), map[string]string{}
	for name, page := range docstest.Pages(t, "..") {
		if name == "docs/cookbook.md" { // each rule there has a test in a file of its own
			continue
		}
		for _, b := range docstest.Blocks(page) {
			if b.Language != "rego" {
				continue
			}
			if m := fileName.FindStringSubmatch(b.Text); m != nil {
				files[name+" "+m[1]] = b.Text
			}
			if strings.Contains(b.Text, "_test\n") {
				continue // it is run below, with what it tests
			}
			path := write(t, map[string]string{"shown.rego": completed(b.Text)})
			if _, err := Check(t.Context(), Options{Path: path}); err != nil {
				t.Errorf("%s:%d: %v\n%s", name, b.Line, err, b.Text)
				continue
			}
			for _, rule := range ruleName.FindAllStringSubmatch(b.Text, -1) {
				decides(t, open(t, Options{Path: path}), name, said[rule[1]])
				delete(left, rule[1])
			}
		}
	}
	for rule := range left {
		t.Errorf("no page shows %s", rule)
	}
	passTheirTests(t, files)
}

// passTheirTests runs the tests that pages show beside the rules that they name.
func passTheirTests(t *testing.T, files map[string]string) {
	t.Helper()
	ran := 0
	for name, text := range files {
		page, file, _ := strings.Cut(name, " ")
		rule, is := strings.CutSuffix(file, "_test.rego")
		if !is {
			continue
		}
		path := write(t, map[string]string{file: text, rule + ".rego": files[page+" "+rule+".rego"]})
		report, err := Test(t.Context(), TestOptions{Policy: Options{Path: path}})
		if err != nil || report.Failed > 0 || len(report.Results) == 0 {
			t.Errorf("%s: %s: %v, %+v", page, file, err, report)
		}
		ran++
	}
	if ran == 0 {
		t.Error("no page shows a test")
	}
}

// decides asks about inputs.
func decides(t *testing.T, e *Engine, page string, all []tried) {
	t.Helper()
	for _, d := range all {
		got, err := e.Eval(t.Context(), []byte(d.input))
		if err != nil {
			t.Fatal(err)
		}
		is := []string{got.Action.String(), got.Rule}
		for _, also := range got.Also {
			is = append(is, also.Rule)
		}
		if is := strings.Join(append(is, got.Redact...), " "); is != d.want {
			t.Errorf("%s: %s (%s) of %s, want %s", page, is, got.Reason, d.input, d.want)
		}
	}
}

// completed makes a module of a part of one: of rules without their package, of conditions, one on each line,
// or of a member of a decision.
func completed(text string) string {
	const pkg = "package holdgate.custom.shown\n\n"
	switch {
	case strings.Contains(text, "\npackage ") || strings.HasPrefix(text, "package "):
		return text
	case strings.HasPrefix(text, `"`):
		return pkg + "decisions contains {\"action\": \"hold\", \"rule\": \"shown.member\", \"reason\": \"Shown.\",\n" + strings.TrimRight(text, "\n") + ",\n} if input.tool\n"
	case strings.HasPrefix(text, "input."):
		var b strings.Builder
		b.WriteString(pkg)
		for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
			fmt.Fprintf(&b, "decisions contains {\"action\": \"allow\", \"rule\": \"shown.r%d\"} if {\n\t%s\n}\n\n", i, line)
		}
		return b.String()
	}
	return pkg + text
}

// Every setting that the pages show is one that the pack has.
func TestTheSettingsOfTheDocsLoad(t *testing.T) {
	shown := 0
	for name, page := range docstest.Pages(t, "..") {
		for _, b := range docstest.Blocks(page) {
			if b.Language == "yaml" && b.Of == "settings" {
				shown++
				if _, err := Check(t.Context(), Options{Path: write(t, map[string]string{"settings.yaml": b.Text})}); err != nil {
					t.Errorf("%s:%d: %v\n%s", name, b.Line, err, b.Text)
				}
			}
		}
	}
	if shown < 7 {
		t.Errorf("only %d blocks of settings were found", shown)
	}
}

// An input that the pages show is decided, and an OPA configuration is one that is read.
func TestTheInputsAndOPAConfigurationsOfTheDocsAreRead(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "control.token")
	put(t, token, "a token")
	_, signing := keyPair(t)
	filled := strings.NewReplacer("/etc/holdgate/control.token", token, `"-----BEGIN PUBLIC KEY-----\n..."`, strconv.Quote(signing.Key))
	inputs, configurations := 0, 0
	for name, page := range docstest.Pages(t, "..") {
		for _, b := range docstest.Blocks(page) {
			switch b.Language + " " + b.Of {
			case "json input":
				inputs++
				if d, err := open(t, Options{}).Eval(t.Context(), []byte(b.Text)); err != nil || d.Rule == holdgate.RulePolicyError {
					t.Errorf("%s:%d: %v by %s, %v\n%s", name, b.Line, d.Action, d.Rule, err, b.Text)
				}
			case "yaml opa":
				configurations++
				config := filepath.Join(dir, "opa.yaml")
				put(t, config, filled.Replace(b.Text))
				r, err := openRemote(t.Context(), Options{OPAConfig: config, KeepDir: dir, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Errorf("%s:%d: %v\n%s", name, b.Line, err, b.Text)
					continue
				}
				r.close(t.Context())
			}
		}
	}
	if inputs == 0 || configurations == 0 {
		t.Errorf("%d inputs and %d OPA configurations were found", inputs, configurations)
	}
}
