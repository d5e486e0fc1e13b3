package record

import (
	"bytes"
	"regexp"
	"testing"
)

func TestASealedChunkOpensInItsPlaceOnly(t *testing.T) {
	s, err := NewSealer(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	sealed := s.Seal([]byte("answer"), "x1", 2, 3)
	if bytes.Contains(sealed, []byte("answer")) {
		t.Error("the chunk is readable")
	}
	if got, err := s.Unseal(sealed, "x1", 2, 3); err != nil || string(got) != "answer" {
		t.Errorf("in its place: %q, %v", got, err)
	}
	if bytes.Equal(sealed, s.Seal([]byte("answer"), "x1", 2, 3)) {
		t.Error("the same chunk is sealed the same way twice")
	}
	for _, p := range []struct {
		name, exchange string
		n, of          int
	}{
		{"in another exchange", "x2", 2, 3},
		{"as another chunk", "x1", 1, 3},
		{"of an answer cut short", "x1", 2, 2},
	} {
		if _, err := s.Unseal(sealed, p.exchange, p.n, p.of); err == nil {
			t.Errorf("it opens %s", p.name)
		}
	}
	if _, err := NewSealer(make([]byte, 16)); err == nil {
		t.Error("a short key is taken")
	}
}

func TestAnOlderKeyOpensAndDoesNotSeal(t *testing.T) {
	one, two, three := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32), bytes.Repeat([]byte{3}, 32)
	sealer := func(key []byte, older ...[]byte) *Sealer {
		s, err := NewSealer(key, older...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	rotated := sealer(three, one, two)
	for name, c := range map[string]struct {
		from, at *Sealer
		opens    bool
	}{
		"of the first key":                  {sealer(one), rotated, true},
		"of the second":                     {sealer(two), rotated, true},
		"of the newest":                     {rotated, sealer(three), true},
		"new, where nobody has the new key": {rotated, sealer(one, two), false},
		"of a key that was dropped":         {sealer(one), sealer(three, two), false},
	} {
		got, err := c.at.Unseal(c.from.Seal([]byte("answer"), "x1", 0, 1), "x1", 0, 1)
		if opened := err == nil && string(got) == "answer"; opened != c.opens {
			t.Errorf("%s: opens %v, want %v", name, opened, c.opens)
		}
	}
	if _, err := NewSealer(one, make([]byte, 16)); err == nil {
		t.Error("a short older key is taken")
	}
}

func TestIDsCanBeReadAndTyped(t *testing.T) {
	form := regexp.MustCompile(`^[2-9b-df-hjkmnp-tv-z]{6}(-[2-9b-df-hjkmnp-tv-z]{6}){2}$`)
	seen := make(map[string]bool)
	for range 1000 {
		id := NewID()
		if !form.MatchString(id) {
			t.Fatalf("id %q", id)
		}
		if seen[id] {
			t.Fatalf("id %q twice", id)
		}
		seen[id] = true
	}
}
