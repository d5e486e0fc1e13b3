package login

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"golang.org/x/oauth2"
)

// An address is no name where any claims say that it is not verified.
func TestUnverifiedAddressIsNoName(t *testing.T) {
	t.Parallel()
	const ada = "ada@example.com"
	for name, c := range map[string]struct {
		claim string
		of    []map[string]any
		want  string
	}{
		"verified":             {"email", []map[string]any{{"email": ada, "email_verified": true}, {"email_verified": "true"}}, ada},
		"nothing is said":      {"email", []map[string]any{{"email": ada}, nil}, ada},
		"false":                {"email", []map[string]any{{"email": ada, "email_verified": false}}, ""},
		"a string":             {"email", []map[string]any{{"email": ada, "email_verified": "false"}}, ""},
		"a string, capital":    {"email", []map[string]any{{"email": ada, "email_verified": "False"}}, ""},
		"in the other claims":  {"email", []map[string]any{{"email": ada}, {"email": ada, "email_verified": false}}, ""},
		"in others, a string":  {"email", []map[string]any{{"email": ada, "email_verified": true}, {"email_verified": "false"}}, ""},
		"in the earlier":       {"email", []map[string]any{{"email_verified": false}, {"email": ada}}, ""},
		"another claim's name": {"sub", []map[string]any{{"sub": "ada", "email_verified": false}}, "ada"},
	} {
		if got, err := nameOf(c.claim, c.of...); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A provider that hangs keeps nobody from the groups of the last reading, and readings
// wait for one another no longer than they may.
func TestHangingProviderKeepsNobodyFromGroups(t *testing.T) {
	t.Parallel()
	asked, end := make(chan struct{}, 1), make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; <-end }))
	defer hangs.Close()
	defer close(end)
	s := &SignIn{p: New(Config{Issuer: hangs.URL}), token: &oauth2.Token{}, reading: make(chan struct{}, 1), groups: []string{"sre"}}
	ctx, stop := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := s.Read(ctx); first <- err }()
	<-asked
	if got := s.Groups(); !slices.Equal(got, []string{"sre"}) {
		t.Errorf("groups: %v", got)
	}
	short, stopShort := context.WithTimeout(t.Context(), time.Millisecond)
	defer stopShort()
	if _, err := s.Read(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second reading: %v", err)
	}
	stop()
	if err := <-first; err == nil || errors.Is(err, ErrEnded) {
		t.Errorf("the first reading: %v", err)
	}
	if got := s.Groups(); !slices.Equal(got, []string{"sre"}) {
		t.Errorf("groups after it: %v", got)
	}
}
