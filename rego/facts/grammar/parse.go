// Package grammar reads shell text into the tree that bash reads it into, and says
// what of it shells read in different ways: it errs towards a mistake, for what two
// shells read in two ways can hide what runs. Nothing is expanded here.
//
// parse.go holds the parser and what comments hide from it, ambiguous.go constructs,
// spelling.go spellings within words, dash.go what bash knows and dash does not.
package grammar

import (
	"errors"
	"io"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/budget"
)

// MaxOpenings bounds how many substitutions, subshells and subscripts one text opens,
// closed or not: each may nest in the one before, and the parser's time grows faster
// than its depth.
const MaxOpenings = 4096

// A reader reads shell text.
type reader struct {
	*budget.Budget
	known func(name string) bool // reports whether a name is one of a program
}

// Parse reads a text as bash reads it. What comes before a mistake is returned
// with it: a shell runs it too. Text that shells, or the parser and a shell, may
// read in more than one way is a mistake. Known reports whether a name is one of a
// program.
func Parse(text string, b *budget.Budget, known func(name string) bool) ([]*syntax.Stmt, error) {
	rd := &reader{b, known}
	return rd.parse(text)
}

func (rd *reader) parse(text string) ([]*syntax.Stmt, error) {
	if len(text) > budget.MaxText {
		rd.GiveUp("shell text is too long")
	}
	if openings(text) > MaxOpenings {
		rd.GiveUp("shell text opens too much")
	}
	given := text
	for range maxParses {
		rd.Work(len(text) / 256)
		file, err := rd.parseFile(text)
		if err != nil {
			return rd.beforeMistake(text), err
		}
		comments := commentsOf(file)
		if ended := endComments(text, comments); ended != text {
			text = ended
			continue
		}
		if err := rd.ambiguous(text, file, comments); err != nil {
			return file.Stmts, err
		}
		return file.Stmts, onlyComments(given, text, comments)
	}
	return nil, errors.New("comments that hide comments")
}

// maxParses is how often one text is parsed at most. The first parse finds all
// comments but those that another hides.
const maxParses = 4

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
	*budget.Budget
	r io.Reader
}

var errOutOfTime = errors.New("out of time")

func (d deadlineReader) Read(p []byte) (int, error) {
	if d.Late() {
		return 0, errOutOfTime
	}
	return d.r.Read(p[:min(len(p), 512)])
}

func (rd *reader) parseFile(text string) (*syntax.File, error) {
	p := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := p.Parse(deadlineReader{rd.Budget, strings.NewReader(text)}, "")
	if errors.Is(err, errOutOfTime) {
		rd.GiveUp("out of time")
	}
	return file, err
}

// beforeMistake are the statements that end before the first mistake.
func (rd *reader) beforeMistake(text string) []*syntax.Stmt {
	var stmts []*syntax.Stmt
	mistaken := false
	p := syntax.NewParser(syntax.Variant(syntax.LangBash))
	// The parser may report a mistake twice, and panics where it can't: the
	// loop runs to its end.
	for st, err := range p.StmtsSeq(deadlineReader{rd.Budget, strings.NewReader(text)}) {
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

// endComments blanks each backslash that ends a line within a comment. To a
// shell it is part of the comment; to the parser the comment ends there, and the
// next line goes on with the command.
func endComments(text string, comments []syntax.Comment) string {
	var ended []byte
	backquotes, counted := 0, 0
	for _, c := range comments {
		at := int(c.Pos().Offset())
		backquotes += strings.Count(text[counted:at], "`")
		counted = at
		if backquotes%2 == 1 {
			continue // shells differ on what a backslash does there
		}
		end := strings.IndexByte(text[at:], '\n')
		if end > 0 && text[at+end-1] == '\\' && strings.HasSuffix(c.Text, "\\\n") {
			if ended == nil {
				ended = []byte(text)
			}
			ended[at+end-1] = ' '
		}
	}
	if ended == nil {
		return text
	}
	return string(ended)
}

// onlyComments reports a text in which something else than a comment was
// blanked: a comment that hid lines made them look like one.
func onlyComments(given, text string, comments []syntax.Comment) error {
	for at := range len(text) {
		if given[at] == text[at] {
			continue
		}
		for len(comments) > 0 && int(comments[0].End().Offset()) < at {
			comments = comments[1:]
		}
		if len(comments) == 0 || int(comments[0].Pos().Offset()) > at {
			return errors.New("a comment that hides what is none")
		}
	}
	return nil
}
