package facts

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/collect"
)

const (
	// maxBraces is how many words one brace expansion may make.
	maxBraces = 64
	// maxNestedBraces is how many braces one word may open: taking them apart
	// costs more than their square.
	maxNestedBraces = 32
)

// A field is one word of a command, after expansion and quote removal.
type field struct {
	text    string
	dynamic []string // its parts that are known at run time only, as written
	origin  origin   // where these come from: the weakest
	bare    bool     // one of them stands unquoted, so that the shell splits it
	runs    bool     // the shell may run commands that stand in a value of one of them
	array   bool     // an assignment of several values, as written
	glob    bool     // an unquoted *, ? or [ stands in it
	stdin   bool     // stands for words that come from standard input, of the origin
	within  bool     // it stands for files inside of the session's folder that are neither secret nor run later
}

func (f field) known() bool { return len(f.dynamic) == 0 && !f.stdin }

// fields expands words as the shell does: braces, parameters, splitting.
func (s *shell) fields(words []*syntax.Word) []field {
	var out []field
	for _, w := range words {
		s.x.Tick()
		// Function bodies and loops are walked again, so the tree stays as it is.
		split := &syntax.Word{Parts: slices.Clone(w.Parts)}
		if openBraces(w) > maxNestedBraces {
			out = append(out, s.unexpanded(w))
			continue
		}
		if syntax.SplitBraces(split) {
			if braceCount(split.Parts) > maxBraces {
				f := s.unexpanded(w)
				if numbers(split) {
					f.origin = originAtom
				}
				out = append(out, f)
				continue
			}
			for _, b := range expand.Braces(split) {
				out = append(out, s.split(b)...)
			}
			continue
		}
		out = append(out, s.split(w)...)
	}
	return out
}

// unexpanded is a word that is too costly to expand: it stays as written.
func (s *shell) unexpanded(w *syntax.Word) field {
	s.nested(w)
	text := s.written(w)
	return field{text: text, dynamic: []string{text}}
}

// numbers reports whether a word is a sequence of numbers, as {1..1000} is.
func numbers(w *syntax.Word) bool {
	b, ok := w.Parts[0].(*syntax.BraceExp)
	for _, p := range w.Parts[1:] {
		l, empty := p.(*syntax.Lit)
		ok = ok && empty && l.Value == ""
	}
	return ok && b.Sequence && !slices.ContainsFunc(b.Elems, func(e *syntax.Word) bool {
		return e.Lit() == "" || strings.Trim(e.Lit(), "0123456789") != ""
	})
}

func openBraces(w *syntax.Word) int {
	n := 0
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			n += strings.Count(l.Value, "{")
		}
	}
	return n
}

// braceCount is how many words the braces make, or more than maxBraces.
func braceCount(parts []syntax.WordPart) int {
	n := 1
	for _, p := range parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		m := 0
		if b.Sequence {
			m = sequenceCount(b)
		} else {
			for _, e := range b.Elems {
				m += braceCount(e.Parts)
			}
		}
		if n *= m; n > maxBraces || m > maxBraces {
			return maxBraces + 1
		}
	}
	return n
}

func sequenceCount(b *syntax.BraceExp) int {
	from, err1 := strconv.Atoi(b.Elems[0].Lit())
	to, err2 := strconv.Atoi(b.Elems[1].Lit())
	if err1 != nil || err2 != nil {
		return 52 // letters
	}
	if d := to - from; d > maxBraces || d < -maxBraces {
		return maxBraces + 1
	}
	return max(to-from, from-to) + 1
}

// written is a node as it stands in the source.
func (s *shell) written(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(s.src) || from >= to {
		return "$?"
	}
	return s.src[from:to]
}

// A wordBuilder puts fields together out of a word's parts.
type wordBuilder struct {
	x       *collect.Findings
	out     []field
	text    strings.Builder // of cur
	cur     field
	started bool // cur holds something, if only an empty pair of quotes
}

func (b *wordBuilder) add(text string) {
	b.x.Grown(b.text.Len(), len(text))
	b.text.WriteString(text)
	b.started = true
}

func (b *wordBuilder) dynamic(text string, o origin, q quoting) {
	b.add(text)
	if len(b.cur.dynamic) == 0 || o < b.cur.origin {
		b.cur.origin = o
	}
	b.cur.dynamic = append(b.cur.dynamic, text)
	b.cur.bare = b.cur.bare || q.splits
}

func (b *wordBuilder) end() {
	b.x.Tick()
	if b.started {
		b.cur.text = b.text.String()
		b.cur.within = b.cur.within && b.cur.endsName()
		b.out = append(b.out, b.cur)
	}
	b.text.Reset()
	b.cur, b.started = field{}, false
}

// endsName reports whether a word that begins with the name of a file is that name,
// or the name with another end.
func (f field) endsName() bool {
	if len(f.dynamic) != 1 {
		return false
	}
	end := strings.TrimPrefix(f.text, f.dynamic[0])
	return end == "" || end[0] == '.' && strings.Trim(strings.ToLower(end), ".abcdefghijklmnopqrstuvwxyz0123456789") == "" && !strings.Contains(end, "..")
}

// split expands one word into fields, split where unquoted expansions say so.
func (s *shell) split(w *syntax.Word) []field {
	b := &wordBuilder{x: s.x}
	s.parts(b, w.Parts, quoting{splits: true})
	b.end()
	return b.out
}

