package rego

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
)

// The tests of this file ask the shipped pack about calls as agents make them,
// through the real engine and with real facts.

func TestPackOnShellCommands(t *testing.T) {
	e := open(t, Options{})
	for _, tt := range []struct {
		name    string
		command string
		want    holdgate.Action
		rule    string
	}{
		{"listing files passes", "ls -la src && cat README.md", holdgate.Allow, "default"},
		{"searching passes", "rg -n TODO --type go | head -20", holdgate.Allow, "default"},
		{"building and testing passes", "go build ./... && go test ./... && make lint", holdgate.Allow, "default"},
		{"the tests of other languages pass", "npm test && cargo test && pytest -q", holdgate.Allow, "default"},
		{"git that keeps everything passes", "git status && git diff HEAD~1 && git add -A && git commit -m 'fix: it'", holdgate.Allow, "default"},
		{"git in another folder passes", "git -C sub --no-pager log", holdgate.Allow, "default"},
		{"git with one option before its subcommand passes", "git -C sub log --oneline", holdgate.Allow, "default"},
		{"a plain sed passes", "sed -n '1,40p' main.go", holdgate.Allow, "default"},
		{"a sed that can run commands is held", "sed '1e id' main.go", holdgate.Hold, "shell.unresolved"},
		{"awk that prints passes", "awk '{print $1}' list.txt", holdgate.Allow, "default"},
		{"awk that runs what it reads is held", `awk '{system($0)}' a.txt`, holdgate.Hold, "shell.unresolved"},
		{"throwing output away passes", "go vet ./... > /dev/null 2>&1", holdgate.Allow, "default"},

		{"a number that a file may have forged", "n=$(grep -n x a | head -1 x.txt | cut -d: -f1); git fetch $n", holdgate.Hold, "shell.unresolved"},
		{"a number out of a redirected file", "n=$(grep -n x a | head -1 < x.txt | cut -d: -f1); find . $n", holdgate.Hold, "shell.unresolved"},
		{"a line's number is one", "n=$(grep -n x a | head -n 1 | cut -d: -f1); sed -n \"${n}p\" a", holdgate.Allow, "default"},
		{"what a container prints is no number", "n=$(docker exec db cat -q x); git fetch $n", holdgate.Hold, "shell.unresolved"},
		{"deleting a file is held", "rm notes.txt", holdgate.Hold, "files.delete"},
		{"deleting a folder is held", "rm -rf build", holdgate.Hold, "files.delete"},
		{"deleting behind other commands is held", "cd build && ls && rm -rf .", holdgate.Hold, "files.delete"},
		{"deleting by find is held", "find . -name '*.tmp' -delete", holdgate.Hold, "files.delete"},
		{"overwriting a disk is held", "dd if=/dev/zero of=/dev/sda", holdgate.Hold, "shell.disk"},
		{"another user's rights are held", "sudo ls /root", holdgate.Hold, "shell.privilege"},
		{"killing processes is held", "pkill -9 node", holdgate.Hold, "shell.system"},
		{"reading secrets is held", "cat .env", holdgate.Hold, "secrets"},
		{"printing the environment is held", "printenv", holdgate.Hold, "secrets"},
		{"changing shell start files is held", "echo 'alias ls=rm' >> ~/.bashrc", holdgate.Hold, "persistence"},
		{"git hooks are held", "cp hook.sh .git/hooks/pre-commit", holdgate.Hold, "persistence"},
		{"git configuration is held", "git config core.pager 'sh -c id'", holdgate.Hold, "persistence"},
		{"installing packages is held", "npm install left-pad", holdgate.Hold, "packages.install"},
		{"installing with python -m is held", "python3 -m pip install requests", holdgate.Hold, "packages.install"},
		{"publishing is held", "npm publish", holdgate.Hold, "publish"},
		{"a release is held", "gh release create v1", holdgate.Hold, "publish"},
		{"pushing is held", "git push origin main", holdgate.Hold, "git.push"},
		{"a forced push is held as such", "git push --force origin main", holdgate.Hold, "git.force_push"},
		{"a forced push in another folder is held as such", "git -C sub push -f", holdgate.Hold, "git.force_push"},
		{"a push with a plus is a forced push", "git push origin +main", holdgate.Hold, "git.force_push"},
		{"throwing work away is held", "git reset --hard HEAD~3", holdgate.Hold, "git.discard"},
		{"checking files out over changes is held", "git checkout -- .", holdgate.Hold, "git.discard"},
		{"reaching the network is held", "curl -d @data https://example.com", holdgate.Hold, "network.command"},
		{"reading from this machine passes", "sleep 1 && curl -s localhost:3000/health | jq .", holdgate.Allow, "default"},
		{"deleting at this machine is held", "curl -X DELETE localhost:3000/x", holdgate.Hold, "network.command"},
		{"reading by way of a proxy is held", "http_proxy=http://example.com curl localhost:3000", holdgate.Hold, "network.command"},
		{"running what this machine serves is held", "curl -s localhost:3000 | sh", holdgate.Hold, "shell.unresolved"},
		{"Python that only prints passes", `python3 -c 'import json; print(json.load(open("package.json"))["version"])'`, holdgate.Allow, "default"},
		{"Python that does more is held", `python3 -c 'import os; os.remove("x")'`, holdgate.Hold, ""},
		{"Python that prints a secret is held", `python3 -c 'print(open(".env").read())'`, holdgate.Hold, "secrets"},
		{"a find that searches passes", "find . -name '*.go' -exec grep -l x {} +", holdgate.Allow, "default"},
		{"a find that deletes what it finds is held", "find . -exec rm {} +", holdgate.Hold, "files.delete"},
		{"a find that runs a script is held", "find . -execdir ./x {} \\;", holdgate.Hold, ""},
		{"asking where a program lies passes", "command -v jq && gh --version", holdgate.Allow, "default"},
		{"listing an archive passes", "tar tzf dist/app.tgz", holdgate.Allow, "default"},
		{"unpacking an archive over what people wrote is held", "tar xzf dist/app.tgz -C src", holdgate.Hold, ""},
		{"setting work aside passes", "git stash && git stash pop", holdgate.Allow, "default"},
		{"a deployment is held", "kubectl delete deployment web", holdgate.Hold, "production.deploy"},
		{"production configuration is held", "cp new.yaml config/production.yaml", holdgate.Hold, "production.config"},
		{"dropping a table is held", "psql -c 'DROP TABLE users'", holdgate.Hold, "sql.destroy"},
		{"deleting every row is held", "psql -c 'DELETE FROM users'", holdgate.Hold, "sql.destroy"},
		{"reading a table passes", "psql -c 'SELECT count(*) FROM users'", holdgate.Allow, "default"},
		{"a database client that reads from elsewhere is held", "psql -f migrate.sql", holdgate.Hold, "sql.unseen"},
		{"code on the command line is held", "perl -e 'unlink glob q(*)'", holdgate.Hold, ""},
		{"a script that nobody was shown is held", "/tmp/check.sh", holdgate.Hold, "shell.unbound"},
		{"a script of the project passes", "./scripts/check.sh", holdgate.Allow, "default"},
		{"a script that the call writes is held", "echo ls > scripts/check.sh; ./scripts/check.sh", holdgate.Hold, "shell.unbound"},
		{"a script that deploys is held", "./deploy.sh", holdgate.Hold, "production.deploy"},
		{"a program that nobody knows is held", "frobnicate --all", holdgate.Hold, "shell.unknown"},
		{"words that depend on run time are held", `cat "$TARGET"`, holdgate.Hold, "shell.unresolved"},
		{"what cannot be parsed is held", "echo 'unterminated", holdgate.Hold, "tools.unreadable"},
		{"a preloaded library is held", "LD_PRELOAD=./x.so git status", holdgate.Hold, "shell.environment"},
		{"a preloaded library is held under a build too", "LD_PRELOAD=./x.so make test", holdgate.Hold, "shell.environment"},
		{"a library exported for later calls is held", "export LD_PRELOAD=./x.so", holdgate.Hold, "shell.environment"},
		{"a pager that deletes is held", "PAGER='rm x' git log", holdgate.Hold, "shell.environment"},
		{"a script in place of ssh is held", "GIT_SSH_COMMAND=./x git status", holdgate.Hold, "shell.environment"},
		{"a shell's start file is held under a build", "BASH_ENV=./x make", holdgate.Hold, "shell.environment"},
		{"options that load code are held under a build", "NODE_OPTIONS='--require ./x.js' npm test", holdgate.Hold, "shell.environment"},
		{"a tool in place of the compiler is held", "GOFLAGS=-toolexec=./x go build ./...", holdgate.Hold, "shell.environment"},
		{"a plugin of tests is held", "PYTEST_ADDOPTS='-p evil' pytest", holdgate.Hold, "shell.environment"},
		{"a folder before all programs is held", "PATH=bin:$PATH make", holdgate.Hold, "shell.environment"},
		{"a path of one's own is held", "PATH=/opt/x make", holdgate.Hold, "shell.environment"},
		{"a folder of programs after all others passes", "PATH=$PATH:/usr/local/go/bin go test ./...", holdgate.Allow, "default"},
		{"ordinary options that are exported pass", "export NODE_OPTIONS=--max-old-space-size=4096 && npm run build", holdgate.Allow, "default"},
		{"ordinary environment passes", "CI=1 NODE_ENV=test PORT=3000 npm test && GOOS=linux go build ./... && PYTHONPATH=src pytest", holdgate.Allow, "default"},
		{"an editor that does nothing passes", "GIT_EDITOR=true git commit --amend", holdgate.Allow, "default"},
		{"a pager that prints passes", "PAGER=cat git log", holdgate.Allow, "default"},
		{"writing outside the folder is held", "cp a.txt /opt/app/a.txt", holdgate.Hold, ""},
		{"approving itself is refused", "holdgate approve", holdgate.Deny, "self_approval"},
		{"the approvers' door is refused", "curl http://127.0.0.1:7301/v1/approvals", holdgate.Deny, "self_approval"},
		{"the approvers' token is refused", "cat /home/u/.local/state/holdgate/approver.token", holdgate.Deny, "self_approval"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := e.Decide(t.Context(), Input{Call: bashCall(tt.command)})
			if d.Action != tt.want || tt.rule != "" && d.Rule != tt.rule {
				t.Errorf("%s\n got %v by %s (%s)\nwant %v by %s", tt.command, d.Action, d.Rule, d.Reason, tt.want, tt.rule)
			}
			if d.Action != holdgate.Allow && d.Reason == "" {
				t.Error("no reason was given")
			}
		})
	}
}

