package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/store/audit"
)

// A question is a call that people were asked about. An edit gives a request another call,
// and so another digest.
type question struct {
	request string
	call    holdgate.Digest
}

func questionOf(n audit.Entry) question { return question{n.RequestID, n.Call.Digest} }

// How far before an answer the log is searched for its question, in entries.
const (
	nearby  = 1_000
	farAway = 100_000
)

// argued are the arguments of the calls that entries are about. Decisions have them; votes
// and outcomes do not, and the log is searched for the decision that asked.
func argued(c *cli.Context, l command.Entries, entries []audit.Entry) (map[question]json.RawMessage, error) {
	found := map[question]json.RawMessage{}
	note := func(list []audit.Entry) {
		for _, n := range list {
			if n.Type == audit.TypeDecision && n.RequestID != "" && n.Call != nil {
				found[questionOf(n)] = n.Input
			}
		}
	}
	note(entries)
	for _, n := range entries {
		if n.RequestID == "" || n.Call == nil || n.Call.Tool == nil || n.Input != nil {
			continue
		}
		for _, back := range []uint64{nearby, farAway} {
			if _, ok := found[questionOf(n)]; ok {
				break
			}
			list, err := l.Query(c.Context, audit.Query{RequestID: n.RequestID, Type: audit.TypeDecision,
				From: n.Seq - min(back, n.Seq-1), Until: n.Time.Add(time.Nanosecond), Limit: 10})
			if err != nil {
				return nil, err
			}
			note(list)
		}
	}
	return found, nil
}

// writeEntries writes entries one below the other: what happened, and below it the call,
// the reason and the agent. A width of 0 is any.
func writeEntries(w io.Writer, entries []audit.Entry, args map[question]json.RawMessage, width int, colour bool) error {
	seq := len(strconv.FormatUint(entries[len(entries)-1].Seq, 10)) + 2
	var lines []page.Line
	for _, n := range entries {
		label := fmt.Sprintf("%-*d", seq, n.Seq)
		lines = append(lines, page.Line{Label: label, Text: n.Time.Local().Format(time.DateTime) + "  " + happened(n), Style: page.Strong})
		field := func(name, text string) {
			if text != "" {
				lines = append(lines, page.Line{Label: strings.Repeat(" ", seq) + fmt.Sprintf("%-8s", name), Text: text})
			}
		}
		if n.Call != nil {
			field("call", called(n, args))
		}
		answered(n, field)
		if n.Call != nil {
			field("agent", asker(n))
			field("folder", holdgate.Visible(n.Call.Folder))
			if n.Call.Said != "" {
				field("folder", holdgate.Visible(n.Call.Said)+", as the agent says: not checked")
			}
		}
	}
	_, err := io.WriteString(w, page.Text(lines, width, colour))
	return err
}

// happened says what an entry records, without anything that an agent wrote.
func happened(n audit.Entry) string {
	s := string(n.Type)
	if d := n.Decision; d != nil {
		s += ": " + d.Action.String()
		if d.Would != nil {
			s += " (enforced, it would be " + d.Would.String() + ")"
		}
		if d.Rule != "" {
			s += " by rule " + d.Rule
		}
		if d.Risk != "" {
			s += ", " + string(d.Risk) + " risk"
		}
	}
	if o := n.Outcome; o != nil {
		if o.Decision != "" {
			s += ": " + string(o.Decision)
		}
		if o.By != "" {
			s += " by " + o.By
		}
	}
	if n.Status != "" {
		s += ", request " + string(n.Status)
	}
	if n.Decision == nil && n.Outcome == nil && n.Note != "" {
		s += ": " + n.Note
	}
	return holdgate.Visible(s)
}

// answered writes what was said with a decision or an answer.
func answered(n audit.Entry, field func(name, text string)) {
	if d := n.Decision; d != nil {
		field("why", cut(d.Reason))
	}
	if o := n.Outcome; o != nil {
		field("edited", cut(string(o.Arguments)))
		field("choice", cut(o.Choice))
		field("says", cut(o.Instructions))
		field("why", cut(o.Reason))
	}
	if n.Decision != nil || n.Outcome != nil {
		field("note", cut(n.Note))
	}
	if s := n.Signed; s != nil && n.Outcome != nil {
		field("signed", "with the passkey "+holdgate.Visible(s.Key))
	}
	if n.Grant != "" {
		field("grant", holdgate.Visible(n.Grant))
	}
}

// asker says whose call it was.
func asker(n audit.Entry) string {
	var s []string
	if n.Call.Agent != "" {
		agent := n.Call.Agent
		if !n.Call.Proven && !aboutNoCall(n) { // those do not say
			agent += " (its own word)"
		}
		s = append(s, agent)
	}
	if n.Call.Program != "" {
		s = append(s, "says it is "+n.Call.Program)
	}
	if n.Call.Session != "" {
		s = append(s, "session "+n.Call.Session)
	}
	if n.RequestID != "" {
		s = append(s, "request "+n.RequestID)
	}
	return holdgate.Visible(strings.Join(s, ", "))
}

// aboutNoCall reports whether an entry names an agent, and no call of its.
func aboutNoCall(n audit.Entry) bool {
	return n.Type == audit.TypeGrant || n.Type == audit.TypeGranted || n.Type == audit.TypeUndo
}

// called is the call of an entry with its arguments.
func called(n audit.Entry, args map[question]json.RawMessage) string {
	name := holdgate.Visible(n.Call.Name())
	if aboutNoCall(n) {
		return ""
	}
	if n.Call.Tool == nil {
		if n.RequestID == "" && n.Decision == nil && n.Outcome == nil {
			return strings.TrimSuffix(name, string(n.Call.Kind)) // of a session: it is about no call
		}
		return name
	}
	input, known := n.Input, n.Input != nil
	if !known && n.RequestID != "" {
		if input, known = args[questionOf(n)]; !known {
			return name + " (arguments: holdgate audit query --type decision --request " + holdgate.Visible(n.RequestID) + ")"
		}
	}
	if len(input) == 0 {
		return name
	}
	return name + ": " + cut(given(input))
}

// given is the arguments of a call in one line: as JSON, and without it where all there is
// is one text.
func given(input json.RawMessage) string {
	var texts map[string]string
	if json.Unmarshal(input, &texts) == nil && len(texts) == 1 {
		for _, text := range texts {
			if text != "" && !strings.ContainsFunc(text, unicode.IsControl) {
				return text
			}
		}
	}
	return string(input)
}

// Of a longer text the beginning and the end are shown, in characters.
const (
	longest = 600
	ending  = 150
)

// cut is a text that others wrote, made visible, with a word for what is left out.
func cut(s string) string {
	r := []rune(s)
	if len(r) <= longest {
		return holdgate.Visible(s)
	}
	return holdgate.Visible(string(r[:longest-ending])) + fmt.Sprintf(" ⟨%d characters left out; --json has them⟩ ", len(r)-longest) +
		holdgate.Visible(string(r[len(r)-ending:]))
}
