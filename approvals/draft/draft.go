// Package draft holds the arguments of a held call while a person edits them: as a
// file for an editor, as what was changed in lines that a screen can show, and as
// the question to policy what it would make of them.
//
// Nothing here decides or sends.
package draft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// maxArguments bounds what an editor leaves, in bytes; the sidecar takes less.
const maxArguments = 1 << 20

// ErrSame says that nothing was changed.
var ErrSame = errors.New("nothing was changed")

// Editable says why the arguments of a request are not edited, or nothing.
func Editable(r approvals.Request) string {
	switch {
	case !slices.Contains(r.Allow, "edit") || r.Kind != holdgate.RequestApproval:
		return "policy does not let this call be edited"
	case r.Call.Tool == nil || r.Call.Tool.Arguments == nil || r.Briefing.Counts.Redacted > 0:
		return "its arguments are no JSON object, or not all of them are shown"
	}
	return ""
}

// A File is the arguments of a request in an editor.
type File struct {
	Path   string
	before []byte
}

// Open writes the arguments into a folder of its own that others cannot read, in
// memory where the system has such a place. A text that was left there before stands in
// their place, unless it is nil.
func Open(r approvals.Request, left []byte) (*File, error) {
	text, err := pretty(r.Call.Tool.Arguments)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(os.Getenv("XDG_RUNTIME_DIR"), "holdgate-edit-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to edit in: %w", err)
	}
	f := &File{Path: filepath.Join(dir, "arguments.json"), before: text}
	if left != nil {
		text = left
	}
	if err := os.WriteFile(f.Path, text, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the arguments: %w", err), f.Remove())
	}
	return f, nil
}

// Command runs an editor on the file. The editor's setting is a command line, as git
// and others take it.
func (f *File) Command(ctx context.Context, editor string) *exec.Cmd {
	return exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, "sh", f.Path)
}

// Remove removes the file and its folder.
func (f *File) Remove() error { return os.RemoveAll(filepath.Dir(f.Path)) }

// A Change is what a person has made of the arguments.
type Change struct {
	// Text is what the editor has left, also where no arguments can be made of it; nil
	// where that is what it was given first.
	Text      []byte
	Arguments jsontext.Value
	Lines     []page.Line // what differs, as a screen shows it

	// What policy says of the changed call, once it was asked: see [Change.Judge].

	Asked   bool          // it was asked
	Refused bool          // it refuses the call, whoever sends it
	Risk    holdgate.Risk // of the call by itself
	Summary string        // what it does; empty: that is not known
	Word    string        // what must be typed in full to send it; empty: a key will do
}

// Shown is the change for a screen: what differs, or the text where nothing can be made
// of it.
func (c Change) Shown() []page.Line {
	if c.Arguments != nil {
		return c.Lines
	}
	lines := []page.Line{{Label: "  ", Text: "what you typed", Style: page.Strong}}
	for _, l := range strings.Split(strings.TrimSuffix(string(c.Text), "\n"), "\n") {
		lines = append(lines, page.Line{Label: "  | ", Text: holdgate.Visible(l)})
	}
	return lines
}

// Read reads what the editor has left.
func (f *File) Read() (Change, error) {
	info, err := os.Stat(f.Path)
	if err == nil && info.Size() > maxArguments {
		err = fmt.Errorf("they have %d bytes, more than %d", info.Size(), maxArguments)
	}
	if err != nil {
		return Change{}, fmt.Errorf("reading what was edited: %w", err)
	}
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return Change{}, err
	}
	c, err := changed(f.before, text)
	if string(text) != string(f.before) {
		c.Text = text
	}
	return c, err
}

// Of is what the text makes of a request's arguments. It is an [*UnusableError] where
// that is not one JSON object, and [ErrSame] where it is the one of the request.
func Of(r approvals.Request, text []byte) (Change, error) {
	before, err := pretty(r.Call.Tool.Arguments)
	if err != nil {
		return Change{}, err
	}
	return changed(before, text)
}

// An UnusableError says why a text is no arguments.
type UnusableError struct{ Why string }

func (e *UnusableError) Error() string { return "the arguments are not usable: " + e.Why }

func changed(before, text []byte) (Change, error) {
	v := jsontext.Value(text).Clone()
	if err := v.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
		return Change{}, &UnusableError{strings.TrimPrefix(err.Error(), "jsontext: ")}
	}
	if v.Kind() != '{' {
		return Change{}, &UnusableError{"they must be one JSON object"}
	}
	after, err := pretty(v)
	if err != nil {
		return Change{}, err
	}
	if string(after) == string(before) {
		return Change{}, ErrSame
	}
	return Change{Arguments: v, Lines: difference(string(before), string(after))}, nil
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
	return lines
}

// Judge asks policy about the request r with the changed arguments, and adds to the lines what
// it says. What sending them takes follows the risk of the changed call. Where policy cannot be
// asked, that is what the call itself takes, and no less than a word. An edit that policy refuses
// is refused when it is sent, too.
func (c *Change) Judge(ctx context.Context, door *client.Client, r approvals.Request) {
	d, err := door.Check(ctx, r.ID, c.Arguments)
	if err != nil {
		c.Risk = record.Graver(r.Risk, holdgate.RiskHigh)
		c.Lines = append(c.Lines, page.Line{}, page.Line{
			Label: "policy     ", Style: page.Alarm,
			Text: "could not be asked now (" + holdgate.Visible(err.Error()) + "); it decides about the edited call before that goes on",
		})
	} else {
		c.Asked, c.Refused = true, d.Action == holdgate.Deny.String()
		c.Risk, c.Summary = d.Risk, holdgate.Visible(d.Summary)
		if c.Lines = append(c.Lines, page.Line{}); c.Summary != "" {
			c.Lines = append(c.Lines, page.Line{Label: "then       ", Text: c.Summary})
		}
		if c.Lines = append(c.Lines, verdict(d)); c.Refused {
			return
		}
	}
	n := host.Notice(r)
	n.Risk, n.Subject = string(c.Risk), cmp.Or(d.Target, n.Subject)
	c.Word = page.Word(n)
}

// verdict is what policy says of an edited call, as a line of a page.
func verdict(d api.Checked) page.Line {
	line := func(text string, s page.Style) page.Line {
		return page.Line{Label: "policy     ", Text: text, Style: s}
	}
	why := holdgate.Visible(strings.Trim(d.Rule+": "+d.Reason, ": "))
	switch d.Action {
	case holdgate.Allow.String():
		return line("lets the edited call pass", page.Plain)
	case holdgate.Hold.String():
		text := "asks about the edited call too"
		if d.Risk != "" {
			text += ", as of " + holdgate.Visible(string(d.Risk)) + " risk"
		}
		if d.Settled {
			text += "; your answer counts for that"
		}
		return line(text+". "+why, page.Plain)
	}
	return line("REFUSES the edited call, whoever approves it. "+why, page.Alarm)
}