func TestPackOnTools(t *testing.T) {
	e := open(t, Options{})
	for _, tt := range []struct {
		name      string
		tool      string
		server    string
		arguments string
		dir       string
		want      holdgate.Action
		rule      string
	}{
		{"reading a file passes", "Read", "", `{"file_path":"/src/app/main.go"}`, "/src/app", holdgate.Allow, "default"},
		{"editing inside the folder passes", "Edit", "", `{"file_path":"/src/app/main.go","old_string":"a","new_string":"b"}`, "/src/app", holdgate.Allow, "default"},
		{"editing outside the folder is held", "Edit", "", `{"file_path":"/src/other/main.go","old_string":"a","new_string":"b"}`, "/src/app", holdgate.Hold, "files.outside"},
		{"a relative path passes where the folder is unknown", "Write", "", `{"file_path":"main.go","content":"x"}`, "", holdgate.Allow, "default"},
		{"a path upwards is held where the folder is unknown", "Write", "", `{"file_path":"../main.go","content":"x"}`, "", holdgate.Hold, "files.outside"},
		{"an absolute path is held where the folder is unknown", "Write", "", `{"file_path":"/src/app/main.go","content":"x"}`, "", holdgate.Hold, "files.outside"},
		{"reading a private key is held", "Read", "", `{"file_path":"/home/u/.ssh/id_ed25519"}`, "", holdgate.Hold, "secrets"},
		{"changing the agent's own settings is held", "Write", "", `{"file_path":".claude/settings.json","content":"{}"}`, "", holdgate.Hold, "persistence"},
		{"searching the web passes", "WebSearch", "", `{"query":"go 1.26"}`, "", holdgate.Allow, "default"},
		{"an unknown tool is held", "frobnicate", "", `{"level":3}`, "", holdgate.Hold, "tools.unknown"},
		{"an unknown tool of a server is held", "frobnicate", "gadgets", `{"level":3}`, "", holdgate.Hold, "tools.unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := bashCall("")
			c.Tool = &holdgate.Tool{Name: tt.tool, Server: tt.server, Arguments: json.RawMessage(tt.arguments)}
			d := e.Decide(t.Context(), Input{Call: c, Dir: tt.dir})
			if d.Action != tt.want || d.Rule != tt.rule {
				t.Errorf("got %v by %s (%s), want %v by %s", d.Action, d.Rule, d.Reason, tt.want, tt.rule)
			}
		})
	}
}

