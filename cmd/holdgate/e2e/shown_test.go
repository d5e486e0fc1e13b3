package e2e_test

import (
	"bufio"
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
)

// A showing is how a command that a page shows is run. The zero value runs it as it stands, to success.
type showing struct {
	holds  []string // calls that wait before, whose ids stand in the place of those that the page shows
	before string   // a command that comes before it, with the same ids
	asks   string   // what it shows on a terminal before a person types
	types  string   // what the person types
	code   int      // its exit code
	prints string   // what it must print, without a terminal
}

// elsewhere are the commands that other tests run, or that need what no test has, by how they begin.
var elsewhere = map[string]string{
	"holdgate edit ":              "TestScripts",
	"holdgate policy test rules/": "TestStockOPATakesWhatTheDocsSay",
	"opa ":                        "TestStockOPATakesWhatTheDocsSay",
	"holdgate diff":               "TestScripts has a run whose changes are kept",
	"holdgate undo":               "TestScripts has a run whose changes are kept",
	"helm ":                       "TestTheChart, as Helm renders it",
	"go build ./cmd/holdgate":     ".ci/run",
	"holdgate policy score --cwd /home/dev/shop --half": "TestThePackOnTheLabelledTables",
	"sudo ":                      "deploy/package/check has a Debian to itself",
	"git clone ":                 "it needs the network",
	"docker ":                    "TestTheImageRuns starts the image without Docker",
	"deploy/image/build ":        "TestTheImageRuns",
	"deploy/package/build":       ".ci/run",
	"go test ":                   ".ci/run",
	"go install ":                ".ci/run",
	"deploy/demo ":               "TestTheReadmeShowsWhatTheDemoPrints",
	"go mod ":                    "TestConformance",
	"npm install":                "TestTheChannelForNodeConforms",
	"holdgate plugin check file": "TestConformance",
	"holdgate plugin send ":      "TestScripts",
	"holdgate gate ":             "TestAScriptPassesGates",
	"curl -s 'http://127.0.0.1:7300/v1/gates/k7f2m9": "TestAScriptPassesGates",
	"holdgate serve":         "every test here",
	"holdgate run ":          "TestAgents",
	"ANTHROPIC_BASE_URL=":    "TestAgents",
	"OTEL_EXPORTER_":         "TestTracesArrive",
	"HOLDGATE_CRASH_ROUNDS=": "TestCrash",
	"HOLDGATE_WHOLE=":        ".ci/run takes a sample of the same",
	"HOLDGATE_CONFIG=":       "TestAnAgentInCIIsDecidedByAChannel",
	"holdgate store copy ":   "TestStoreCopy",
	"holdgate store check":   "TestADamagedLogIsCheckedAndSalvaged",
	"holdgate bench":         "TestAnInterruptedBenchPrintsWhatItMeasured",
	"kubectl ":               "it needs a cluster",
	"holdgate inject ":       "TestKubernetesTakesWhatInjectPrints",
	"cat team/":              "it shows a file to write",
	"ssh ":                   "it needs another machine",
	"kill ":                  "it ends what an earlier line started",
	"pg_dump ":               "it needs a database",
	"openssl rand":           "it is nothing of Holdgate's",
	"grep ":                  "it is nothing of Holdgate's",
}

const (
	makeRules = "test -e ~/.config/holdgate/rules || holdgate init"
	approve   = "approve\r"
	nothing   = "none could have been spared" // a day is too short for suggestions
	hello     = `{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}`
	log17     = `for i in $(seq 20); do curl -sf $AGENTS/up/anthropic/v1/messages -H 'Content-Type: application/json' -d '` + hello + `'; done`
	work1     = `curl -sf $AGENTS/up/anthropic/v1/messages -H 'Content-Type: application/json' -H 'X-Session-Id: work-1' -d '` + hello + `'`
)