// one expands a word into one field, as assignments, redirections and
// here-documents do.
func (s *shell) one(w *syntax.Word, q quoting) field {
	if w == nil {
		return field{}
	}
	b := &wordBuilder{x: s.x}
	s.parts(b, w.Parts, q)
	b.end()
	if len(b.out) == 0 {
		return field{}
	}
	return b.out[0]
}

// quoting is how a part of a word is read.
type quoting struct {
	double  bool // inside of double quotes
	heredoc bool // in a here-document's body: backslashes as in double quotes, quotes mean nothing
	raw     bool // in a here-document whose delimiter was quoted
	splits  bool // unquoted expansions are split into fields
}

func (s *shell) part(b *wordBuilder, p syntax.WordPart, q quoting) {
	s.x.Tick()
	switch p := p.(type) {
	case *syntax.Lit:
		s.literal(b, p.Value, q)
	case *syntax.SglQuoted:
		if p.Dollar {
			b.add(ansiC(p.Value))
		} else {
			b.add(p.Value)
		}
	case *syntax.DblQuoted:
		b.started = true
		s.parts(b, p.Parts, quoting{double: true})
	case *syntax.ParamExp:
		s.parameter(b, p, q)
	case *syntax.ExtGlob:
		b.add(s.written(p))
		b.cur.glob = true
	case *syntax.CmdSubst:
		s.substitution(b, p, q)
	case *syntax.ArithmExp:
		runs := !s.quiet && s.evaluates(p)
		s.nested(p)
		b.dynamic(s.written(p), originAtom, q)
		b.cur.runs = b.cur.runs || runs
	default: // substitutions of processes: what they run is listed
		s.nested(p)
		b.dynamic(s.written(p), originNames, q)
	}
}

// substitution expands $(...) where the line itself tells what it prints.
func (s *shell) substitution(b *wordBuilder, c *syntax.CmdSubst, q quoting) {
	s.nested(c)
	text, known, o := s.substituted(c)
	switch {
	case !known:
		first := b.text.Len() == 0 && len(b.cur.dynamic) == 0
		b.dynamic(s.written(c), o, q)
		b.cur.within = first && s.filesWithin(c)
	case q.splits && !s.zsh:
		s.splitValues(b, []string{text})
	case q.splits: // zsh splits what a command prints, at blanks
		b.whole(blankFields(text))
	default:
		b.add(text)
	}
}

func (s *shell) literal(b *wordBuilder, v string, q quoting) {
	switch {
	case q.raw:
		b.add(v)
	case q.double, q.heredoc:
		b.add(unescapeDouble(v, q.heredoc))
	default:
		text, glob := unescape(v)
		b.add(text)
		b.cur.glob = b.cur.glob || glob
	}
}

// unescape takes the backslashes out of unquoted text, and reports whether a
// pattern character stands there unescaped.
func unescape(v string) (text string, glob bool) {
	if !strings.ContainsAny(v, `\*?[`) {
		return v, false
	}
	var sb strings.Builder
	for i := 0; i < len(v); i++ {
		switch c := v[i]; c {
		case '\\':
			if i++; i < len(v) && v[i] != '\n' {
				sb.WriteByte(v[i])
			}
		case '*', '?', '[':
			// A lone bracket is the test command, not a pattern.
			glob = glob || c != '[' || strings.Contains(v[i:], "]")
			sb.WriteByte(c)
		default:
			sb.WriteByte(c)
		}
	}
	return sb.String(), glob
}

// unescapeDouble takes out the backslashes that mean something in double
// quotes, or in a here-document, where they do not escape a quote.
func unescapeDouble(v string, heredoc bool) string {
	if !strings.Contains(v, `\`) {
		return v
	}
	special := "$`\\\""
	if heredoc {
		special = "$`\\"
	}
	var sb strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] == '\\' && i+1 < len(v) {
			if v[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte(special, v[i+1]) >= 0 {
				i++
			}
		}
		sb.WriteByte(v[i])
	}
	return sb.String()
}

// ansiC decodes the escapes of $'...' (bash manual, ANSI-C Quoting).
func ansiC(v string) string {
	var sb strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 == len(v) {
			sb.WriteByte(v[i])
			continue
		}
		i++
		switch c := v[i]; {
		case c == '\'' || c == '"' || c == '?':
			sb.WriteByte(c)
		case c == 'c' && i+1 < len(v):
			i++
			sb.WriteByte(v[i] & 0x1f)
		case c == 'u' || c == 'U' || c == 'x':
			n := map[byte]int{'u': 4, 'U': 8, 'x': 2}[c]
			j := i + 1
			for j < len(v) && j-i <= n && strings.IndexByte("0123456789abcdefABCDEF", v[j]) >= 0 {
				j++
			}
			code, err := strconv.ParseUint(v[i+1:j], 16, 32)
			switch {
			case err != nil:
				sb.WriteString(v[i-1 : j])
			case c == 'x':
				sb.WriteByte(byte(code))
			default:
				sb.WriteRune(rune(code))
			}
			i = j - 1
		case c >= '0' && c <= '7':
			j := i
			for j < len(v) && j-i < 3 && v[j] >= '0' && v[j] <= '7' {
				j++
			}
			code, _ := strconv.ParseUint(v[i:j], 8, 32)
			sb.WriteByte(byte(code))
			i = j - 1
		case strings.IndexByte(`abefnrtv\E`, c) >= 0:
			sb.WriteByte("\a\b\x1b\f\n\r\t\v\\\x1b"[strings.IndexByte(`abefnrtv\E`, c)])
		default:
			sb.WriteByte('\\')
			sb.WriteByte(c)
		}
	}
	return sb.String()
}
