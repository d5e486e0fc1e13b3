package grammar

import (
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/budget"
)

// parsed are the statements of a text, on a line each, and what is wrong with it.
func parsed(t testing.TB, text string) (string, error) {
	t.Helper()
	stmts, err := Parse(text, budget.New(t.Context(), time.Minute), func(name string) bool { return name == "rm" })
	var out strings.Builder
	for i, st := range stmts {
		if i > 0 {
			out.WriteString("\n")
		}
		if err := syntax.NewPrinter(syntax.Minify(true)).Print(&out, st); err != nil {
			t.Fatal(err)
		}
	}
	return out.String(), err
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, text, want, mistake string }{
		{"statements in their order", "a; b & c", "a\nb&\nc", ""},
		{"a comment hides its line", "a # b\nc", "a\nc", ""},
		{"and no more, whatever its end", "a # b \\\nrm c", "a\nrm c", ""},
		{"what comes before a mistake runs", "a\nb )", "a", "2:"},
		{"a control character", "a\rb", "a b", "control character"},
		{"a backslash at the end", `a \`, `a \\`, "nothing behind it"},
		{"a function that only zsh knows", "function a b { c; }", "", "zsh"},
		{"a here-document whose end is certain", "a <<'E'\nx\nE\nb", "a <<'E'\nx\nE\nb", ""},
		{"a brace that zsh closes a group with", "a }b", "a }b", ""},
		{"an escape that shells read differently", `a $'\q'`, `a $'\q'`, "shells read differently"},
		{"arithmetic that dash runs as a program", "((rm))", "((rm))", "another shell"},
		{"a number is no program", "((1+2))", "((1+2))", ""},
		{"a single quote in an expansion", `a "${x:-'}'}"`, `a "${x:-'}'}"`, "single quotes in an expansion"},
		{"a word that zsh takes for a path", "a =ls", "a =ls", "zsh"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parsed(t, tt.text)
			if strings.TrimRight(got, "\n") != tt.want {
				t.Errorf("statements %q, want %q", got, tt.want)
			}
			if (err != nil) != (tt.mistake != "") || err != nil && !strings.Contains(err.Error(), tt.mistake) {
				t.Errorf("mistake %v, want %q", err, tt.mistake)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		glob       bool
	}{{"a", "a", false}, {`a\*b`, "a*b", false}, {"a*b", "a*b", true}, {"[", "[", false}, {"[a]", "[a]", true}, {`\\?`, `\?`, true}, {"a\\\nb", "ab", false}} {
		if got, glob := Unescape(tt.text); got != tt.want || glob != tt.glob {
			t.Errorf("%q: %q, %v, want %q, %v", tt.text, got, glob, tt.want, tt.glob)
		}
	}
	for name, want := range map[string]bool{"a": true, "_A1": true, "1a": false, "": false, "a-b": false, "ä": false} {
		if IsVariable(name) != want {
			t.Errorf("%q is a variable: %v, want %v", name, !want, want)
		}
	}
}

// FuzzParse holds that no text panics but for its budget, and that statements lie in
// the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a # \\\nb", "a <<-E\n\tx\n\tE\n", "$(a `b`)", "[[ a ]] && ((b))", "case a in (b) c;; esac"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer func() {
			if r := recover(); r != nil {
				if _, spent := r.(budget.Spent); !spent {
					panic(r)
				}
			}
		}()
		stmts, _ := Parse(text, budget.New(t.Context(), time.Minute), func(string) bool { return false })
		last := uint(0)
		for _, st := range stmts {
			if st.Pos().Offset() < last || int(st.End().Offset()) > len(text) {
				t.Errorf("a statement at %d to %d of %d bytes, after %d", st.Pos().Offset(), st.End().Offset(), len(text), last)
			}
			last = st.Pos().Offset()
		}
	})
}
