package report

import (
	"regexp"
	"strings"
)

var (
	quotedText = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\])*\"|`[^`]*`")
	// What a token may be to stay: a word, a number, a time. Words with dots are hosts and
	// people as well as names of rules and keys.
	plainToken = regexp.MustCompile(`^(?:[A-Za-z]{1,14}(?:'[a-z]{1,2})?|[0-9]{1,6}(?:\.[0-9]{1,6})?%?|[0-9.]{1,8}(?:ns|µs|ms|s|m|h|B|KiB|MiB|GiB))$`)
	// What a token may be besides in a text that the program wrote out.
	ownToken = regexp.MustCompile(`^(?:[a-z]{1,14}(?:[._][a-z]{1,14}){1,4}|[A-Za-z]{1,14}-[a-z]{1,14})$`)
	tokens   = regexp.MustCompile(`[^\s,;:=()\[\]{}<>!?]+`)
)

// hidden stands for a token that does not show.
const hidden = "…"

// Scrub returns a text of which only words and numbers show: what is quoted does not, nor
// paths, addresses, tokens, digests, words with dots, hyphens or underscores, or words
// that are too long to be in a dictionary. It errs to the side of hiding. Whether a word
// is somebody's name it cannot know: see [Files.Conceal].
func Scrub(text string) string { return scrub(text, false) }

// scrub is Scrub; of a text that the program wrote out, the names of keys show besides.
func scrub(text string, own bool) string {
	text = quotedText.ReplaceAllString(text, `"`+hidden+`"`)
	return tokens.ReplaceAllStringFunc(text, func(t string) string {
		bare := strings.Trim(t, `.'"`)
		if bare == "" || bare == hidden || plainToken.MatchString(bare) || own && ownToken.MatchString(bare) {
			return t
		}
		return hidden
	})
}
