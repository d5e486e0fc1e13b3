package launch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/draft"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// A question shows a request, screen by screen, and makes an answer of the
// lines that a person types. It does no I/O.
type question struct {
	r       approvals.Request
	page    []page.Line // of the request
	colour  bool
	waiting int  // how many more wait behind it
	pages   bool // it can be shown in a browser

	screens [][]page.Line // of the page
	need    int           // how many of them must be shown before the call is approved
	at      int           // the screen that is shown
	seen    int           // how many were shown
	all     bool          // the person wants long parts of the call whole
	folded  bool          // some are not, and nothing is approved
	terse   bool          // the terminal is small: what stands below the page is short
	cramped bool          // it is too small for any of the page, and nothing is approved

	change *draft.Change       // what the person has made of the arguments; nil: nothing
	left   *draft.Change       // what their editor has left last and was not sent; nil: nothing
	gone   string              // how the request ended before that was sent; empty: it has not
	leaves time.Time           // when the screen that says so goes by itself
	keep   *approvals.Remember // what is to stand from now on; nil: nothing

	rows int // of the terminal
	cols int
	step step
	note string // about the last line; empty: nothing
}

// step is what the next line is.
type step int

const (
	stepAnswer step = iota
	stepReason      // of a denial
	stepSteer       // the instructions
)

// An answer is what a person typed.
type answer struct {
	decision api.Decision
	later    bool // nothing is decided
	page     bool // the person wants to see it in a browser
	edit     bool // or to change its arguments
	relay    bool // what is shown is another page now
}

// How to read on.
const (
	talkNext  = "-- screen %d of %d: Enter shows the next, and approving comes after --"
	talkMore  = "-- screen %d of %d: Enter shows more, b the one before --"
	talkTerse = "-- %d/%d: Enter --"
	talkAll   = "-- this is all of the question: Enter shows what was before it, and names --"
)

// head is the first line of what the terminal shows. Where silence approves, it has
// the time that is left.
func (q *question) head(now time.Time) string {
	var b strings.Builder
	b.WriteString("HOLDGATE ASKS")
	if q.byItself() {
		fmt.Fprintf(&b, " - APPROVED by itself in %s", max(q.r.ExpiresAt.Sub(now), 0).Round(time.Second))
	}
	if q.r.Agent.Confinement == unconfined {
		b.WriteString(" - the agent is UNCONFINED")
	}
	if q.waiting > 0 {
		fmt.Fprintf(&b, " (%s)", page.MoreWait(q.waiting))
	}
	return b.String()[:min(b.Len(), max(q.cols-1, minCols-1))]
}

// tick is the line of the screen that says how much time is left, as it is now, and its
// row, from 1; the row is 0 where the line is not shown or has not changed.
func (q *question) tick(now time.Time) (row int, line string) {
	shown := q.screens[q.at]
	shown = shown[:min(len(shown), max(q.rows-1-len(q.below()), 0))]
	i := slices.IndexFunc(shown, page.Line.Left)
	if i < 0 {
		return 0, ""
	}
	of := page.Of(host.Notice(q.r), now)
	was, is := slices.IndexFunc(q.page, page.Line.Left), slices.IndexFunc(of, page.Line.Left)
	if is < 0 || of[is].Text == shown[i].Text {
		return 0, ""
	}
	if len(page.Wrap(q.page[was:was+1], q.cols-1)) > 1 || len(page.Wrap(of[is:is+1], q.cols-1)) > 1 {
		return 0, "" // it is wider than the terminal
	}
	shown[i] = of[is]
	return i + 2, of[is].String(q.colour)
}

// byItself reports whether silence approves the request, unless somebody looks at it
// (a claim).
func (q *question) byItself() bool {
	return q.r.OnTimeout == holdgate.TimeoutApprove.String() && q.r.Claim == nil
}

// text is what the terminal shows. Seeing it counts where all lines of the screen are
// there. A note of several lines stands for the last of them.
func (q *question) text() string {
	var b strings.Builder
	b.WriteString(q.head(time.Now()) + "\n")
	lines, before := q.screens[q.at], q.seen
	q.seen = max(q.seen, q.at+1)
	below := q.below()
	if len(lines) > q.rows-1-len(below) && before < q.seen {
		q.seen = before
		below = q.below()
	}
	for _, l := range lines[:min(len(lines), max(q.rows-1-len(below), 0))] {
		b.WriteString(l.String(q.colour) + "\n")
	}
	b.WriteString(strings.Join(below, "\n"))
	return b.String()
}