func TestPackHoldsArgumentsThatAreNoObject(t *testing.T) {
	c := bashCall("")
	c.Tool.Arguments, c.Tool.ArgumentsRaw = nil, `{"command": "ls`
	d := open(t, Options{}).Decide(t.Context(), Input{Call: c})
	if d.Action != holdgate.Hold {
		t.Errorf("got %v by %s, want hold", d.Action, d.Rule)
	}
}

func TestPackOnModelRequests(t *testing.T) {
	e := open(t, Options{})
	c := modelCall()
	if d := e.Decide(t.Context(), Input{Call: c}); d.Action != holdgate.Allow {
		t.Errorf("a plain request: got %v by %s, want allow", d.Action, d.Rule)
	}
	c.Model.ServerTools = []holdgate.ServerTool{{Type: "web_search_20250305", Name: "web_search"}}
	d := e.Decide(t.Context(), Input{Call: c})
	if d.Action != holdgate.Hold || d.Rule != "model.server_tools" {
		t.Errorf("with a server tool: got %v by %s, want hold by model.server_tools", d.Action, d.Rule)
	}
}

func TestPackOnOtherKinds(t *testing.T) {
	e := open(t, Options{})
	for _, tt := range []struct {
		name string
		call holdgate.Call
		want holdgate.Action
	}{
		{"a request to some host passes", holdgate.Call{Kind: holdgate.KindHTTPRequest, HTTP: &holdgate.HTTP{Method: "GET", Host: "example.com", Path: "/"}}, holdgate.Allow},
		{"listing tools passes", holdgate.Call{Kind: holdgate.KindMCPRequest, MCP: &holdgate.MCP{Server: "files", Method: "tools/list"}}, holdgate.Allow},
		{"an unknown method is held", holdgate.Call{Kind: holdgate.KindMCPRequest, MCP: &holdgate.MCP{Server: "files", Method: "system/exec"}}, holdgate.Hold},
		{"reading a resource passes", holdgate.Call{Kind: holdgate.KindMCPRequest, MCP: &holdgate.MCP{Server: "files", Method: "resources/read", Name: "file:///x"}}, holdgate.Allow},
		{"a request to a server without a method is held", holdgate.Call{Kind: holdgate.KindMCPRequest}, holdgate.Hold},
		{"a checkpoint is held", holdgate.Call{Kind: holdgate.KindGate}, holdgate.Hold},
		{"a message passes", holdgate.Call{Kind: holdgate.KindMessage}, holdgate.Allow},
		{"an unknown kind is refused", holdgate.Call{Kind: "telepathy"}, holdgate.Deny},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := e.Decide(t.Context(), Input{Call: tt.call}); d.Action != tt.want {
				t.Errorf("got %v by %s (%s), want %v", d.Action, d.Rule, d.Reason, tt.want)
			}
		})
	}
}

