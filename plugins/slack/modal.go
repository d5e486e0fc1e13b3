package slack

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/slack-go/slack"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// maxInput is how many characters Slack takes in a field, counted in bytes.
const maxInput = 3000

// dialogID names the dialogs of this channel.
const dialogID = "holdgate"

// The fields of dialogs; each is the only one in its block, of the same name.
const (
	fieldReason    = "reason"
	fieldText      = "instructions"
	fieldArguments = "arguments"
)

// A dialog is what a dialog brings back besides its fields.
type dialog struct {
	Ref      ref    `json:"ref"`
	Decision string `json:"decision"`
	Thread   string `json:"thread"`
}

// A form is how a dialog asks.
type form struct {
	title, submit, field, label string
	optional                    bool
}

// forms are the dialogs, by the button that opens them.
var forms = map[string]form{
	sdk.Deny:  {"Deny the call", "Deny", fieldReason, "Why? The agent reads it.", true},
	sdk.Steer: {"Do this instead", "Send", fieldText, "What is the agent to do instead?", false},
	sdk.Edit:  {"Other arguments", "Approve the new ones", fieldArguments, "All of the arguments, as a JSON object", false},
	other:     {"Your own answer", "Send", fieldText, "Your answer", false},
}

// modal is the dialog that a button opens.
func modal(n sdk.Notice, button string, d dialog) (slack.ModalViewRequest, error) {
	f := forms[button]
	meta, err := json.Marshal(d)
	if err != nil {
		return slack.ModalViewRequest{}, fmt.Errorf("making the dialog: %w", err)
	}
	input := slack.NewPlainTextInputBlockElement(nil, f.field)
	input.Multiline, input.MaxLength = true, maxInput
	if button == sdk.Edit {
		input.InitialValue = n.Editable
	}
	about := cmp.Or(n.Summary, "Request "+d.Ref.ID)
	if n.Risk != "" {
		about = n.Risk + " risk: " + about
	}
	blocks := []slack.Block{
		preformatted(clip(about, maxBlock)),
		slack.NewInputBlock(f.field, plain(f.label, maxLabel), nil, input).WithOptional(f.optional),
	}
	if button == sdk.Edit {
		reason := slack.NewPlainTextInputBlockElement(nil, fieldReason)
		reason.MaxLength = maxInput
		blocks = append(blocks, slack.NewInputBlock(fieldReason, plain("Why?", maxLabel), nil, reason).WithOptional(true))
	}
	return slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: dialogID, PrivateMetadata: string(meta), Title: plain(f.title, 24),
		Submit: plain(f.submit, 24), Close: plain("Go back", 24), Blocks: slack.Blocks{BlockSet: blocks},
	}, nil
}

// read turns a dialog that was sent into an answer, or says what is wrong with
// which field, in words for the person.
func (d dialog) read(state *slack.ViewState, by string) (a sdk.Answer, field, why string) {
	value := func(name string) string {
		if state == nil {
			return ""
		}
		return strings.TrimSpace(state.Values[name][name].Value)
	}
	decision, f := d.Decision, forms[d.Decision]
	if decision == other {
		decision = sdk.Choose
	}
	a = d.Ref.answer(decision, by)
	switch f.field {
	case fieldReason:
		a.Reason = value(fieldReason)
	case fieldText:
		if a.Instructions = value(fieldText); a.Instructions == "" {
			return a, f.field, "Please say what is to be done."
		}
	case fieldArguments:
		a.Arguments, a.Reason = value(fieldArguments), value(fieldReason)
		return a, f.field, checkArguments(a.Arguments)
	default:
		return a, "", "There is no such dialog."
	}
	return a, f.field, ""
}

// checkArguments says what is wrong with arguments that somebody has written,
// in words for them, or nothing.
func checkArguments(raw string) string {
	var members map[string]jsontext.Value
	err := json.Unmarshal([]byte(raw), &members)
	syntax, bad := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case bad:
		line := 1 + strings.Count(raw[:min(int(syntax.ByteOffset), len(raw))], "\n")
		return fmt.Sprintf("This is no valid JSON, in line %d: %v", line, syntax.Err)
	case err != nil || members == nil:
		return "The arguments must be a JSON object: { ... }"
	}
	return ""
}
