package command

import "testing"

func TestABeginningIsTakenWhereItIsOfOneAlone(t *testing.T) {
	all := []string{"abc-1", "abd-2", "abd", "x"}
	for word, want := range map[string]string{
		"abc": "abc-1", "abc-1": "abc-1", "abd": "abd", "x": "x", "": "",
		"none": "none", // the sidecar says so
	} {
		if got, err := Beginning(word, all); got != want || err != nil {
			t.Errorf("%q is taken as %q, %v; want %q", word, got, err, want)
		}
	}
	if got, err := Beginning("ab", all); err == nil {
		t.Errorf("\"ab\" is taken as %q, and several begin so", got)
	}
	if got, err := Beginning("ab", []string{"abc", "abc"}); got != "abc" || err != nil {
		t.Errorf("an id that is there twice: %q, %v", got, err)
	}
}