func TestPackOnConfidenceAndModes(t *testing.T) {
	e := open(t, Options{})
	for _, tt := range []struct {
		name  string
		mode  string
		score float64 // none where negative
		want  holdgate.Action
		rule  string
	}{
		{"without a score nothing is asked", "auto", -1, holdgate.Allow, "default"},
		{"a high score goes on", "auto", 0.8, holdgate.Allow, "default"},
		{"a middling score is shown", "auto", 0.79, holdgate.Hold, "confidence.medium"},
		{"a low score waits", "auto", 0.49, holdgate.Hold, "confidence.low"},
		{"the lowest gives up", "auto", 0.19, holdgate.Deny, "confidence.none"},
		{"manual asks about everything", "manual", 0.95, holdgate.Hold, "mode.manual"},
		{"a threshold lets through what is above", "confidence_threshold", 0.8, holdgate.Allow, "default"},
		{"a threshold holds what is below", "confidence_threshold", 0.7, holdgate.Hold, "confidence.threshold"},
		{"a threshold holds what has no score", "confidence_threshold", -1, holdgate.Hold, "confidence.threshold"},
		{"an unknown mode is held", "yolo", 0.95, holdgate.Hold, "mode.unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Call: bashCall("ls"), Mode: tt.mode}
			if tt.score >= 0 {
				in.Confidence = &Confidence{Score: tt.score}
			}
			if d := e.Decide(t.Context(), in); d.Action != tt.want || d.Rule != tt.rule {
				t.Errorf("got %v by %s (%s), want %v by %s", d.Action, d.Rule, d.Reason, tt.want, tt.rule)
			}
		})
	}

	d := e.Decide(t.Context(), Input{Call: bashCall("ls"), Confidence: &Confidence{Score: 0.6}})
	if d.Hold.Timeout != 10*time.Second || d.Hold.OnTimeout != holdgate.TimeoutApprove || d.Risk != holdgate.RiskLow {
		t.Errorf("the middle band: got %v, %v, %v, want 10s, approve, low", d.Hold.Timeout, d.Hold.OnTimeout, d.Risk)
	}
}

