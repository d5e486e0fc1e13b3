package audit

import (
	"strings"
	"testing"
)

func TestNoCellIsAFormula(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "",
		"plain, with comma": "plain, with comma",
		"=1+1":              "'=1+1",
		"  =1+1":            "'  =1+1",
		"+1":                "'+1",
		"-1":                "'-1",
		"@SUM(A1)":          "'@SUM(A1)",
		"|calc":             "'|calc",
		"a=b":               "a=b",
		`{"a":1}`:           `{"a":1}`,
	} {
		if got := cell(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{"\t=1", "\r=1", "\n=1", "\u202e=1"} {
		if got := cell(in); strings.HasPrefix(got, in[:len(in)-2]) {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}