// showings are the commands that want more than to be run, by page and command.
var showings = map[string]map[string]showing{
	"README.md": {
		"holdgate pending": {holds: []string{"rm -rf one"}},
		"holdgate init":    {},
	},
	"docs/approvals.md": {
		"holdgate pending":                      {holds: []string{"rm -rf one"}, prints: "one"},
		"holdgate show":                         {prints: "one"},
		"holdgate approve c5cw":                 {code: 4, prints: "no such approval request: c5cw"},
		"holdgate approve m9zyhk-2fdsw7-8cbhkw": {holds: []string{"rm -rf two"}, before: `holdgate steer ID "leave it"`, code: 5, prints: "already decided by"},
		"holdgate approve qpsmhx-8z23qp-nn37qq 9nxkkk-x4jhfw-jqdtvc": {holds: []string{"rm -rf three", "rm -rf four"}, asks: "Type approve", types: approve},
		"holdgate approve --exchange zp8gqd-cd6h3v-6v8hd6":           {holds: []string{"rm -rf five"}, asks: "Type approve", types: approve},
		"holdgate deny m3xwzk-2fdsw7-8cbhkw --row":                   {holds: []string{"rm -rf six"}},
		`curl -s --unix-socket ~/.local/state/holdgate/holdgate.sock -H "Authorization: Bearer $(cat ~/.local/state/holdgate/approver.token)" -H 'Content-Type: application/json' -d '{"decision":"approve","digest":"8a3938b8122ca6814db28048516a3292e4e9a888869b8ca21572924e8c7cb248"}' http://localhost/v1/approvals/4knfrz-65vdxs-xg9g52/decision`: {prints: "not-found"},
		"holdgate people add bob --role approve --write":              {before: makeRules},
		"holdgate approve c5cwz8-tw8933-9975cv":                       {holds: []string{"rm -rf seven"}, asks: "Type approve", types: approve},
		"holdgate approve cb6g8g-9fqsmc-j5rtxw --remember exact":      {holds: []string{"rm -rf eight"}, asks: "Type approve", types: approve},
		"holdgate approve c5cwz8-tw8933-9975cv --digest 8441586e85d8": {holds: []string{"rm -rf nine"}},
		`holdgate deny c5cwz8-tw8933-9975cv --reason "..."`:           {holds: []string{"rm -rf ten"}},
		`holdgate steer c5cwz8-tw8933-9975cv "do this instead"`:       {holds: []string{"rm -rf eleven"}},
	},
	"docs/audit.md": {
		`holdgate audit query --since 2h --agent claude --action deny --text "rm -rf"`:         {code: 4, prints: "no entry"},
		"holdgate audit query --since 30d --type outcome":                                      {holds: []string{"rm -rf one"}, before: "holdgate deny ID --reason no", prints: `"command":"rm -rf one"`},
		"holdgate audit prove 17 >17.proof":                                                    {before: log17},
		"holdgate audit prove --from 1200 >grew.proof":                                         {code: 1, prints: "1200"},
		"holdgate audit verify --proof grew.proof --key holdgate.pub --head monday.checkpoint": {before: "holdgate audit prove --from $(sed -n 2p monday.checkpoint) >grew.proof"},
		"holdgate audit verify --export log.jsonl --key holdgate.pub --head last.checkpoint":   {before: "holdgate audit export >log.jsonl && holdgate audit key >holdgate.pub && holdgate audit head >last.checkpoint"},
	},
	"docs/cookbook.md": {
		"cp docs/cookbook/terraform_destroy*.rego ~/.config/holdgate/rules/": {before: makeRules},
		"holdgate policy try 'terraform destroy'":                            {code: 3, prints: "terraform_destroy.refuse"},
	},
	"docs/first-hour.md": {
		"holdgate pending":                    {holds: []string{"rm -rf one"}},
		"holdgate watch":                      {asks: "one", types: "q"},
		"holdgate policy suggest":             {prints: nothing},
		"holdgate policy try 'npm publish'":   {prints: "hold by rule publish"},
		"holdgate audit query --type outcome": {holds: []string{"rm -rf two"}, before: "holdgate deny ID --reason no", prints: `"command":"rm -rf two"`},
		"holdgate policy explain 9":           {code: 4, prints: "no decision has"},
	},
	"docs/watch.md": {"holdgate watch": {holds: []string{"rm -rf one"}, asks: "one", types: "q"}},
	"docs/policy.md": {
		"holdgate policy try 'kubectl delete pod x'":         {prints: "production.deploy"},
		"holdgate policy try --facts 'kubectl delete pod x'": {prints: `"program": "kubectl"`},
		"holdgate policy eval --input call.json":             {before: `echo '{"kind": "tool_call", "tool": {"name": "Bash", "arguments": {"command": "ls"}}}' >call.json`},
		"holdgate policy explain kgkgs5-knhp4b-h924c6":       {holds: []string{"rm -rf one"}, prints: "files.delete"},
		"holdgate policy replay --since 7d --policy rules":   {before: "mkdir -p rules && cp docs/cookbook/terraform_destroy*.rego rules/"},
		"cat calls.jsonl": {before: `printf '%s\n' '{"id": "1", "want": "pass", "tool": "Bash", "input": {"command": "go test ./..."}}' '{"id": "2", "want": "hold", "tool": "Bash", "input": {"command": "git push --force"}}' >calls.jsonl`},
		"holdgate policy score --cwd /home/dev/shop calls.jsonl": {prints: "0 held      0.0 %"},
	},
	"docs/rollout.md": {
		"holdgate audit query --since 7d --text '\"would\"'":                 {code: 4, prints: "no entry"},
		"holdgate policy replay --since 7d --policy rules-of-the-team/rules": {holds: []string{"rm -rf one"}},
		"holdgate policy suggest":                                            {prints: nothing},
		"holdgate policy suggest --since 30d":                                {prints: nothing},
	},
	"docs/network.md": {"holdgate netfilter --uid 7300 --dns 10.96.0.10 > team/rules.nft": {before: "mkdir -p team"}},
	"docs/page.md":    {"holdgate open --qr": {code: 1, prints: "approvers_tls"}},
	"docs/sessions.md": {
		"holdgate sessions list": {before: work1, prints: "work-1"},
		`holdgate messages work-1 --reply 812 "yes, the old format too"`: {code: 1, prints: "none has 812"},
	},
}