// below is what stands below the page.
func (q *question) below() []string { return append(q.wrapped(q.talk()), q.wrapped(q.prompt())...) }

// wrapped is a text in lines as wide as the terminal, one at least. The blank at the
// end of a prompt stays.
func (q *question) wrapped(text string) (lines []string) {
	for _, l := range page.Wrap([]page.Line{{Text: text}}, q.cols-1) {
		lines = append(lines, l.Text)
	}
	return lines
}

// talk is the line between the page and the prompt: what became of the last line that
// was typed, else how to read on.
func (q *question) talk() string {
	n := len(q.screens)
	switch {
	case q.note != "":
		return q.note
	case q.cramped:
		return tooSmall
	case n == 1:
		return ""
	case q.terse:
		return fmt.Sprintf(talkTerse, q.at+1, n)
	case q.seen < q.need:
		return fmt.Sprintf(talkNext, q.at+1, q.need)
	case q.at+1 == q.need && q.need < n:
		return talkAll
	}
	return fmt.Sprintf(talkMore, q.at+1, n)
}

// tooSmall is what a question says where the terminal has no room for the call.
const tooSmall = "this terminal is too small to show the call: make it larger"

// prompt says what to type.
func (q *question) prompt() string {
	switch q.step {
	case stepReason:
		return "why (Enter for no reason): "
	case stepSteer:
		return "what to do instead (Enter to go back): "
	case stepAnswer:
	}
	if q.gone != "" {
		return "Enter goes on: "
	}
	var words []string
	switch {
	case !q.r.Briefing.Whole:
	case !q.whole():
	case q.r.Kind == holdgate.RequestChoice:
		words = append(words, "[c]hoose OPTION")
	case q.word() == "":
		words = append(words, "[a]pprove")
	default:
		words = append(words, q.word()+inFull)
	}
	if q.change != nil {
		words = append(words, "[e]dit again")
	}
	if q.change != nil || q.keep != nil {
		return q.choice(append(words, "[u]ndo it and go back"))
	}
	words = append(words, "[d]eny")
	if q.steers() {
		words = append(words, "[s]teer")
	}
	if q.folded {
		words = append(words, "[m]ore")
	}
	if q.r.Briefing.Whole && q.whole() {
		if draft.Editable(q.r) == "" {
			words = append(words, "[e]dit")
		}
		if q.keeps() {
			words = append(words, "al[w]ays")
		}
	}
	if q.pages {
		words = append(words, "[p]age")
	}
	return q.choice(append(words, "[l]ater"))
}

// inFull stands behind a word that is no key.
const inFull = " (typed in full)"

// choice is the prompt for one of the words.
func (q *question) choice(words []string) string {
	if !q.terse {
		return strings.Join(words, "  ") + ", then Enter: "
	}
	for i, w := range words {
		word, typed := strings.CutSuffix(w, inFull)
		if !typed {
			_, word, _ = strings.Cut(w, "[")
			word, _, _ = strings.Cut(word, "]")
		}
		words[i] = word
	}
	return strings.Join(words, ", ") + ": "
}

// whole reports whether all of the page was shown that an answer is about.
func (q *question) whole() bool { return q.seen >= q.need && !q.folded && !q.cramped }

func (q *question) steers() bool { return q.allows("steer") }

// allows reports whether policy lets the request be answered so.
func (q *question) allows(way string) bool { return slices.Contains(q.r.Allow, way) }

// word is what must be typed in full to approve, or to send what the person has made of the
// arguments; empty where "a" will do.
func (q *question) word() string {
	if q.change != nil {
		return q.change.Word
	}
	return host.Word(q.r)
}

