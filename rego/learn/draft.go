package learn

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
)

// ExceptionsFile is the file that exceptions are drafted into.
const ExceptionsFile = "exceptions.yaml"

// WithExceptions is a file of exceptions with those of another one besides. All else that
// stands in the file stays as it is, comments too.
func WithExceptions(file, more string) (string, error) {
	var have, add yaml.Node
	if err := errors.Join(yaml.Unmarshal([]byte(file), &have), yaml.Unmarshal([]byte(more), &add)); err != nil {
		return "", fmt.Errorf("reading exceptions: %w", err)
	}
	into, err := exceptionsOf(&have)
	if err != nil {
		return "", fmt.Errorf("the exceptions that are in force: %w", err)
	}
	from, err := exceptionsOf(&add)
	if err != nil {
		return "", fmt.Errorf("the new exceptions: %w", err)
	}
	into.Style &^= yaml.FlowStyle
	into.Content = append(into.Content, from.Content...)
	text, err := yaml.Marshal(&have)
	return string(text), err
}

// exceptionsOf is the list settings.exceptions of a file, which is made where it is not
// there.
func exceptionsOf(file *yaml.Node) (*yaml.Node, error) {
	if file.Kind == 0 { // an empty file
		*file = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!null"}}}
	}
	settings, err := member(file.Content[0], "settings", yaml.MappingNode)
	if err != nil {
		return nil, err
	}
	return member(settings, "exceptions", yaml.SequenceNode)
}

// member is the value of a key, of a kind, which is made where it is not there.
func member(of *yaml.Node, key string, kind yaml.Kind) (*yaml.Node, error) {
	if err := become(of, yaml.MappingNode); err != nil {
		return nil, fmt.Errorf("what %s stands in: %w", key, err)
	}
	for i := 0; i+1 < len(of.Content); i += 2 {
		if of.Content[i].Value == key {
			return of.Content[i+1], become(of.Content[i+1], kind)
		}
	}
	value := &yaml.Node{Kind: kind}
	of.Content = append(of.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	return value, nil
}

// become makes a list or a map of nothing.
func become(n *yaml.Node, kind yaml.Kind) error {
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		*n = yaml.Node{Kind: kind, HeadComment: n.HeadComment, LineComment: n.LineComment, FootComment: n.FootComment}
	case n.Kind != kind:
		return fmt.Errorf("line %d is no list or map as it must be", n.Line)
	}
	return nil
}

// A DraftKind says what a drafted rule is to do with calls like one.
type DraftKind string

// The kinds of draft.
const (
	DraftAsk    DraftKind = "ask"    // always ask
	DraftNever  DraftKind = "never"  // never ask: an exception of the settings
	DraftRefuse DraftKind = "refuse" // refuse
	DraftTwo    DraftKind = "two"    // ask two people of the role security
)

// ErrDraft says that no rule can be drafted of a call, and why.
var ErrDraft = errors.New("no rule can be drafted of this call")

// drafted is what a draft goes by, of what policy sees of a call.
type drafted struct {
	Tool *struct {
		Name   string `json:"name"`
		Server string `json:"server"`
	} `json:"tool"`
	HTTP *struct {
		Method string `json:"method"`
		Host   string `json:"host"`
	} `json:"http"`
	Facts struct {
		Commands []command `json:"commands"`
	} `json:"facts"`
}

type command struct {
	Program    string `json:"program"`
	Subcommand string `json:"subcommand"`
}

// A Drafted is a rule for calls like one, with its test, to be looked at and changed.
type Drafted struct {
	Name  string            // of the rule
	Files map[string]string // by name: Rego with its test, or settings with theirs
}

// Draft drafts a rule of the kind for calls like a past one. It is as wide as the tool,
// the program with its subcommand, or the host: a person narrows it.
func Draft(ctx context.Context, e *rego.Engine, past rego.Past, kind DraftKind) (Drafted, error) {
	x, err := e.Explain(ctx, past, false)
	if err != nil {
		return Drafted{}, fmt.Errorf("%w: %w", ErrDraft, err)
	}
	input, err := json.MarshalIndent(x.Input, "", "\t")
	if err != nil {
		return Drafted{}, fmt.Errorf("writing a draft: %w", err)
	}
	if kind == DraftNever {
		return exceptions(x, past.Call, input)
	}
	var in drafted
	if err := json.Unmarshal(input, &in); err != nil {
		return Drafted{}, fmt.Errorf("reading what policy sees: %w", err)
	}
	title, conditions := in.conditions(abouts(x))
	if len(conditions) == 0 {
		return Drafted{}, fmt.Errorf("%w: it is no tool call and no HTTP request", ErrDraft)
	}
	name := "drafted_" + slug(string(kind)+" "+title)
	var decision, says string
	switch kind {
	case DraftAsk:
		says, decision = "Always ask", `"action": "hold", "risk": "medium", "hold": {"required": true}`
	case DraftTwo:
		says, decision = "Ask two of security", `"action": "hold", "risk": "high", "hold": {"required": true, "approvers": {"roles": ["security"], "quorum": 2}}`
	case DraftRefuse:
		says, decision = "Refuse", `"action": "deny"`
	default:
		return Drafted{}, fmt.Errorf("%w: unknown kind %q", ErrDraft, kind)
	}
	rule := fmt.Sprintf("package holdgate.custom.%s\n\n# METADATA\n# title: %s\n# description: Drafted from a call. Narrow it to what you mean.\ndecisions contains {\"rule\": %q, \"reason\": %s, %s} if {\n\t%s\n}\n",
		name, yamlText(says+": "+title), name, quoted(says+": "+title), decision, strings.Join(conditions, "\n\t"))
	test := fmt.Sprintf("package holdgate.custom.%s_test\n\nimport data.holdgate.custom.%[1]s\n\ntest_the_call if {\n\trules := {d.rule | some d in %[1]s.decisions} with input as %[2]s\n\trules == {%[3]q}\n}\n\n"+
		"test_another_tool if count(%[1]s.decisions) == 0 with input as {\"kind\": \"tool_call\", \"tool\": {\"name\": \"another\", \"arguments\": {}}}\n", name, input, name)
	return Drafted{Name: name, Files: map[string]string{name + ".rego": rule, name + "_test.rego": test}}, nil
}

