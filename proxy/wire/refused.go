package wire

import (
	"slices"
	"strings"
)

// Mark begins every notice.
const Mark = "[holdgate] "

// callMark begins every notice that stands for a tool call.
const callMark = Mark + "The call"

// MaxUnknown is how many different lines that begin like the notice of a call,
// and are none, a request may have. Behind them no notice is found: whoever
// guesses notices, which are no secret, has few guesses.
const MaxUnknown = 64

// A Refused is a call in whose place an answer had a notice: what a codec must
// know to put the call back where the agent's later requests repeat the notice.
type Refused struct {
	// Notice is the text that stood in the call's place.
	Notice string `json:"notice"`
	// Call is the call as requests of the format have it in their history.
	Call []byte `json:"call"`
	// ID is the provider's id of the call, and Name that of its tool.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Place is its place among all calls of the answer, from 0.
	Place int `json:"place"`
	// Message is the id of the message in which the notice stood, and Response
	// that of the answer, where the format has such ids.
	Message  string `json:"message,omitempty"`
	Response string `json:"response,omitempty"`
	// Conversation is that in which the provider keeps the call, and waits for
	// its result; "" where it keeps none, or has the result.
	Conversation string `json:"conversation,omitempty"`
	// Owed says of a request that it goes on with that conversation.
	Owed bool `json:"-"`
}

// Refusals finds the notices of refused calls in the texts of one request.
// Nothing but the very bytes of a notice is one, and each is found only once.
// A notice that was given for two different calls is never found: nobody could
// tell which of them it stands for.
type Refusals struct {
	byNotice map[string]*Refused
	start    string          // where notices are looked for: all begin with it
	unknown  map[string]bool // lines that begin like a notice and are none
}

// NewRefusals returns a Refusals of these calls.
func NewRefusals(refused []Refused) *Refusals {
	f := &Refusals{byNotice: make(map[string]*Refused, len(refused)), unknown: make(map[string]bool)}
	for i := range refused {
		r := &refused[i]
		if r.Notice == "" {
			continue
		}
		if old, twice := f.byNotice[r.Notice]; twice && (old == nil || string(old.Call) != string(r.Call)) {
			r = nil
		}
		f.byNotice[refused[i].Notice] = r
	}
	first := true
	for notice := range f.byNotice {
		if first {
			f.start, first = notice, false
		}
		for !strings.HasPrefix(notice, f.start) {
			f.start = f.start[:len(f.start)-1]
		}
	}
	if strings.HasPrefix(f.start, callMark) {
		f.start = callMark // guesses, too
	}
	return f
}

// A Passage is a run of a text, or the call whose notice stood there.
type Passage struct {
	Text    string
	Refused *Refused
}

// Split cuts a text into passages: its notices, and what stands between them
// without the line ends that set a notice apart. A notice counts where it
// begins the text or a line and ends the text or a line. Where there is none
// the result is nil. What was found is found no more, unless [Refusals.Restore]
// gives it back.
func (f *Refusals) Split(text string) []Passage {
	var out []Passage
	from := 0 // what is before has been taken
	for at := 0; len(f.byNotice) > 0 && len(f.unknown) < MaxUnknown; {
		i := strings.Index(text[at:], f.start)
		if i < 0 {
			break
		}
		at += i
		r := f.at(text, at)
		if r == nil {
			f.note(text, at)
			at += max(1, len(f.start))
			if at >= len(text) {
				break
			}
			continue
		}
		delete(f.byNotice, r.Notice)
		before := trimEnd(text[from:at])
		if from > 0 {
			before = trimStart(before)
		}
		if strings.Trim(before, "\n") != "" {
			out = append(out, Passage{Text: before})
		}
		out = append(out, Passage{Refused: r})
		at += len(r.Notice)
		from = at
	}
	if out == nil {
		return nil
	}
	if after := trimStart(text[from:]); strings.Trim(after, "\n") != "" {
		out = append(out, Passage{Text: after})
	}
	return out
}

// at returns the call whose notice stands at a place of a text.
func (f *Refusals) at(text string, at int) (found *Refused) {
	if at > 0 && text[at-1] != '\n' {
		return nil
	}
	for notice, r := range f.byNotice {
		rest, ok := strings.CutPrefix(text[at:], notice)
		if ok && r != nil && (rest == "" || rest[0] == '\n') && (found == nil || len(found.Notice) < len(notice)) {
			found = r
		}
	}
	return found
}

// note counts a line that looks like a notice.
func (f *Refusals) note(text string, at int) {
	if line := text[at:]; strings.HasPrefix(line, callMark) && (at == 0 || text[at-1] == '\n') {
		line, _, _ = strings.Cut(line, "\n")
		f.unknown[line] = true
	}
}

// Restore gives back what was found and could not be put to use.
func (f *Refusals) Restore(passages []Passage) {
	for _, p := range passages {
		if p.Refused != nil {
			f.byNotice[p.Refused.Notice] = p.Refused
		}
	}
}

// trimEnd takes the line ends away that separate a text from a notice behind
// it: two at most, for others are the text's own.
func trimEnd(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\n") }

func trimStart(s string) string { return strings.TrimPrefix(strings.TrimPrefix(s, "\n"), "\n") }

// Calls returns the calls of passages in their place among all calls of their
// answer.
func Calls(passages []Passage) []*Refused {
	var out []*Refused
	for _, p := range passages {
		if p.Refused != nil {
			out = append(out, p.Refused)
		}
	}
	slices.SortStableFunc(out, func(a, b *Refused) int { return a.Place - b.Place })
	return out
}
