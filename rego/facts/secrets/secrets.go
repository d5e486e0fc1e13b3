// Package secrets finds credentials in text: by shapes of their own, and by a
// maintained set of rules (rules.go). It reads results of tools for them, and
// takes them out of texts that people see.
//
// A text is looked over once for the keywords of all rules (keywords.go), for
// nearly every one holds nothing. Where one stands, its rules look at what is
// near it.
package secrets

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/budget"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// A shape is what one kind of credential looks like. The hint is looked
// for first, as a plain string; the pattern is tried only where it stands, so
// that long texts cost next to nothing.
type shape struct {
	kind    string
	hint    string
	pattern *lazyregexp.Regexp // anchored at the hint; its group, if any, is what to hide
}

var shapes = [...]shape{
	{"aws_access_key", "AKIA", lazyregexp.New(`^AKIA[0-9A-Z]{16}\b`)},
	{"aws_access_key", "ASIA", lazyregexp.New(`^ASIA[0-9A-Z]{16}\b`)},
	{"github_token", "ghp_", lazyregexp.New(`^ghp_[0-9A-Za-z]{36}`)},
	{"github_token", "gho_", lazyregexp.New(`^gho_[0-9A-Za-z]{36}`)},
	{"github_token", "ghu_", lazyregexp.New(`^ghu_[0-9A-Za-z]{36}`)},
	{"github_token", "ghs_", lazyregexp.New(`^ghs_[0-9A-Za-z]{36}`)},
	{"github_token", "github_pat_", lazyregexp.New(`^github_pat_[0-9A-Za-z_]{40,}`)},
	{"gitlab_token", "glpat-", lazyregexp.New(`^glpat-[0-9A-Za-z_-]{20,}`)},
	{"anthropic_key", "sk-ant-", lazyregexp.New(`^sk-ant-[0-9A-Za-z_-]{20,}`)},
	{"openai_key", "sk-proj-", lazyregexp.New(`^sk-proj-[0-9A-Za-z_-]{20,}`)},
	{"openai_key", "sk-", lazyregexp.New(`^sk-[0-9A-Za-z]{32,}\b`)},
	{"slack_token", "xox", lazyregexp.New(`^xox[abeprs]-[0-9A-Za-z-]{10,}`)},
	{"slack_webhook", "hooks.slack.com/services/", lazyregexp.New(`^hooks\.slack\.com/services/T[0-9A-Z]+/B[0-9A-Z]+/[0-9A-Za-z]+`)},
	{"stripe_key", "sk_live_", lazyregexp.New(`^sk_live_[0-9A-Za-z]{16,}`)},
	{"stripe_key", "rk_live_", lazyregexp.New(`^rk_live_[0-9A-Za-z]{16,}`)},
	{"google_api_key", "AIza", lazyregexp.New(`^AIza[0-9A-Za-z_-]{35}`)},
	{"npm_token", "npm_", lazyregexp.New(`^npm_[0-9A-Za-z]{36}`)},
	{"pypi_token", "pypi-AgE", lazyregexp.New(`^pypi-AgE[0-9A-Za-z_-]{50,}`)},
	{"huggingface_token", "hf_", lazyregexp.New(`^hf_[0-9A-Za-z]{30,}`)},
	{"sendgrid_key", "SG.", lazyregexp.New(`^SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}`)},
	{"private_key", "-----BEGIN ", lazyregexp.New(`^-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----`)},
	{"jwt", "eyJ", lazyregexp.New(`^eyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}`)},
	{"url_password", "://", lazyregexp.New(`^://[^\s/:@"'$]+:([^\s/@"'$]{3,})@[^\s/@]`)},
	{"bearer_token", "Bearer ", lazyregexp.New(`^Bearer [0-9A-Za-z_.~+/=-]{20,}`)},
	{"bearer_token", "bearer ", lazyregexp.New(`^bearer [0-9A-Za-z_.~+/=-]{20,}`)},
}