// enter takes a line. It returns an answer, or false where the question goes on.
func (q *question) enter(line string) (answer, bool) {
	line = strings.TrimSpace(line)
	q.note = ""
	if q.gone != "" && (line != "" || q.at+1 == len(q.screens)) {
		return answer{later: true}, true
	}
	switch q.step {
	case stepReason:
		return q.decide(api.Decision{Decision: holdgate.AnswerDeny, Reason: line})
	case stepSteer:
		q.step = stepAnswer
		if line == "" {
			return answer{}, false
		}
		return q.decide(api.Decision{Decision: holdgate.AnswerSteer, Instructions: line})
	case stepAnswer:
	}
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "":
		if q.at < q.seen { // else a note stood for a part of it
			q.at = min(q.at+1, len(q.screens)-1)
		}
	case "b", "back":
		q.at = max(q.at-1, 0)
	case "p", "page":
		if q.pages {
			return answer{page: true}, true
		}
		q.note = "there is no page to show it on"
	case "m", "more":
		if q.all = true; q.folded {
			return answer{relay: true}, true
		}
		q.note = "all of it is shown"
	case "e", "edit":
		return q.edit()
	case "w", "always":
		return q.always()
	case "u", "undo":
		q.change, q.left, q.keep = nil, nil, nil
		return answer{relay: true}, true
	case interrupted:
		q.note = "Ctrl-C decides nothing here: d denies, l asks again in a minute; the agent gets Ctrl-C after that"
	case "l", "later":
		return answer{later: true}, true
	case "d", "deny":
		if rest != "" {
			return q.decide(api.Decision{Decision: holdgate.AnswerDeny, Reason: rest})
		}
		q.step = stepReason
	case "s", "steer":
		return q.steer(rest)
	case "a", "approve":
		return q.approve(line)
	case "c", "choose":
		return q.choose(rest)
	default:
		q.note = fmt.Sprintf("%s is no answer", quoted(word))
	}
	return answer{}, false
}

// interrupted is the line that Ctrl-C makes.
const interrupted = "\x03"

// notYet says why a call is not approved that was not shown to its end.
func (q *question) notYet() string {
	switch {
	case q.cramped:
		return tooSmall + ", or use another terminal: holdgate show " + q.r.ID
	case q.folded:
		return "not all of the call was shown yet: m shows all of it"
	}
	return "not all of the call was shown yet: press Enter for the rest"
}

// edit has the arguments changed.
func (q *question) edit() (answer, bool) {
	switch why := draft.Editable(q.r); {
	case why != "":
		q.note = "not edited: " + why
	case !q.r.Briefing.Whole:
		q.note = q.elsewhere()
	case q.change == nil && !q.whole():
		q.note = q.notYet()
	default:
		return answer{edit: true}, true
	}
	return answer{}, false
}

func (q *question) steer(instructions string) (answer, bool) {
	switch {
	case !q.steers():
		q.note = "this call can be approved or denied, not steered"
		return answer{}, false
	case instructions == "":
		q.step = stepSteer
		return answer{}, false
	}
	return q.decide(api.Decision{Decision: holdgate.AnswerSteer, Instructions: instructions})
}

func (q *question) approve(line string) (answer, bool) {
	word := q.word()
	switch {
	case q.r.Kind == holdgate.RequestChoice:
		q.note = "this call needs one of its options: c OPTION"
	case !q.r.Briefing.Whole:
		q.note = q.elsewhere()
	case !q.whole():
		q.note = q.notYet()
	case word != "" && line != word:
		q.note = fmt.Sprintf("nothing was decided; to approve this call type %s in full", quoted(word))
	case line != "a" && line != "approve" && line != word:
		q.note = "to approve, type a or approve alone; nothing was decided"
	default:
		return q.decide(q.release())
	}
	return answer{}, false
}

func (q *question) choose(option string) (answer, bool) {
	i := slices.IndexFunc(q.r.Options, func(o holdgate.Option) bool { return o.ID == option })
	switch {
	case i < 0 && q.r.Kind == holdgate.RequestChoice:
		q.note = fmt.Sprintf("%s is none of the options", quoted(option))
	case i < 0:
		q.note = "this call has no options"
	case !q.r.Briefing.Whole:
		q.note = q.elsewhere()
	case !q.whole():
		q.note = q.notYet()
	default:
		return q.decide(api.Decision{Decision: holdgate.AnswerChoose, Choice: option})
	}
	return answer{}, false
}

// elsewhere says how to approve a call that the page cannot show whole.
func (q *question) elsewhere() string {
	return "nothing was decided; this page cannot show the call whole. In another terminal: holdgate show " + q.r.ID + " --full"
}

// decide completes a decision by what it is about.
func (q *question) decide(d api.Decision) (answer, bool) {
	q.step = stepAnswer
	d.Digest = q.r.Call.Digest
	return answer{decision: d}, true
}

// changed takes the request as it stands now, and reports whether what is
// shown must be shown anew.
func (q *question) changed(now approvals.Request) bool {
	same := len(now.Votes) == len(q.r.Votes) && now.Call.Digest == q.r.Call.Digest && now.Status == q.r.Status
	q.r = now
	if !same { // what was made of it was of another
		q.change, q.keep = nil, nil
	}
	return !same
}

// quoted is what a person typed, so that it can be shown.
func quoted(s string) string { return `"` + holdgate.Visible(s) + `"` }

// minShown is how long after each change of what a question shows nothing is
// taken that is typed.
const minShown = 700 * time.Millisecond
