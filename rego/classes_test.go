package rego

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"

	"github.com/holdgate/holdgate/rego/facts"
)

// tables are small ones in which every form stands.
var tables = map[string]string{"settings.yaml": `
settings:
  commands:
    ctl: {get: [remote, {secret: secret, secrets: secret, "--server": network, "-f": script}], delete: deploy, config: {view: pass, "set-*": persist}, "*": build}
    cloud: {"*": {"*": {"list-*": remote, "get-password*": secret, list: pass, "*": deploy}}, "-v": pass}
    gcc: build
    set: [pass, {"": secret, "-x$": secret}]
    python: build
    watch: {get: {x: pass}}
    run: {"manage.py": {check: pass}, "./": [project, {"*deploy*": deploy, prod: deploy}]}
    "./": [project, {"*deploy*": deploy, "*/release*": publish}]
    tool: [build, {"deploy*": deploy, "--force": git_force, "-d": delete, "--dry-run": pass, "--try=all": pass, "--try=none": script, ".": delete}]
  grammars:
    ctl: {"-n": namespace, "-f": true, "--namespace": namespace, "--context": context, "$CTLCONFIG": config, "-v": false, "--dry": false}
    "ctl config": {"--file": true}
    "*": {"--server": host, "--env": stage, "$STAGE": stage, "--context": other}
    tool: {"-o": true, "--for": false}
`}

// tabulated are commands (a file of the project behind an @) with what the tables make of them: a class, a subcommand,
// a target.
var tabulated = []struct{ command, class, subcommand, target string }{
	{"ctl get pods", "remote", "get", ""},
	{"ctl -n pay get pods", "remote", "get", "namespace=pay"},
	{"ctl -npay get pods", "remote", "get", "namespace=pay"},
	{"ctl --namespace=pay --context prod delete x", "deploy", "delete", "context=prod namespace=pay"},
	{"ctl -v delete x", "deploy", "delete", ""},
	{"ctl -w delete x", "", "", ""},
	{"ctl -n", "", "", ""},
	{"ctl", "", "", ""},
	{"CTLCONFIG=p.yaml ctl get x", "remote", "get", "config=p.yaml"},
	{"ctl get secret", "secret", "get", ""},
	{"ctl get pods,secrets", "secret", "get", ""},
	{"ctl get secret/db", "secret", "get", ""},
	{"ctl get x/secret", "remote", "get", ""},
	{"ctl get x --serv=u", "network", "get", ""},
	{"ctl get x -wf", "script", "get", ""},
	{"ctl -f x get y", "remote", "get", ""},
	{"ctl -f x get y -f", "script", "get", ""},
	{"ctl get x -nf", "script", "get", "namespace=f"},
	{"ctl config view", "pass", "config view", ""},
	{"ctl config --file x view", "pass", "config view", ""},
	{"ctl config set-context x", "persist", "config set-context", ""},
	{"ctl config other", "", "config", ""},
	{"ctl other", "build", "other", ""},
	{"ctl delete --help", "pass", "delete", ""},
	{"ctl delete --help x", "deploy", "delete", ""},
	{"ctl --help", "pass", "", ""},
	{"ctl config --help", "pass", "config", ""},
	{"cloud ec2 vm list-all", "remote", "ec2 vm list-all", ""},
	{"cloud ec2 vm get-password-data", "secret", "ec2 vm get-password-data", ""},
	{"cloud ec2 vm list", "pass", "ec2 vm list", ""},
	{"cloud ec2 vm listing", "deploy", "ec2 vm listing", ""},
	{"cloud ec2", "", "ec2", ""},
	{"cloud -v", "pass", "", ""},
	{"tool x", "build", "", ""},
	{"tool deploy:prod", "deploy", "", ""},
	{"tool --dry-run", "pass", "", ""},
	{"tool --dry-run --force", "git_force", "", ""},
	{"tool x --dry-run", "pass", "", ""},
	{"tool -o --dry-run", "build", "", ""},
	{"tool --other --dry-run", "build", "", ""},
	{"tool --for --dry-run", "pass", "", ""},
	{"tool --other=x --dry-run", "pass", "", ""},
	{"tool -- --dry-run", "build", "", ""},
	{"tool --dry-run=false", "build", "", ""},
	{"tool --dry-run --dry-run=false", "build", "", ""},
	{"tool --dry-run --no-dry-run", "build", "", ""},
	{"tool --try=all", "pass", "", ""},
	{"tool --try", "build", "", ""},
	{"tool --try=none", "script", "", ""},
	{"tool --try=all --try=none", "script", "", ""},
	{"tool --forc", "git_force", "", ""},
	{"tool --for", "build", "", ""},
	{"tool -vd", "delete", "", ""},
	{"tool -od", "build", "", ""},
	{"tool ./x", "build", "", ""},
	{"tool .", "delete", "", ""},
	{"python3.12 x", "build", "", ""},
	{"gcc-14 x", "build", "", ""},
	{"tool6 .", "", "", ""},
	{"run @manage.py check", "pass", "@manage.py check", ""},
	{"run @sub/manage.py check", "pass", "@sub/manage.py check", ""},
	{"run manage.py check", "pass", "manage.py check", ""},
	{"run @x/deploy.py", "deploy", "@x/deploy.py", ""},
	{"run @x/print.py deploy.md", "project", "@x/print.py", ""},
	{"run @x/print.py prod", "deploy", "@x/print.py", ""},
	{"run @x/test-deploy.py", "project", "@x/test-deploy.py", ""},
	{"run x/print.py", "", "", ""},
	{"run @-x", "", "", ""},
	{"@x/api_deploy.sh", "deploy", "", ""},
	{"@x/print.sh", "project", "", ""},
	{"x/print.sh", "", "", ""},
	{"set", "secret", "", ""},
	{"set -e", "pass", "", ""},
	{"set -x", "secret", "", ""},
	{"set -x a", "pass", "", ""},
	{"@x/print.sh release", "project", "", ""},
	{"@x/print.sh pre-release", "publish", "", ""},
	{"@x/release.sh", "publish", "", ""},
	{"other --version", "pass", "", ""},
	{"other --version x", "", "", ""},
	{"other", "", "", ""},
	{"tool --server db.example --env=prod x", "build", "", "host=db.example stage=prod"},
	{"STAGE=prod tool x", "build", "", "stage=prod"},
	{"STAGE=test tool x", "build", "", ""},
	{"tool STAGE=prod", "build", "", "stage=prod"},
	{"ctl --context prod delete x", "deploy", "delete", "context=prod"},
	{"exec --help", "script", "", ""},
	{"zsh --version", "", "", ""},
	{"watch get --help", "", "get", ""},
	{"watch --help", "", "", ""},
}

