package differential

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A generator makes scripts out of the constructs. The same seed makes the same
// scripts.
type generator struct {
	r      *rand.Rand
	number int // the last that was written, so that each command is another
	depth  int
	names  []string
	counts map[string]int // how many scripts hold each construct
}

func newGenerator(seed uint64) *generator {
	return &generator{
		r: rand.New(rand.NewPCG(seed, 16)), names: slices.Sorted(maps.Keys(constructs)), counts: make(map[string]int),
	}
}

// nests hold other constructs.
var nests = []string{
	"(§S\n)", "{ §S\n}", "if §S\nthen §S\nfi", "$(§S\n)", "sh -c §Q", "bash -c §Q", "eval §Q", "f1() { §S\n}\nf1",
	"f1() { §S\n}\nf1 §N; f1 §N", "§S | §C", "§S &", "§S && §C", "§S; §C", "while q1; do §S\ndone", "x=$(§S\n)\n§C $x", "`§S`", "! §S",
	"time §S", "case a in a) §S\n;; esac", "§C \"$(§S\n)\"", "§C <<E\n$(§S\n)\nE\n§C", "§C <(§S)", "for i in a b; do §S\ndone", "§C &&\n§S",
	"trap §Q EXIT", "alias z1=§Q\nz1", "x=§Q; eval \"$x\"", "echo §Q | sh", "echo §Q >f; . ./f", "§S\n§S", "§S\n§S\n§S", "[[ -n $(§S) ]]", "§S >f",
	"x=§N; §S", "set -- a §N\n§S", "cat <<'E' | bash\n§S\nE", "x=§N\n§S\n§C $x",
}

// nasty are what mutations put into a script: characters that begin, end, join
// or escape something to one shell or another.
var nasty = []string{
	"\\", "\\\n", "\n", "#", " #", "'", "\"", "`", "$", "$(", ")", "(", "{", "}", ";", "&", "|", "<", ">", "<<", "\r", "\t", "\x00", "\u00a0", "!", "*", "?",
	"[", "]", "=", "~", "^", "$'", "$\"", "${", " ", "\\\\", "\\ ", "%", ",", ":", "@", "+", "-", "{a,b}", "# \\\n", "\v", "<<E\n", "\nE\n", "$((", "))", "$[", "=(", "&>", "<(", "é",
}

// soup are the words of a script that has no form at all.
var soup = []string{
	"p1", "p2", "p3 a", "q1", "\n", ";", " ", " ", "#", "\\\n", "'", "\"", "`", "$(", ")", "(", "{ ", "}", "if ", "then ", "else ", "fi", "case a in ", "a) ", ";;", "esac",
	"for i in a b", "; do ", "done", "&&", "||", "|", "&", "! ", "time ", "<<E", "\nE\n", ">f", "<f", "<<<a", "$x", "x=p4", "x=(", "[[ ", " ]]", "((", "))", "$((", "$'", "\\'", "eval ", "command ", "exec ",
	"alias z=p5", "\nz ", "{a,b}", "*", "@(", "trap 'p6' EXIT", "f1() ", "function f2 ", "coproc ", "<(", ">(", "2>&1", "&>f", "$[", "]", "${x:-", "}", "\r", "repeat 1 ", "sh -c ", "xargs ", "<<'E'", "<<-E", "\t", "- ",
}

// script makes the n-th script. Its construct comes round in turn, so that a
// number of scripts holds each of them as often.
func (g *generator) script(n int) string {
	g.depth = 0
	var text string
	switch k := n % 20; {
	case k == 0:
		for range 3 + g.r.IntN(14) {
			text += pick(g, soup)
		}
	case k < 5:
		text = g.fill(pick(g, nests))
	default:
		name := g.names[n/20%len(g.names)]
		text = g.construct(name)
		for g.r.IntN(3) == 0 {
			text += pick(g, []string{"\n", "\n", "; ", " && ", " | "}) + g.construct(pick(g, g.names))
		}
	}
	for g.r.IntN(4) == 0 {
		text = g.mutate(text)
	}
	return text
}

func pick[T any](g *generator, list []T) T { return list[g.r.IntN(len(list))] }

func (g *generator) construct(name string) string {
	g.counts[name]++
	return g.fill(pick(g, constructs[name]))
}

