package briefing

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// why says what made policy ask: its rules, then what is remarkable in the
// facts.
func (b *briefer) why(d holdgate.Decision) {
	reason := d.Reason
	if m := d.Hold.Message; reason != "" && strings.HasPrefix(m, reason) && !strings.Contains(m, "\n") {
		reason = m // the same sentence, and what it is about
	}
	b.because(joined(ruled(d.Rule), b.untold(reason)))
	for _, f := range d.Also {
		b.because("also asked by " + joined(ruled(f.Rule), b.untold(f.Reason)))
	}
	if d.Facts != nil {
		b.count(d.Facts)
	}
	f := b.facts
	if f == nil {
		b.unknown(b.b.Counts.Unresolved, b.b.Counts.Unbound, "", "")
		return
	}
	b.unknowns(f)
	for _, p := range f.Paths {
		b.path(p)
	}
	for _, s := range f.Secrets {
		b.because(fmt.Sprintf("what looks like a credential (%s) is in %s", s.Kind, s.Pointer))
	}
	for _, s := range f.SQL {
		if !s.Where && (s.Verb == "delete" || s.Verb == "update") {
			b.because("no WHERE limits the " + s.Verb + " of " + strings.Join(s.Tables, ", "))
		}
	}
	if hosts := b.hosts(); len(hosts) > 0 {
		b.because("names " + counted(len(hosts), "host") + ": " + strings.Join(hosts, ", "))
	}
	for _, e := range f.ParseErrors {
		b.because("could not be read: " + e)
	}
}

// about begins what the pack's reasons name.
const about = " It would touch: "

// untold is a reason of the pack's without the commands that it names, where the
// call has so few that a reader has just seen them.
func (b *briefer) untold(reason string) string {
	const few = 3
	what, names, ok := strings.Cut(reason, about)
	if !ok || b.facts == nil || len(b.facts.Commands) > few {
		return reason
	}
	left := slices.DeleteFunc(strings.Split(names, "; "), func(name string) bool {
		return slices.ContainsFunc(b.facts.Commands, func(c holdgate.Command) bool { return name == strings.Join(c.Argv, " ") })
	})
	if len(left) == 0 {
		return what
	}
	return what + about + strings.Join(left, "; ")
}

// count takes from the facts what names no part of the call, and so says
// nothing that policy hides.
func (b *briefer) count(f *holdgate.Facts) {
	for _, c := range f.Commands {
		b.b.Counts.Unresolved += len(c.Unresolved)
		b.b.Counts.Unbound += len(c.Unbound)
	}
	if len(f.SuspiciousText) > 0 {
		b.b.Whole = false
		b.because("characters that deceive the eye: " + strings.Join(f.SuspiciousText, ", "))
	}
}

// unknowns adds what is known only once the call runs.
func (b *briefer) unknowns(f *holdgate.Facts) {
	var words, files []string
	for _, c := range f.Commands {
		for _, w := range c.Unresolved {
			if w = brief(w); w == "stdin" {
				w = "what it is given to read (stdin)"
			}
			words = append(words, w)
		}
		files = append(files, c.Unbound...)
	}
	b.unknown(len(words), len(files), ": "+listing(words), ": "+listing(files))
}

// unknown says how many words and files are not known, and which.
func (b *briefer) unknown(words, files int, which, whose string) {
	if words > 0 {
		b.because(verb(words, "part of it is", "parts of it are") + " not known before it runs" + which)
	}
	if files > 0 {
		b.because("runs " + verb(files, "file", "files") + " whose content nobody was shown" + whose)
	}
}

// brief is a word of a command that names what is not known; of a program, which is
// shown elsewhere, how long it is, unless the word was cut.
func brief(word string) string {
	if strings.Contains(word, "\n") && strings.HasSuffix(word, "...") {
		return "a program"
	}
	if n := strings.Count(strings.TrimRight(word, "\n"), "\n"); n > 0 {
		return fmt.Sprintf("a program of %d lines", n+1)
	}
	return word
}

// path adds a path that is a reason to look twice.
func (b *briefer) path(p holdgate.Path) {
	what := map[string]string{"read": "reads ", "write": "writes ", "delete": "deletes "}[p.Access]
	switch {
	case p.Class != "":
		b.because(what + b.place(p) + ": " + map[string]string{
			"secret": "it holds secrets", "persistence": "what is there runs later by itself", "system": "it belongs to the system",
		}[p.Class])
	case !p.Inside && p.Access != "read" && b.facts.Dir != "":
		b.because(what + b.place(p) + ": outside the session's folder " + b.facts.Dir)
	}
}

// because adds a reason, once.
func (b *briefer) because(s string) {
	s = holdgate.Visible(strings.Join(strings.Fields(s), " "))
	head, tail := cut(s, maxLine, headLine, tailLine)
	if tail != "" {
		s = head + " … " + tail
	}
	switch {
	case s == "" || slices.Contains(b.b.Why, s):
	case len(b.b.Why) < maxWhy:
		b.b.Why = append(b.b.Why, s)
	case len(b.b.Why) == maxWhy:
		b.b.Why = append(b.b.Why, "and more")
	}
}

func ruled(rule string) string {
	if rule == "" {
		return ""
	}
	return rule + ":"
}

// place is a path as a person reads it: from the session's folder where it
// lies inside, else from the root.
func (b *briefer) place(p holdgate.Path) string {
	if rel, err := filepath.Rel(b.facts.Dir, p.Clean); err == nil && p.Inside && b.facts.Dir != "" && filepath.IsAbs(p.Clean) {
		return dotted(rel)
	}
	return dotted(p.Clean)
}

// dotted marks a path that begins where the call does.
func dotted(p string) string {
	if p == "" || p == "." || strings.ContainsAny(p[:1], "/~.$") {
		return p
	}
	return "./" + p
}

// absolute is the path that the facts have for one that the call names.
func (b *briefer) absolute(path string) string {
	if b.facts != nil {
		for _, p := range b.facts.Paths {
			if p.Path == path && p.Clean != path {
				return p.Clean + " (written as " + path + ")"
			}
		}
	}
	return path
}

// hosts are those that the call names and its worst effect does not.
func (b *briefer) hosts() (hosts []string) {
	for _, u := range b.facts.URLs {
		told := len(b.facts.Effects) > 0 && strings.Contains(b.facts.Effects[0].Says, u.Host)
		if u.Host != "" && !told && !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
	}
	return hosts
}

// listing shows some of the words, and how many more there are.
func listing(words []string) string {
	const most = 6
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(words[:most], ", "), len(words)-most)
}

func counted(n int, noun string) string { return verb(n, noun, noun+"s") }

// verb is "1 word is" or "2 words are".
func verb(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
