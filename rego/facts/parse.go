package facts

import (
	"errors"
	"io"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parse reads a text as bash reads it. What comes before a mistake is returned
// with it: a shell runs it too. Text that shells, or the parser and a shell,
// may read in more than one way is a mistake.
func (s *shell) parse(text string) ([]*syntax.Stmt, error) {
	if len(text) > maxShellBytes {
		panic(overBudget{"shell text is too long"})
	}
	if openings(text) > maxOpenings {
		panic(overBudget{"shell text opens too much"})
	}
	for {
		file, err := s.parseFile(text)
		if err != nil {
			return s.beforeMistake(text), err
		}
		comments := commentsOf(file)
		if at := continuedComment(text, comments); at >= 0 {
			s.x.work(len(text) / 256)
			text = text[:at] + " " + text[at+1:]
			continue
		}
		return file.Stmts, s.ambiguous(text, file, comments)
	}
}

// openings counts what may nest: parentheses, backquotes, expansions and
// subscripts. Quotes are no matter: what they hold may be parsed as well.
func openings(text string) int {
	n := strings.Count(text, "(") + strings.Count(text, "`") + strings.Count(text, "${")
	for i := 1; i < len(text); i++ {
		if c := text[i-1]; text[i] == '[' && c != ' ' && c != '\n' && c != '[' && c != ',' && c != ':' {
			n++
		}
	}
	return n
}

// deadlineReader stops the parser once the time is over.
type deadlineReader struct {
	x *extraction
	r io.Reader
}

var errOutOfTime = errors.New("out of time")

func (d deadlineReader) Read(p []byte) (int, error) {
	if d.x.late() {
		return 0, errOutOfTime
	}
	return d.r.Read(p[:min(len(p), 512)])
}

func (s *shell) parseFile(text string) (*syntax.File, error) {
	p := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := p.Parse(deadlineReader{s.x, strings.NewReader(text)}, "")
	if errors.Is(err, errOutOfTime) {
		panic(overBudget{"out of time"})
	}
	return file, err
}

// beforeMistake are the statements that end before the first mistake.
func (s *shell) beforeMistake(text string) []*syntax.Stmt {
	var stmts []*syntax.Stmt
	mistaken := false
	p := syntax.NewParser(syntax.Variant(syntax.LangBash))
	// The parser may report a mistake twice, and panics where it can't: the
	// loop runs to its end.
	for st, err := range p.StmtsSeq(deadlineReader{s.x, strings.NewReader(text)}) {
		mistaken = mistaken || err != nil
		if !mistaken {
			stmts = append(stmts, st)
		}
	}
	return stmts
}

// commentsOf lists all comments of a file in their order.
func commentsOf(file *syntax.File) []syntax.Comment {
	all := slices.Clone(file.Last)
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Comment:
			all = append(all, *n)
		case *syntax.Stmt: // Walk leaves some of these out
			all = append(all, n.Comments...)
		case *syntax.CaseItem:
			all = append(all, n.Comments...)
		case *syntax.ArrayElem:
			all = append(all, n.Comments...)
		}
		return true
	})
	slices.SortFunc(all, func(a, b syntax.Comment) int { return int(a.Pos().Offset()) - int(b.Pos().Offset()) })
	return all
}

// continuedComment finds the first backslash that ends a line within a
// comment, and -1 where there is none. To a shell it is part of the comment; to
// the parser the comment ends there, and the next line goes on with the command.
func continuedComment(text string, comments []syntax.Comment) int {
	for _, c := range comments {
		at := int(c.Pos().Offset())
		if strings.Count(text[:at], "`")%2 == 1 {
			continue // shells differ on what a backslash does there
		}
		end := strings.IndexByte(text[at:], '\n')
		if end > 0 && text[at+end-1] == '\\' && strings.HasSuffix(c.Text, "\\\n") {
			return at + end - 1
		}
	}
	return -1
}