func commandOf(text string) facts.Command {
	words := strings.Fields(text)
	c := facts.Command{}
	if name, value, ok := strings.Cut(words[0], "="); ok {
		c.Env, words = []facts.Variable{{Name: name, Value: value}}, words[1:]
	}
	for i, word := range words {
		if file, ok := strings.CutPrefix(word, "@"); ok {
			words[i] = file
			c.Project = append(c.Project, file)
		}
	}
	c.Program, c.Argv = path.Base(words[0]), words
	return c
}

func TestCommandsAreLookedUpInTheTables(t *testing.T) {
	p := loaded(t, write(t, tables))
	for _, tt := range tabulated {
		c := commandOf(tt.command)
		class, subcommand := p.tables.Class(c)
		var target []string
		for k, v := range p.tables.Target(c) {
			target = append(target, k+"="+v)
		}
		slices.Sort(target)
		if class != tt.class || strings.Join(subcommand, " ") != strings.ReplaceAll(tt.subcommand, "@", "") || strings.Join(target, " ") != tt.target {
			t.Errorf("%s: %q of %q at %q, want %q of %q at %q", tt.command, class, subcommand, target, tt.class, tt.subcommand, tt.target)
		}
	}
}

// TestThePackLooksUpAsTheEngineDoes holds commands/tables.rego to what is done
// here, for the small tables and for the pack's own.
func TestThePackLooksUpAsTheEngineDoes(t *testing.T) {
	var all []facts.Command
	for _, tt := range tabulated {
		all = append(all, commandOf(tt.command))
	}
	samelyLookedUp(t, loaded(t, write(t, tables)), all)
	all = nil
	for _, file := range []string{"ordinary.txt", "destructive.txt", "constructs.txt", "evasions.txt"} {
		for _, text := range lines(t, file) {
			all = append(all, patientFacts(t, Input{Call: bashCall(text), Dir: "/w"}).Commands...)
		}
	}
	if len(all) < 300 {
		t.Fatalf("%d commands were read", len(all))
	}
	samelyLookedUp(t, loaded(t, ""), all)
}

func samelyLookedUp(t *testing.T, p *policy, all []facts.Command) {
	t.Helper()
	var input, want []any
	for _, c := range all {
		argv := make([]any, len(c.Argv))
		for i, word := range c.Argv {
			argv[i] = word
		}
		class, _ := p.tables.Class(c)
		if class == "" {
			class = "unknown"
		}
		project := make([]any, len(c.Project))
		for i, word := range c.Project {
			project[i] = word
		}
		input = append(input, map[string]any{"program": c.Program, "argv": argv, "project": project})
		want = append(want, map[string]any{"argv": argv, "class": class})
	}
	r, err := oparego.New(oparego.Query(`x := [{"argv": c.argv, "class": data.holdgate.class_of(c)} | some c in input]`),
		oparego.Compiler(p.compiler), oparego.Store(p.store), oparego.ParsedInput(ast.MustInterfaceToValue(input))).Eval(t.Context())
	if err != nil || len(r) != 1 {
		t.Fatal(r, err)
	}
	if diff := cmp.Diff(want, r[0].Bindings["x"]); diff != "" {
		t.Errorf("the engine's classes and the pack's differ (-engine +pack):\n%s", diff)
	}
}
