package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// The stand-in's view of blocks: Slack's limits
// (https://docs.slack.dev/reference/block-kit).

type textObject struct {
	Type, Text string
	Emoji      *bool
}

type confirmObject struct{ Title, Text, Confirm, Deny textObject }

type element struct {
	Type, Value  string
	ActionID     string          `json:"action_id"`
	Text         json.RawMessage // a text object of a button, a string of rich text
	UserID       string          `json:"user_id"`
	Confirm      *confirmObject
	Elements     []element
	InitialValue string `json:"initial_value"`
	MaxLength    int    `json:"max_length"`
}

type block struct {
	Type, BlockID string
	Text          *textObject
	Elements      []element
	Element       *element
	Optional      bool
}

func parseBlocks(raw json.RawMessage) (blocks []block) {
	_ = json.Unmarshal(raw, &blocks)
	return blocks
}

// checkBlocks is nil, or the code with which Slack refuses.
func checkBlocks(raw json.RawMessage) error {
	blocks := parseBlocks(raw)
	if len(blocks) == 0 || len(blocks) > 50 {
		return errors.New("invalid_blocks")
	}
	total, ids := 0, map[string]bool{}
	text := func(s string, size int) bool {
		n := utf8.RuneCountInString(s)
		total += n
		return n > 0 && n <= size
	}
	var walk func(e element) bool
	walk = func(e element) bool {
		switch e.Type {
		case "button":
			var label textObject
			_ = json.Unmarshal(e.Text, &label)
			ok := label.Type == "plain_text" && text(label.Text, 75) && len(e.Value) <= 2000 && !ids[e.ActionID]
			ids[e.ActionID] = true
			if c := e.Confirm; c != nil {
				ok = ok && text(c.Title.Text, 100) && text(c.Text.Text, 300) && text(c.Confirm.Text, 30) && text(c.Deny.Text, 30) && c.Text.Type == "plain_text"
			}
			return ok
		case "text", "mrkdwn", "plain_text":
			var s string
			_ = json.Unmarshal(e.Text, &s)
			return text(s, 3000)
		}
		for _, inner := range e.Elements {
			if !walk(inner) {
				return false
			}
		}
		return true
	}
	for _, b := range blocks {
		switch {
		case b.Type == "header" && !text(b.Text.Text, 150), b.Type == "section" && !text(b.Text.Text, 3000),
			b.Type == "actions" && (len(b.Elements) == 0 || len(b.Elements) > 25), b.Type == "rich_text" && len(b.Elements) == 0:
			return errors.New("invalid_blocks")
		}
		for _, e := range b.Elements {
			if !walk(e) {
				return errors.New("invalid_blocks")
			}
		}
	}
	if total > 13_200 {
		return errors.New("msg_blocks_too_long")
	}
	return nil
}

func checkView(raw json.RawMessage) error {
	var v struct {
		Type                 string
		Title, Submit, Close textObject
		PrivateMetadata      string `json:"private_metadata"`
		Blocks               []block
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	if v.Type != "modal" || len(v.PrivateMetadata) > 3000 || len(v.Blocks) > 100 {
		return fmt.Errorf("view %s", raw)
	}
	for _, t := range []textObject{v.Title, v.Submit, v.Close} {
		if n := utf8.RuneCountInString(t.Text); n == 0 || n > 24 || t.Type != "plain_text" {
			return fmt.Errorf("%q is too long", t.Text)
		}
	}
	for _, b := range v.Blocks {
		if b.Element != nil && (utf8.RuneCountInString(b.Element.InitialValue) > 3000 || b.Element.MaxLength > 3000) {
			return errors.New("too long a value")
		}
	}
	return nil
}
