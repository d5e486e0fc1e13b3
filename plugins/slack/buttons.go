package slack

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/slack-go/slack"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// actionPrefix begins the name of every button; the answer follows, and for a
// choice a number that makes the name unique.
const actionPrefix = "holdgate:"

// other is the button of an option that takes a text.
const other = "other"

// What a message has room for.
const (
	maxOptions = 40
	perRow     = 5
)

// A ref is what a button brings back: what binds an answer to what was shown.
type ref struct {
	ID     string `json:"id"`
	Nonce  string `json:"nonce"`
	Digest string `json:"digest"`
	Choice string `json:"choice,omitzero"`
}

func (r ref) answer(decision, by string) sdk.Answer {
	return sdk.Answer{ID: r.ID, Nonce: r.Nonce, Digest: r.Digest, Decision: decision, By: by, Choice: r.Choice}
}

// value is the ref as a button carries it, or nothing where it is too long.
func (r ref) value() string {
	raw, err := json.Marshal(r)
	if err != nil || len(raw) > maxValue {
		return ""
	}
	return string(raw)
}

func readRef(value string) (r ref, err error) {
	err = json.Unmarshal([]byte(value), &r, json.RejectUnknownMembers(true))
	return r, err
}

// buttons are the answers that a request offers.
func buttons(n sdk.Notice) (rows []slack.Block) {
	at := ref{ID: n.ID, Nonce: n.Nonce, Digest: n.Digest}
	var row []slack.BlockElement
	add := func(name, label, decision string, r ref, style slack.Style) {
		value := r.value()
		if value == "" || !n.May(decision) {
			return
		}
		b := slack.NewButtonBlockElement(actionPrefix+name, value, plain(label, maxLabel)).WithStyle(style)
		if decision == sdk.Approve || decision == sdk.Choose && !strings.HasPrefix(name, other) {
			b.Confirm = confirm(n, label)
		}
		row = append(row, b)
	}
	for i, o := range n.Options[:min(len(n.Options), maxOptions)] {
		r, name := at, sdk.Choose
		if r.Choice = o.ID; o.Other {
			name = other
		}
		add(fmt.Sprintf("%s:%d", name, i), fmt.Sprintf("%d. %s", i+1, o.Label), sdk.Choose, r, "")
	}
	add(sdk.Approve, "Approve", sdk.Approve, at, slack.StylePrimary)
	add(sdk.Deny, "Deny…", sdk.Deny, at, slack.StyleDanger)
	add(sdk.Steer, "Steer…", sdk.Steer, at, "")
	add(sdk.Edit, "Edit…", sdk.Edit, at, "")
	if n.Claim == nil {
		add(sdk.Claim, "I look at it", sdk.Claim, at, "")
	} else {
		add(sdk.Unclaim, "Let go of it", sdk.Unclaim, at, "")
	}
	for i := 0; i < len(row); i += perRow {
		rows = append(rows, slack.NewActionBlock("", row[i:min(i+perRow, len(row))]...))
	}
	return rows
}

// confirm asks once more where other screens want a whole word.
func confirm(n sdk.Notice, what string) *slack.ConfirmationBlockObject {
	if page.Word(n) == "" {
		return nil
	}
	risk := n.Risk
	if risk == "" {
		risk = "unknown"
	}
	text := fmt.Sprintf("This call is of %s risk. %s: %s", risk, n.Call.Target, n.Summary)
	if missing := page.Missing(n); missing != "" {
		text = "Not shown: " + missing + ". " + text
	}
	return slack.NewConfirmationBlockObject(plain("Really?", 100), plain(text, maxConfirm), plain(what, 30), plain("Go back", 30))
}
