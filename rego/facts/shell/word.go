package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/grammar"
)

// fields expands words as the shell does: braces, parameters, splitting.
func (s *Shell) fields(words []*syntax.Word) []argv.Field {
	var out []argv.Field
	for _, w := range words {
		s.Found.Tick()
		// Function bodies and loops are walked again, so the tree stays as it is.
		split := &syntax.Word{Parts: slices.Clone(w.Parts)}
		if openBraces(w) > grammar.MaxNestedBraces {
			out = append(out, s.unexpanded(w))
			continue
		}
		if syntax.SplitBraces(split) {
			if braceCount(split.Parts) > grammar.MaxBraces {
				f := s.unexpanded(w)
				if numbers(split) {
					f.Origin = argv.OriginAtom
				}
				out = append(out, f)
				continue
			}
			for b, err := range expand.BracesSeq(nil, split) {
				if err != nil { // not within the bound above
					out = append(out, s.unexpanded(w))
					break
				}
				out = append(out, s.split(b)...)
			}
			continue
		}
		out = append(out, s.split(w)...)
	}
	return out
}

// unexpanded is a word that is too costly to expand: it stays as written.
func (s *Shell) unexpanded(w *syntax.Word) argv.Field {
	s.nested(w)
	text := s.written(w)
	return argv.Field{Text: text, Dynamic: []string{text}}
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
		if n *= m; n > grammar.MaxBraces || m > grammar.MaxBraces {
			return grammar.MaxBraces + 1
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
	if d := to - from; d > grammar.MaxBraces || d < -grammar.MaxBraces {
		return grammar.MaxBraces + 1
	}
	return max(to-from, from-to) + 1
}

// written is a node as it stands in the source.
func (s *Shell) written(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(s.Src) || from >= to {
		return "$?"
	}
	return s.Src[from:to]
}

// A wordBuilder puts fields together out of a word's parts.
type wordBuilder struct {
	x       *collect.Findings
	out     []argv.Field
	text    strings.Builder // of cur
	cur     argv.Field
	started bool // cur holds something, if only an empty pair of quotes
}

func (b *wordBuilder) add(text string) {
	b.x.Grown(b.text.Len(), len(text))
	b.text.WriteString(text)
	b.started = true
}

func (b *wordBuilder) dynamic(text string, o argv.Origin, part bool, q quoting) {
	b.add(text)
	first := len(b.cur.Dynamic) == 0
	if first || o < b.cur.Origin {
		b.cur.Origin = o
	}
	b.cur.Part = (first || b.cur.Part) && (part || o >= argv.OriginAtom)
	b.cur.Dynamic = append(b.cur.Dynamic, text)
	b.cur.Bare = b.cur.Bare || q.splits
}

func (b *wordBuilder) end() {
	b.x.Tick()
	if b.started {
		b.cur.Text = b.text.String()
		b.cur.Within = b.cur.Within && b.cur.EndsName()
		b.cur.Folder = b.cur.Folder && len(b.cur.Dynamic) == 1 && b.cur.Text == b.cur.Dynamic[0]
		b.cur.Process = b.cur.Process && len(b.cur.Dynamic) == 1 && b.cur.Text == b.cur.Dynamic[0]
		b.out = append(b.out, b.cur)
	}
	b.text.Reset()
	b.cur, b.started = argv.Field{}, false
}

// split expands one word into fields, split where unquoted expansions say so.
func (s *Shell) split(w *syntax.Word) []argv.Field {
	b := &wordBuilder{x: s.Found}
	s.parts(b, w.Parts, quoting{splits: true})
	b.end()
	return b.out
}

// one expands a word into one field, as assignments, redirections and
// here-documents do.
func (s *Shell) one(w *syntax.Word, q quoting) argv.Field {
	if w == nil {
		return argv.Field{}
	}
	b := &wordBuilder{x: s.Found}
	s.parts(b, w.Parts, q)
	b.end()
	if len(b.out) == 0 {
		return argv.Field{}
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

func (s *Shell) part(b *wordBuilder, p syntax.WordPart, q quoting) {
	s.Found.Tick()
	switch p := p.(type) {
	case *syntax.Lit:
		s.literal(b, p.Value, q)
	case *syntax.SglQuoted:
		if p.Dollar {
			b.add(grammar.AnsiC(p.Value))
		} else {
			b.add(p.Value)
		}
	case *syntax.DblQuoted:
		b.started = b.started || !listsElements(p)
		s.parts(b, p.Parts, quoting{double: true})
	case *syntax.ParamExp:
		s.parameter(b, p, q)
	case *syntax.ExtGlob:
		b.add(s.written(p))
		b.cur.Glob = true
	case *syntax.CmdSubst:
		s.substitution(b, p, q)
	case *syntax.ArithmExp:
		runs := !s.Quiet && s.evaluates(p)
		s.nested(p)
		b.dynamic(s.written(p), argv.OriginAtom, true, q)
		b.cur.Runs = b.cur.Runs || runs
	default: // substitutions of processes: what they run is listed
		s.nested(p)
		b.dynamic(s.written(p), argv.OriginNames, false, q)
	}
}

// listsElements reports whether quotes hold only the elements of an array: where it has
// none, they stand for no word at all.
func listsElements(q *syntax.DblQuoted) bool {
	if len(q.Parts) != 1 {
		return false
	}
	p, ok := q.Parts[0].(*syntax.ParamExp)
	return ok && p.Param != nil && !p.Length && (p.Param.Value == "@" || isAll(p.Index, "@")) && p.Exp == nil && p.Repl == nil
}

// substitution expands $(...) where the line itself tells what it prints.
func (s *Shell) substitution(b *wordBuilder, c *syntax.CmdSubst, q quoting) {
	s.nested(c)
	text, known, o := s.substituted(c)
	switch {
	case !known:
		first := b.text.Len() == 0 && len(b.cur.Dynamic) == 0
		b.dynamic(s.written(c), o, s.substitutesPart(c), q)
		b.cur.Folder = first && s.substitutesFolder(c)
		b.cur.Within = first && s.filesWithin(c) && s.splitsAtBlanks()
		b.cur.Process = first && s.numberedBy(c) && s.splitsAtBlanks()
	case q.splits && !s.zsh:
		s.splitValues(b, []string{text})
	case q.splits: // zsh splits what a command prints, at blanks
		b.whole(argv.BlankFields(text))
	default:
		b.add(text)
	}
}

func (s *Shell) literal(b *wordBuilder, v string, q quoting) {
	switch {
	case q.raw:
		b.add(v)
	case q.double, q.heredoc:
		b.add(grammar.UnescapeQuoted(v, q.heredoc))
	default:
		text, glob := grammar.Unescape(v)
		b.add(text)
		b.cur.Glob = b.cur.Glob || glob
	}
}