// abouts are what the rules that ask say they ask about.
func abouts(x rego.Explanation) (list []string) {
	for _, f := range x.Fired {
		list = append(list, f.About...)
	}
	return list
}

// conditions are what a rule for calls like this one asks for, and its title. Of a shell's
// line it is the command that was asked about.
func (in drafted) conditions(abouts []string) (title string, list []string) {
	if t := in.Tool; t != nil {
		title = strings.TrimPrefix(t.Server+"/"+t.Name, "/")
		list = append(list, "input.tool.name == "+quoted(t.Name))
		if t.Server != "" {
			list = append(list, "input.tool.server == "+quoted(t.Server))
		}
		if c := in.command(abouts); c != nil {
			title = strings.TrimSpace(c.Program + " " + c.Subcommand)
			list = append(list, "some c in input.facts.commands", "c.program == "+quoted(c.Program))
			if c.Subcommand != "" {
				list = append(list, "c.subcommand == "+quoted(c.Subcommand))
			}
		}
		return title, list
	}
	if h := in.HTTP; h != nil && h.Host != "" {
		return h.Method + " " + h.Host, []string{"input.http.method == " + quoted(h.Method), "input.http.host == " + quoted(h.Host)}
	}
	return "", nil
}

// command is the one that the strictest rule asks about, else the first that does more
// than go to a folder; nil where there is none.
func (in drafted) command(abouts []string) *command {
	commands := slices.DeleteFunc(slices.Clone(in.Facts.Commands), func(c command) bool { return c.Program == "" })
	for _, about := range abouts {
		for _, c := range commands {
			if about == c.Program || strings.HasPrefix(about, c.Program+" ") {
				return &c
			}
		}
	}
	for _, c := range commands {
		if c.Program != "cd" {
			return &c
		}
	}
	if len(commands) > 0 {
		return &commands[0]
	}
	return nil
}

// exceptions are settings by which the rules that ask about a call do not.
func exceptions(x rego.Explanation, c holdgate.Call, input []byte) (Drafted, error) {
	tool := ""
	if c.Tool != nil {
		tool = strings.TrimPrefix(c.Tool.Server+"/"+c.Tool.Name, "/")
	}
	var list []rego.Exception
	for _, f := range x.Fired {
		switch {
		case f.Action != holdgate.Hold.String() || f.Lifted != "":
			continue
		case f.Required || f.Choice || f.Risk == string(holdgate.RiskCritical):
			return Drafted{}, fmt.Errorf("%w: the rule %s asks a person each time", ErrDraft, f.Rule)
		case f.Gate != "":
			return Drafted{}, fmt.Errorf("%w: the rule %s asks at the gate %s, for all that comes there", ErrDraft, f.Rule, f.Gate)
		case len(f.About) == 0:
			return Drafted{}, fmt.Errorf("%w: the rule %s does not say what of the call it asks about, so that an exception would be for all calls", ErrDraft, f.Rule)
		}
		list = append(list, rego.Exception{Rule: f.Rule, Match: rego.ExceptionMatch{Tool: tool, About: slices.Clone(f.About)}, Reason: "people decided that it need not be asked"})
	}
	if len(list) == 0 {
		return Drafted{}, fmt.Errorf("%w: no rule asks about it that an exception lifts", ErrDraft)
	}
	text, err := yaml.Marshal(map[string]any{"settings": map[string]any{"exceptions": list}})
	if err != nil {
		return Drafted{}, err
	}
	name := "exceptions_" + slug(tool+" "+fmt.Sprintf("%x", sha256.Sum256(input))[:8])
	test := fmt.Sprintf("package holdgate.custom.%s_test\n\ntest_it_passes if data.holdgate.decision.action == \"allow\" with input as %s\n", name, input)
	return Drafted{Name: name, Files: map[string]string{ExceptionsFile: string(text), name + "_test.rego": test}}, nil
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a text always can be
	return string(b)
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// slug is a text as a name of Rego has it.
func slug(s string) string {
	s = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(s), "_"), "_")
	return strings.TrimRight(s[:min(len(s), 50)], "_")
}

// yamlText is a text as a value of METADATA.
func yamlText(s string) string { return strconv.QuoteToASCII(s) }