// Seed 000, threat 5: a score that the agent itself has given lets no silence approve,
// unless the settings trust an agent that has proven who it is.
func TestAnAgentsOwnScoreLetsNoSilenceApprove(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte("settings: {confidence: {trusted: [builder]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain, trusting := open(t, Options{}), open(t, Options{Path: dir})
	for _, tt := range []struct {
		name   string
		e      *Engine
		proven bool
		source string
		want   holdgate.TimeoutAction
	}{
		{"somebody else's score", plain, false, "verifier", holdgate.TimeoutApprove},
		{"the agent's own", plain, true, "agent", holdgate.TimeoutDeny},
		{"that of a trusted name", trusting, false, "agent", holdgate.TimeoutDeny},
		{"that of a trusted agent that has proven it", trusting, true, "agent", holdgate.TimeoutApprove},
	} {
		in := Input{Call: bashCall("ls"), Confidence: &Confidence{Score: 0.6, Source: tt.source}}
		in.Call.Agent = holdgate.Agent{ID: "builder", Proven: tt.proven}
		if d := tt.e.Decide(t.Context(), in); d.Action != holdgate.Hold || d.Hold.OnTimeout != tt.want {
			t.Errorf("%s: %v, silence: %v; want a hold and %v", tt.name, d.Action, d.Hold.OnTimeout, tt.want)
		}
	}
}

func TestPackAsksOneQuestionAfterTheOther(t *testing.T) {
	e := open(t, Options{})
	in := Input{Call: bashCall("rm notes.txt && git push && npm publish")}
	var asked []string
	for range 5 {
		d := e.Decide(t.Context(), in)
		if d.Action == holdgate.Allow {
			break
		}
		asked = append(asked, d.Rule)
		in.Answers = append(in.Answers, Answer{Rule: d.Rule, Gate: d.Hold.Gate, Decision: holdgate.AnswerApprove, By: "ada"})
	}
	if diff := cmp.Diff([]string{"publish", "files.delete", "git.push"}, asked); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if d := e.Decide(t.Context(), in); d.Action != holdgate.Allow || d.Reason == "" {
		t.Errorf("after all answers: got %v by %s, want allow", d.Action, d.Rule)
	}
}

func TestPackSettlesSeveralQuestionsByOneAnswer(t *testing.T) {
	e := open(t, Options{})
	in := Input{Call: bashCall("rm notes.txt && git push && npm publish")}
	d := e.Decide(t.Context(), in)
	var also []string
	for _, f := range d.Also {
		also = append(also, f.Rule)
		if f.Reason == "" || f.Risk == "" {
			t.Errorf("%s comes without reason or risk: %+v", f.Rule, f)
		}
	}
	if diff := cmp.Diff([]string{"git.push", "files.delete"}, also); diff != "" || d.Rule != "publish" {
		t.Errorf("asked by %s, and (-want +got):\n%s", d.Rule, diff)
	}
	in.Answers = []Answer{{Rule: d.Rule, Decision: holdgate.AnswerApprove, By: "ada", Also: also[:1]}}
	if d := e.Decide(t.Context(), in); d.Action != holdgate.Hold || d.Rule != "files.delete" || d.Also != nil {
		t.Errorf("after an answer to two of three: got %v by %s, want hold by files.delete alone", d.Action, d.Rule)
	}
	in.Answers[0].Also = also
	if d := e.Decide(t.Context(), in); d.Action != holdgate.Allow || d.Also != nil {
		t.Errorf("after an answer to all: got %v by %s, want allow", d.Action, d.Rule)
	}
}

func TestPackRedactsCredentials(t *testing.T) {
	c := bashCall("")
	c.Tool = &holdgate.Tool{Name: "Write", Arguments: json.RawMessage(`{"file_path":"notes.txt","content":"AKIAIOSFODNN7EXAMPLE"}`)}
	d := open(t, Options{}).Decide(t.Context(), Input{Call: c})
	if diff := cmp.Diff([]string{holdgate.RedactCredentials}, d.Redact); diff != "" {
		t.Errorf("redacted (-want +got):\n%s", diff)
	}
}

// TestPackQuotesNothingThatIsRedacted holds that no text of a decision repeats
// a credential, whatever comes of the call.
func TestPackQuotesNothingThatIsRedacted(t *testing.T) {
	const credential = "AKIAIOSFODNN7EXAMPLE"
	observing := Options{Path: write(t, map[string]string{"a.rego": `package holdgate.custom.team

# METADATA
# title: Words of commands, to see them
# custom:
#   risk: low
decisions contains object.union(data.holdgate.refuse("team.seen", "low", "Seen.", c.argv), {"observe": true}) if {
	some c in input.facts.commands
}
`})}
	for _, tt := range []struct {
		name    string
		options Options
		command string
		want    holdgate.Action
	}{
		{"a hold", Options{}, "rm " + credential, holdgate.Hold},
		{"a hold on environment", Options{}, "LD_PRELOAD=" + credential + " ls", holdgate.Hold},
		{"a refusal", Options{}, "holdgate approve " + credential, holdgate.Deny},
		{"the default", Options{}, "echo " + credential, holdgate.Allow},
		{"a rule that observes", observing, "echo " + credential, holdgate.Allow},
		{"a policy that observes", Options{Observe: true}, "rm " + credential, holdgate.Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, tt.options).Decide(t.Context(), Input{Call: bashCall(tt.command)})
			if d.Action != tt.want || d.Rule == holdgate.RulePolicyError {
				t.Errorf("got %v by %s (%s), want %v", d.Action, d.Rule, d.Reason, tt.want)
			}
			if len(d.Redact) == 0 {
				t.Error("nothing is redacted")
			}
			if said := fmt.Sprintf("%+v", d); strings.Contains(said, credential) {
				t.Errorf("the decision quotes the credential: %s", said)
			}
		})
	}
}

// open opens an engine that has time, so that a busy machine is no slow policy.
func open(t testing.TB, o Options) *Engine {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