// A world is a person's machine with a sidecar at its usual place, and a clone of this repository.
type world struct {
	*sidecar
	home, clone string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home := sockettest.Folder(t)
	w := &world{home: home, clone: filepath.Join(home, "holdgate")}
	clone, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"bin", "holdgate", ".local/state", "src/shop"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{binary: "bin/holdgate", filepath.Join(clone, "docs"): "holdgate/docs", filepath.Join(clone, "deploy"): "holdgate/deploy", filepath.Join(clone, "policies"): "holdgate/policies"} {
		if err := os.Symlink(from, filepath.Join(home, to)); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(home, "agents.yaml")
	if err := os.WriteFile(config, []byte("agents: {builder: {token_sha256: "+hashOf("token")+"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.sidecar = serveIn(t, filepath.Join(home, ".local/state/holdgate"), []string{"HOME=" + home}, "--config", config, "--upstream", "anthropic="+newProvider(t).URL)
	return w
}

// command is a shell's, at the root of the clone.
func (w *world) command(ctx context.Context, line string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(line, "127.0.0.1:7300", w.agents))
	c.Dir = w.clone
	c.Env = []string{"PATH=" + filepath.Join(w.home, "bin") + ":" + os.Getenv("PATH"), "HOME=" + w.home, "USER=ada", "TERM=xterm-256color", "EDITOR=true", "AGENTS=http://" + w.agents}
	return c
}

var shownID = regexp.MustCompile(`(--exchange )?\b(?:[0-9a-z]{6}-[0-9a-z]{6}-[0-9a-z]{6}|ID)\b`)

var shownDigest = regexp.MustCompile(`--digest [0-9a-f]{12}\b`)

// named puts the requests that wait in the place of those that a page names, one after the other.
func named(line string, waiting []request) string {
	if len(waiting) > 0 {
		line = shownDigest.ReplaceAllString(line, "--digest "+waiting[0].Call.Digest)
	}
	return shownID.ReplaceAllStringFunc(line, func(is string) string {
		if len(waiting) == 0 {
			return is
		}
		r := waiting[0]
		waiting = waiting[1:]
		if flag, exchange := strings.CutPrefix(is, "--exchange "); exchange && flag != "" {
			return "--exchange " + r.Exchange
		}
		return r.ID
	})
}

// run runs a command as it is shown.
func (w *world) run(t *testing.T, line string, s showing) {
	t.Helper()
	var waiting []request
	for _, call := range s.holds {
		hold(t, w.sidecar, call)
		waiting = append(waiting, w.held(call))
	}
	if s.before != "" {
		if r := finish(t, w.command(t.Context(), named(s.before, waiting))); r.code != 0 {
			t.Fatalf("before %s: %s: %v", line, s.before, r)
		}
	}
	line = named(line, waiting)
	if s.types == "" {
		if r := finish(t, w.command(t.Context(), line)); r.code != s.code || !strings.Contains(r.stdout+r.stderr, s.prints) {
			t.Errorf("%s: want exit code %d and %q: %v", line, s.code, s.prints, r)
		}
		return
	}
	tm := inTerminal(t, func(ctx context.Context) *exec.Cmd { return w.command(ctx, line) })
	tm.sees(s.asks)
	tm.types(s.types)
	<-tm.ended
	if got := tm.cmd.ProcessState.ExitCode(); got != s.code {
		t.Errorf("%s: exit code %d, want %d:\n%s", line, got, s.code, tm.text())
	}
}

// shownCommands are the lines of a page that begin with a prompt, without their comments.
func shownCommands(t *testing.T, page string) (lines []string) {
	t.Helper()
	f, err := os.Open(page)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		line, ok := strings.CutPrefix(strings.TrimSpace(in.Text()), "$ ")
		if !ok {
			continue
		}
		for strings.HasSuffix(line, `\`) && in.Scan() {
			line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(in.Text())
		}
		line, _, _ = strings.Cut(line, " #")
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// others are the pages with commands that are not in docs/.
func others(root string) (pages []string) {
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "policies/README.md", "deploy/helm/holdgate/README.md", "testdata/judgement/README.md"} {
		pages = append(pages, filepath.Join(root, name))
	}
	return pages
}

var unprompted = regexp.MustCompile(`(?m)^ {4,}(holdgate|opa|go|deploy/\w+/\w+) [a-z./].*$`)

// A command stands at a prompt, so that the test below runs it.
func TestCommandsStandAtAPrompt(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, others("../../..")...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range unprompted.FindAllString(string(text), -1) {
			if !strings.Contains(line, "holdgate acp -- holdgate run") { // goes into an editor's settings
				t.Errorf("%s shows %q without a prompt", filepath.Base(page), line)
			}
		}
	}
}

// Each command that a page shows at a prompt does what the page says, in the page's order, on one machine for each page.
func TestShownCommands(t *testing.T) {
	t.Parallel()
	root := "../../.."
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, others(root)...) {
		name, _ := filepath.Rel(root, page)
		lines, how := shownCommands(t, page), showings[name]
		for line := range how {
			if !strings.Contains(strings.Join(lines, "\n"), line) {
				t.Errorf("%s does not show %s", name, line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, line := range lines {
				if runsElsewhere(line) == "" {
					w.run(t, line, how[line])
				}
			}
		})
	}
}

// runsElsewhere is how such a command begins.
func runsElsewhere(line string) string {
	for begin := range elsewhere {
		if strings.HasPrefix(line, begin) {
			return begin
		}
	}
	return ""
}

// What is said to be run by another test is shown, and the test is there.
func TestShownCommandsThatRunElsewhere(t *testing.T) {
	root := os.DirFS("../../..")
	unshown, tests := maps.Clone(elsewhere), ""
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if page, _ := filepath.Match("docs/*.md", name); page || slices.Contains(others("."), name) {
			for _, line := range shownCommands(t, filepath.Join("../../..", name)) {
				delete(unshown, runsElsewhere(line))
			}
		}
		if strings.HasSuffix(name, "_test.go") {
			text, err := fs.ReadFile(root, name)
			tests += string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(unshown) > 0 {
		t.Errorf("no page shows %v", slices.Collect(maps.Keys(unshown)))
	}
	for _, where := range elsewhere {
		if name := regexp.MustCompile(`Test\w+`).FindString(where); name != "" && !strings.Contains(tests, "\nfunc "+name+"(") {
			t.Errorf("there is no %s", name)
		}
	}
}