// hints are the shapes whose hints stand in a text, in whatever case: a bit for
// each of shapes.
type hints uint64

const _ = uint(64 - len(shapes)) // so many bits

// Find calls found with each kind of credential in a text. The shapes are
// looked for first, for they allow for placeholders as little as possible; then
// what the maintained rules know.
func Find(s string, b *budget.Budget, found func(kind string)) {
	table := table()
	shapes, ruled := table.hints(s)
	if shapes != 0 {
		findShapes(s, shapes, b, found)
	}
	if ruled && len(s) >= shortToken {
		table.find(s, b.Work, func(r *rule) { found(r.Kind) })
	}
}

// Unquote joins the words of a text that a shell's quotes and backslashes only
// divide, as in gh"p_"abc, also over the end of a line; false where there is no
// such word.
func Unquote(s string) (string, bool) {
	divided := false
	for i := 1; i < len(s)-1 && !divided; i++ {
		rest := strings.TrimPrefix(s[i+1:], "\n")
		divided = shellQuote(s[i]) && (wordByte(s[i-1]) || shellQuote(s[i-1])) && rest != "" && wordByte(rest[0]) &&
			(s[i+1] != '\n' || s[i] == '\\')
	}
	if !divided {
		return "", false
	}
	return shellQuotes.Replace(s), true
}

var shellQuotes = strings.NewReplacer("\\\n", "", `'`, "", `"`, "", `\`, "")

func shellQuote(c byte) bool { return c == '\'' || c == '"' || c == '\\' }

func findShapes(s string, hinted hints, b *budget.Budget, found func(kind string)) {
	for n, shape := range &shapes {
		b.Tick()
		if hinted&(1<<n) == 0 {
			continue
		}
		for rest := s; ; {
			i := strings.Index(rest, shape.hint)
			if i < 0 {
				break
			}
			b.Tick()
			rest = rest[i:]
			if shape.pattern.MatchString(rest) && !partOfWord(s, len(s)-len(rest), shape.hint) && !(shape.kind == "url_password" && leadsHere(rest)) {
				found(shape.kind)
				break
			}
			rest = rest[len(shape.hint):]
		}
	}
}

// toLoopback is the rest of an address that leads to this machine, up to what may name
// another host. The host ends where every program ends it.
var toLoopback = lazyregexp.New(`^://[^\s/:@"'$]+:[^\s/@"'$]{3,}@(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?([/?]|["';)\x60]["';)\x60,\]}]*(?:\s|$)|\s|$)`)

// otherHost is what in the rest of a line has a program ask another host all the
// same, and what could hold such.
var (
	otherHost = lazyregexp.New(`(?i)[?&;](host|service|server|proxy|addr|socket)[a-z_]*\s*=`)
	quoting   = strings.NewReplacer(`'`, "", `"`, "", `\`, "", "`", "", " ", "")
)

// maxAddress bounds the rest of an address that is looked at.
const maxAddress = 4096

// leadsHere reports whether an address leads to this machine: what opens a database there
// for development opens nothing else.
func leadsHere(rest string) bool {
	m := toLoopback.FindStringSubmatchIndex(rest)
	if m == nil {
		return false
	}
	rest = rest[m[2]:]
	line, _, _ := strings.Cut(rest[:min(len(rest), maxAddress)], "\n")
	word := line
	if i := strings.IndexAny(line, " \t\r"); i >= 0 {
		word = line[:i]
	} else if len(line) == maxAddress {
		return false
	}
	_, query, _ := strings.Cut(word, "?")
	return !strings.ContainsAny(word, "@$`") && !strings.Contains(query, "%") && !otherHost.MatchString(quoting.Replace(line))
}

// partOfWord reports whether the hint at i only continues a longer word, as
// "sk-" does in "task-".
func partOfWord(s string, i int, hint string) bool {
	if i == 0 || !wordByte(hint[0]) {
		return false
	}
	return wordByte(s[i-1])
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
