package decide

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// printPage writes a request for a person who is to decide, as every screen
// shows it, and its votes.
func (e *env) printPage(w io.Writer, r approvals.Request, now time.Time) error {
	var b strings.Builder
	width, colour := e.Screen(w)
	b.WriteString(page.Text(page.Of(host.Notice(r), now), width, colour))
	if o := r.Outcome; o != nil && o.Decision == holdgate.AnswerEdit && r.Call.Tool != nil {
		if err := printDiff(&b, "edited", r.Call.Tool.Arguments, o.Arguments); err != nil {
			return err
		}
	}
	for _, v := range r.Votes {
		b.WriteString("\n" + voteLine(v))
	}
	if len(r.Votes) > 0 {
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printWhole writes the page and, where that does not show the call whole, all
// of its arguments.
func (e *env) printWhole(w io.Writer, r approvals.Request, now time.Time) error {
	if err := e.printPage(w, r, now); err != nil || r.Briefing.Whole {
		return err
	}
	return e.printFull(w, r)
}

// printFull writes a call's arguments whole: nothing is cut, and what a screen
// would hide is written out. What policy redacts is not in a request.
func (e *env) printFull(w io.Writer, r approvals.Request) error {
	t := r.Call.Tool
	if t == nil {
		return nil
	}
	text := t.ArgumentsRaw
	if t.Arguments != nil {
		v := jsontext.Value(slices.Clone(t.Arguments))
		if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
			return fmt.Errorf("reading the call's arguments: %w", err)
		}
		text = string(v)
	}
	lines := []page.Line{{}, {Text: "the arguments, whole"}}
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, page.Line{Label: "  | ", Text: holdgate.Visible(line)})
	}
	width, _ := e.Screen(w)
	_, err := io.WriteString(w, page.Text(lines, width, false))
	return err
}

// printAnswers writes the commands that answer a pending request, each with the
// flags in more. Those that let the call go on name the digest that is shown, so
// that they work without a terminal too. Where the page does not show the call whole, seeing it comes
// before approving it.
func printAnswers(w io.Writer, r approvals.Request, whole bool, more string) error {
	var lines []string
	digest := " --digest " + r.Call.Digest.Short()
	switch {
	case !whole && r.Call.Tool == nil: // nothing shows it: approve asks on the terminal
		lines = append(lines, "approve "+r.ID)
	case !whole:
		lines = append(lines, "show "+r.ID+" --full")
	case r.Kind == holdgate.RequestChoice:
		lines = append(lines, "choose "+r.ID+" OPTION"+digest)
	default:
		lines = append(lines, "approve "+r.ID+digest)
	}
	lines = append(lines, "deny "+r.ID+` --reason "..."`)
	if slices.Contains(r.Allow, "steer") {
		lines = append(lines, "steer "+r.ID+` "do this instead"`)
	}
	if slices.Contains(r.Allow, "edit") {
		lines = append(lines, "edit "+r.ID+digest)
	}
	if whole && slices.Contains(r.Allow, "remember") {
		what := record.MatchExact
		switch {
		case r.Call.Kind == holdgate.KindHTTPRequest:
			what = record.MatchEndpoint
		case r.AboutTool:
			what = record.MatchTool
		}
		lines = append(lines, fmt.Sprintf("approve %s%s --remember %s --for 8h", r.ID, digest, what))
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("\nholdgate " + l + more)
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// silence says what happens to the request when nobody answers.
func silence(r approvals.Request) string {
	if r.OnTimeout == holdgate.TimeoutApprove.String() {
		return "it is APPROVED by itself"
	}
	return "it is denied"
}

// approving counts the votes that approve.
func approving(r approvals.Request) int {
	n := 0
	for _, v := range r.Votes {
		if v.Decision == holdgate.AnswerApprove || v.Decision == holdgate.AnswerChoose {
			n++
		}
	}
	return n
}

// voteLine is one vote.
func voteLine(v approvals.Vote) string {
	s := fmt.Sprintf("%s by %s over %s at %s", v.Decision, v.By, v.Channel, v.At.Local().Format(time.DateTime))
	for _, more := range []string{v.Reason, v.Instructions, v.Choice} {
		if more != "" {
			s += ": " + more
		}
	}
	return holdgate.Visible(s)
}
