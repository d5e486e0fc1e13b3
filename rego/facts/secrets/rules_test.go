package secrets

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRulesForSecretsCompile(t *testing.T) {
	set, err := readRules(rulesJSON, shapes[:])
	if err != nil {
		t.Fatal(err)
	}
	if len(set.rules) < 200 {
		t.Errorf("%d rules, want 200 at least", len(set.rules))
	}
	set.allowed()
	for _, r := range set.rules {
		if r.Kind == "" || len(r.Keywords) == 0 || r.Group > r.pattern().NumSubexp() {
			t.Errorf("rule %s has no kind, no keyword, or a group that it does not have", r.ID)
		}
		r.allowed()
		for _, k := range r.Keywords {
			if k != strings.ToLower(k) {
				t.Errorf("keyword %q of %s is not in lower case", k, r.ID)
			}
		}
	}
}

// TestKeywordsAreFoundAsPlainSearchFindsThem compares the finder with the
// plain way to look for each keyword.
func TestKeywordsAreFoundAsPlainSearchFindsThem(t *testing.T) {
	keywords := []string{"a", "ab", "bab", "bc", "bca", "c", "caa", "x-y"}
	f := newKeywordFinder(keywords)
	for _, text := range []string{"", "abccab", "BABCAA", "zzx-Yzab", "\xffab\x00", strings.Repeat("abcaab", 40)} {
		got, want := map[[2]int]bool{}, map[[2]int]bool{}
		f.each(text, func(k, end int) { got[[2]int{k, end}] = true })
		for i, k := range keywords {
			for at := range len(text) {
				if strings.HasPrefix(strings.ToLower(text[at:]), k) {
					want[[2]int{i, at + len(k)}] = true
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("keywords in %q (-want +got):\n%s", text, diff)
		}
	}
}

// TestOnePassFindsEveryHint holds that the look at a text that comes first misses
// no shape, wherever its hint stands.
func TestOnePassFindsEveryHint(t *testing.T) {
	table := table()
	for n, shape := range shapes {
		for _, text := range []string{shape.hint, "x" + shape.hint, shape.hint + shape.hint, "-----BEGI" + shape.hint, "sk-ant" + shape.hint + "x"} {
			if found, _ := table.hints(text); found&(1<<n) == 0 {
				t.Errorf("%q in %q was not found", shape.hint, text)
			}
		}
	}
	if found, ruled := table.hints("please look at the file"); found != 0 || ruled {
		t.Errorf("plain text: %b, %v", found, ruled)
	}
}
