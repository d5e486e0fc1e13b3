package tui

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/aymanbagabas/go-udiff"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// maxArguments bounds what an editor leaves, in bytes; the sidecar takes less.
const maxArguments = 1 << 20

// An editing is other arguments for the open request, as they would be sent.
type editing struct {
	pager

	arguments jsontext.Value
	change    []page.Line // what is changed
}

// An editedMsg is what the person's editor has left.
type editedMsg struct {
	id     string
	digest holdgate.Digest
	text   []byte
	err    error
}

// openEditor opens the person's editor on the arguments of the open request.
func (m *model) openEditor() tea.Cmd {
	a := m.ask
	switch why := a.closed(); {
	case !a.allows("edit"):
		m.note = "policy does not let this call be edited"
		return nil
	case a.r.Call.Tool == nil || a.r.Call.Tool.Arguments == nil || a.r.Briefing.Counts.Redacted > 0:
		m.note = "not edited: its arguments are no JSON object, or not all of them are shown"
		return nil
	case why != "":
		m.note = "not edited: " + why
		return nil
	}
	text, err := pretty(a.r.Call.Tool.Arguments)
	if err != nil {
		m.note = "not edited: " + holdgate.Visible(err.Error())
		return nil
	}
	return m.edits(a.r, text)
}

// edits has a text edited that is of a request.
func (m *model) edits(r approvals.Request, text []byte) tea.Cmd {
	done := editedMsg{id: r.ID, digest: r.Call.Digest}
	file, err := draft(text)
	if err != nil {
		done.err = err
		return func() tea.Msg { return done }
	}
	// The setting is a command line, as git and others take it.
	cmd := exec.CommandContext(m.ctx, "/bin/sh", "-c", m.editor+` "$1"`, "sh", file)
	return m.runs(cmd, func(err error) tea.Msg {
		if done.err = err; err == nil {
			done.text, done.err = readDraft(file)
		}
		done.err = errors.Join(done.err, os.RemoveAll(filepath.Dir(file)))
		return done
	})
}

// draft writes a text into a folder of its own that others cannot read, in memory
// where the system has such a place.
func draft(text []byte) (file string, err error) {
	dir, err := os.MkdirTemp(os.Getenv("XDG_RUNTIME_DIR"), "holdgate-edit-")
	if err != nil {
		return "", fmt.Errorf("making a folder to edit in: %w", err)
	}
	file = filepath.Join(dir, "arguments.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", errors.Join(fmt.Errorf("writing the arguments: %w", err), os.RemoveAll(dir))
	}
	return file, nil
}

func readDraft(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxArguments {
		err = fmt.Errorf("they have %d bytes, more than %d", info.Size(), maxArguments)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what was edited: %w", err)
	}
	return os.ReadFile(file)
}

// pretty is JSON for a person: indented, and with what a screen would hide written as
// \u escapes.
func pretty(raw []byte) ([]byte, error) {
	v := jsontext.Value(raw).Clone()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, fmt.Errorf("reading the call's arguments: %w", err)
	}
	return append(holdgate.VisibleJSON(v), '\n'), nil
}

// edited shows what the person has changed, where that can be sent.
func (m *model) edited(msg editedMsg) {
	a := m.ask
	if a == nil || a.r.ID != msg.id {
		return
	}
	a.since = m.now() // the screen comes back
	if msg.err != nil {
		m.note = "not edited: " + holdgate.Visible(msg.err.Error())
		return
	}
	if a.r.Call.Digest != msg.digest || a.r.Status.Final() {
		m.note = "not edited: this request has changed meanwhile"
		return
	}
	v := jsontext.Value(msg.text).Clone()
	if err := v.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil || v.Kind() != '{' {
		m.note = "not edited: what the editor left is not one JSON object; e tries again from the call's own"
		return
	}
	before, err := pretty(a.r.Call.Tool.Arguments)
	after, err2 := pretty(v)
	if err := errors.Join(err, err2); err != nil {
		m.note = "not edited: " + holdgate.Visible(err.Error())
		return
	}
	if string(before) == string(after) {
		m.note = "nothing was changed"
		return
	}
	m.edit = &editing{arguments: v, change: difference(string(before), string(after))}
	m.layOut()
}

// difference is what differs of two texts, as lines of a diff.
func difference(before, after string) (lines []page.Line) {
	lines = append(lines, page.Line{Label: "  ", Text: "what you change", Style: page.Strong})
	for _, l := range strings.Split(strings.TrimSuffix(udiff.Unified("a", "b", before, after), "\n"), "\n")[2:] {
		style := page.Plain
		switch {
		case strings.HasPrefix(l, "+"):
			style = page.Added
		case strings.HasPrefix(l, "-"):
			style = page.Removed
		case strings.HasPrefix(l, "@@"):
			style = page.Faint
		}
		lines = append(lines, page.Line{Label: "  | ", Text: holdgate.Visible(l), Style: style})
	}
	return append(lines, page.Line{}, page.Line{Text: "Policy decides about the edited call again before it goes on."})
}

// editKey takes a key while it is shown what was changed.
func (m *model) editKey(k string) tea.Cmd {
	e, a := m.edit, m.ask
	m.note = ""
	switch {
	case k == "esc", k == "q":
		m.edit, a.since = nil, m.now()
	case e.scrollKey(k, m.now()):
	case k != "y" && k != "a", a.r.Status.Final(), a.sending, m.now().Sub(e.since) < minShown:
	case !e.whole():
		m.note = "not sent: not all of the change was shown yet; space shows the rest"
	case a.word() != "":
		m.prompt = &prompt{label: fmt.Sprintf("to let it go on like this, type %s: ", quoted(a.word())), kind: promptApprove, word: a.word(), arguments: e.arguments}
	default:
		return m.send(api.Decision{Decision: holdgate.AnswerEdit, Arguments: []byte(e.arguments)})
	}
	return nil
}

func (m *model) editKeys() string {
	if m.now().Sub(m.edit.since) < minShown {
		return "a moment ..."
	}
	return "y let it go on like this" + m.edit.position("y sends it") + "  Esc goes back"
}
