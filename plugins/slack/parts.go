package slack

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxPart is how many bytes of arguments a field begins with: less than it
// takes, so that people have room to write.
const maxPart = 2400

// What stood between two fields of the arguments.
const (
	newLine  = 'n'
	sameLine = 's'
)

// parts are arguments as the fields of a dialog begin with them, of at most
// [maxPart] bytes each, and what stands between them. They end at the ends of
// lines where they can: there JSON takes any blanks, and Slack may drop some at
// the ends of a field. Within a line they end where no blank is.
func parts(text string) (values []string, joins string) {
	for len(text) > maxPart {
		end, rest, join := maxPart, maxPart, byte(sameLine)
		if i := strings.LastIndexByte(text[:maxPart+1], '\n'); i > 0 {
			end, rest, join = i, i+1, newLine
		} else {
			end = within(text)
			rest = end
		}
		values, joins = append(values, text[:end]), joins+string(join)
		text = text[rest:]
	}
	return append(values, text), joins
}

// within is where a line that is too long for a field is parted.
func within(text string) int {
	for at := maxPart; at > maxPart/2; at-- {
		after, _ := utf8.DecodeRuneInString(text[at:])
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if utf8.RuneStart(text[at]) && !unicode.IsSpace(before) && !unicode.IsSpace(after) {
			return at
		}
	}
	return boundary(text, maxPart)
}

// partField is the name of the field number i, from 0.
func partField(field string, i int) string {
	if i == 0 {
		return field
	}
	return fmt.Sprintf("%s-%d", field, i+1)
}

// arguments puts the fields of a dialog together again. It says what is wrong
// with which of them, in words for the person, or nothing.
func (d dialog) arguments(value func(field string) string) (args, field, why string) {
	all := strings.TrimLeftFunc(value(fieldArguments), unicode.IsSpace)
	ends := []int{len(all)}
	for i, join := range []byte(d.Joins) {
		if join == newLine {
			all += "\n"
		}
		all += value(partField(fieldArguments, i+1))
		ends = append(ends, len(all))
	}
	all = strings.TrimRightFunc(all, unicode.IsSpace)
	why, at := checkArguments(all)
	for i := range ends {
		if field = partField(fieldArguments, i); at <= ends[i] {
			break
		}
	}
	return all, field, why
}

// checkArguments says what is wrong with arguments that somebody has written,
// in words for them, and where, or nothing.
func checkArguments(raw string) (why string, at int) {
	var members map[string]jsontext.Value
	err := json.Unmarshal([]byte(raw), &members)
	syntax, bad := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case bad:
		at = min(int(syntax.ByteOffset), len(raw))
		return fmt.Sprintf("This is no valid JSON, in line %d of the arguments: %v", 1+strings.Count(raw[:at], "\n"), syntax.Err), at
	case err != nil || members == nil:
		return "The arguments must be a JSON object: { ... }", 0
	}
	return "", 0
}
