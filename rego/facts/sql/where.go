package sql

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// where reports whether the statement has a WHERE of its own that leaves
// something out: that names a column, on both sides of each OR.
func (r *reader) where() bool {
	for i, t := range r.tokens {
		if !t.is("where") || t.depth != r.level {
			continue
		}
		named := false
		for j := i + 1; j < len(r.tokens); j++ {
			if j%16 == 0 {
				r.x.Tick()
			}
			c := r.tokens[j]
			if c.depth == r.level && c.is("returning order limit group having window union") {
				break
			}
			if c.is("or") || c.punct("|") && r.at(j+1).punct("|") {
				if !named {
					return false
				}
				named = false
				continue
			}
			named = named || r.column(j)
		}
		if named {
			return true
		}
	}
	return false
}

// sets is what an UPDATE sets, in its own words.
func (r *reader) sets() string {
	if r.st.Verb != "update" {
		return ""
	}
	isSet := func(t token) bool { return t.is("set") && t.depth == r.level }
	from := slices.IndexFunc(r.tokens, isSet) + 1
	if from == 0 {
		return ""
	}
	end := from
	for end < len(r.tokens) && !(r.tokens[end].depth == r.level && r.tokens[end].is("where from returning order limit")) {
		end++
	}
	return spell(r.tokens[from:end], false, false)
}

// only is the condition of a statement that changes rows.
func (r *reader) only() string {
	if !r.st.Where || !wordlist.Has("update delete", r.st.Verb) {
		return ""
	}
	from := slices.IndexFunc(r.tokens, func(t token) bool { return t.is("where") && t.depth == r.level }) + 1
	end := from
	for end < len(r.tokens) && !(r.tokens[end].depth == r.level && r.tokens[end].is("returning order limit")) {
		end++
	}
	return spell(r.tokens[from:end], false, false)
}

// spell writes tokens as people do, up to some 200 characters; hushed leaves what
// texts say out.
func spell(tokens []token, hushed, names bool) string {
	var b strings.Builder
	for i, t := range tokens {
		if b.Len() > 200 {
			break
		}
		glued := t.punct(",") || t.punct(".") || t.punct("(") || t.punct(")") || strings.HasSuffix(b.String(), ".") || strings.HasSuffix(b.String(), "(")
		if operator := strings.TrimRight(b.String(), "<>=!|"); operator != b.String() && t.kind == mark && strings.ContainsAny(t.text, "<>=!|") {
			glued = true
		}
		if b.Len() > 0 && !glued {
			b.WriteByte(' ')
		}
		switch {
		case t.kind == str && hushed && !(names && i > 0 && (tokens[i-1].is("to from program infile outfile") || tokens[i-1].text == "@")):
			b.WriteString("'…'")
		case t.kind == str:
			b.WriteString("'" + t.text + "'")
		default:
			b.WriteString(t.text)
		}
	}
	return b.String()
}

// column reports whether the word at i of a condition can be a column, and one
// that is not compared with itself.
func (r *reader) column(i int) bool {
	t := r.tokens[i]
	if r.at(i+1).punct("=") && r.at(i+2).text == t.text || r.at(i-1).punct("=") && r.at(i-2).text == t.text {
		return false
	}
	return t.kind == quoted || t.kind == word && !r.at(i+1).punct("(") &&
		!t.is("true false null unknown and xor or not is in between like ilike rlike regexp glob exists select distinct from all any some case when then else end interval current_date current_time current_timestamp")
}
