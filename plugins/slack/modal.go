package slack

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
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
	// Joins has a byte for each field of the arguments but the first: what
	// stood between it and the one before, [newLine] or [sameLine].
	Joins string `json:"joins,omitzero"`
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
	values := []string{""}
	if button == sdk.Edit {
		values, d.Joins = parts(n.Editable)
	}
	meta, err := json.Marshal(d)
	if err != nil {
		return slack.ModalViewRequest{}, fmt.Errorf("making the dialog: %w", err)
	}
	about := cmp.Or(n.Summary, "Request "+d.Ref.ID)
	if n.Risk != "" {
		about = n.Risk + " risk: " + about
	}
	blocks := []slack.Block{
		preformatted(clip(about, maxBlock)),
	}
	for i, value := range values {
		name, label := partField(f.field, i), f.label
		if i > 0 {
			label = fmt.Sprintf("The arguments go on, part %d of %d", i+1, len(values))
		}
		input := slack.NewPlainTextInputBlockElement(nil, name)
		input.Multiline, input.MaxLength, input.InitialValue = true, maxInput, value
		// A part may be emptied: what it held is then gone from the arguments.
		blocks = append(blocks, slack.NewInputBlock(name, plain(label, maxLabel), nil, input).WithOptional(f.optional || i > 0))
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
	raw := func(name string) string {
		if state == nil {
			return ""
		}
		return state.Values[name][name].Value
	}
	value := func(name string) string { return strings.TrimSpace(raw(name)) }
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
		a.Reason = value(fieldReason)
		a.Arguments, field, why = d.arguments(raw)
		return a, field, why
	default:
		return a, "", "There is no such dialog."
	}
	return a, f.field, ""
}