// mutate changes a script in one place.
func (g *generator) mutate(text string) string {
	at := g.r.IntN(len(text) + 1)
	switch g.r.IntN(4) {
	case 0: // take something away
		return text[:at] + text[min(len(text), at+1+g.r.IntN(2)):]
	case 1: // say something twice
		to := min(len(text), at+1+g.r.IntN(12))
		return text[:to] + text[at:]
	}
	return text[:at] + pick(g, nasty) + text[at:]
}

// fill writes something in the place of every letter that § marks.
func (g *generator) fill(template string) string {
	var sb strings.Builder
	for {
		before, rest, found := strings.Cut(template, "§")
		sb.WriteString(before)
		if !found {
			return sb.String()
		}
		kind := rest[0]
		template = rest[1:]
		switch kind {
		case 'N':
			g.number++
			fmt.Fprintf(&sb, "%d", g.number)
		case 'p':
			sb.WriteString(g.program())
		case 'P':
			sb.WriteString(g.spelled(g.program()))
		case 'W':
			sb.WriteString(g.word())
		case 'B':
			sb.WriteString(pick(g, []string{" ", "\t", "\u00a0", "\u3000", "\u2003", "\v", "\f", "\r", "\u2028", "\u200b", "\u0085", "\xa0", "  "}))
		case 'C':
			sb.WriteString(g.command())
		case 'S', 'Q':
			inner := g.nested()
			if kind == 'Q' {
				inner = "'" + strings.ReplaceAll(inner, "'", `'\''`) + "'"
			}
			sb.WriteString(inner)
		default:
			sb.WriteString("§" + string(kind))
		}
	}
}

func (g *generator) nested() string {
	if g.depth++; g.depth > 3 {
		return g.fill("§p §N")
	}
	defer func() { g.depth-- }()
	if g.r.IntN(5) == 0 {
		return g.fill(pick(g, nests))
	}
	return g.construct(pick(g, g.names))
}

func (g *generator) program() string { return fmt.Sprintf("p%d", g.r.IntN(10)) }

// command is a program with a number that is its own, and words.
func (g *generator) command() string {
	g.number++
	name := g.program()
	if g.r.IntN(8) == 0 {
		name = g.spelled(name)
	}
	text := fmt.Sprintf("%s %d", name, g.number)
	for g.r.IntN(4) == 0 {
		text += " " + g.word()
	}
	return text
}

// spelled is a program's name with quotes and the like in it.
func (g *generator) spelled(name string) string {
	a, b := name[:1], name[1:]
	return pick(g, []string{
		name, `'` + name + `'`, `"` + name + `"`, `\` + name, a + `''` + b, a + `\` + b, a + "\\\n" + b, `$'` + name + `'`, `$"` + name + `"`,
		`$'\x70'` + b, a + `"` + b + `"`, a + `$x` + b, `${x:-` + name + `}`, `$(echo ` + name + `)`, `{` + name + `,` + name + `}`, a + `{` + b + `,2}`, a + "$'" + b + "'",
	})
}

var wordForms = []string{
	"a", "'a b'", `"a b"`, `a\ b`, "$'a b'", `$"a"`, "$x", `"$x"`, "${x}", "$((1+2))", "$(p7 a)", "`p8 a`", "~", "*", "f*", "[a-b]", "{a,b}", "{1..3}", "$#", "$?",
	"$RANDOM", "<(p9)", "''", `""`, "a#b", "'#'", "!", "a=b", "--x=~", "-x", "@(a|b)", "é", "%", `\#`, `\'`, `\"`, `"\""`, `'\'`, `a\`, "a'b'", `"$@"`, "$@", "$*", "${x:-a}", `"${x:-a b}"`,
	"${x#a}", "=", ":", ".", "^a", "a^b", "a~b", "+", "]", "[", "{}", "{", "}", "a}", "{a", "1", "-", "--", `"a$(p7)b"`, "$'\\n'", "a,b", "$x$x", "a$", "$", `"$"`, "$1", "if", "do", "esac", "in", "!a", "a!", "?", "a?", "$[1+1]", "=a", "%1", "${#x}", "$(echo a b)", `"$(echo a b)"`,
}

func (g *generator) word() string { return pick(g, wordForms) }
