package rego

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

// What is hidden is the credential and nothing else: the facts that people are shown still
// say what the call does, and neither they nor any text of the decision have it.
func TestACallWithACredentialCanStillBeJudged(t *testing.T) {
	e := open(t, Options{KeepSeen: true})
	for _, tt := range []struct{ command, secret, says string }{
		{"PGPASSWORD=hunter22 psql -h db.example -c 'drop table users'", "hunter22", "Drops the table users on db.example"},
		{"mysql -u root -phunter22 shop -e 'drop table users'", "hunter22", "Drops the table users"},
		{"git push --force https://ann:hunter22@github.com/acme/x main", "hunter22", "Overwrites what others see on https://ann:[redacted]@github.com/acme/x/main"},
		{"psql postgresql://admin:hunter22@db/shop -c 'drop table users'", "hunter22", "Drops the table users"},
		{"DB_PASSWORD=abcd1234 rm -rf src", "abcd1234", "Deletes ./src and everything in it"},
	} {
		c := bashCall(tt.command)
		d := e.Decide(t.Context(), Input{Call: c, Dir: "/w", Home: "/home/u"})
		if d.Action != holdgate.Hold || d.Hides() {
			t.Errorf("%s: %v, hides %v", tt.command, d.Action, d.Redact)
			continue
		}
		facts, err := json.Marshal(d.Facts)
		if err != nil {
			t.Fatal(err)
		}
		if said := fmt.Sprintf("%s %+v %s", facts, d, d.Seen); strings.Contains(said, tt.secret) {
			t.Errorf("%s: the secret is said: %s", tt.command, said)
		}
		if says := d.Facts.Effects[0].Says; !strings.HasPrefix(says, tt.says) {
			t.Errorf("%s: said to be: %s, want %s", tt.command, says, tt.says)
		}
	}
}

// What is called as a secret stays where it is no secret, and nothing that Holdgate says itself
// is hidden.
func TestASecretDoesNotHideWhatIsCalledAsItIs(t *testing.T) {
	e := open(t, Options{})
	for command, says := range map[string]string{
		"PASSWORD=work2024 x; rm -rf work2024":   "Deletes ./work2024 and everything in it",
		"DB_PASS=work2024; rm -rf $DB_PASS":      "Deletes ./work2024 and everything in it",
		"X_PASSWORD=Deletes rm -rf src":          "Deletes ./src and everything in it",
		"X_PASSWORD=unknown kubectl delete ns a": "Deletes ns a",
	} {
		d := e.Decide(t.Context(), Input{Call: bashCall(command), Dir: "/w", Home: "/home/u"})
		if got := d.Facts.Effects[0].Says; !strings.HasPrefix(got, says) || strings.Contains(got, "redacted") {
			t.Errorf("%s is said to be: %s", command, got)
		}
	}
}

// A key that is text by itself and data besides is hidden.
func TestACredentialInDataIsHidden(t *testing.T) {
	key := "AKIA" + "IOSFODNN7EXAMPLE"
	d := open(t, Options{}).Decide(t.Context(), Input{Call: holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "upload", Arguments: json.RawMessage(`{"data":"` + key + `"}`)}}})
	if len(d.Redact) == 0 {
		t.Error("nothing is hidden")
	}
}

// Where too much is written for facts to be found in all of it, a secret is hidden all the same.
func TestASecretInALargeCallIsHidden(t *testing.T) {
	c := bashCall(strings.Repeat("# nothing here\n", 30_000) + "PGPASSWORD=hunter22 psql")
	d := open(t, Options{}).Decide(t.Context(), Input{Call: c})
	if !slices.Contains(d.Redact, holdgate.RedactCredentials) {
		t.Errorf("hidden: %v", d.Redact)
	}
}

// A call like one that was allowed is not taken for it where one of them has a secret that
// no fact has.
func TestASecretIsHiddenInACallLikeAnother(t *testing.T) {
	e := open(t, Options{})
	for _, text := range []string{"one", "password=hunter22", "two"} {
		d := e.Decide(t.Context(), Input{Call: holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{
			Name: "TodoWrite", Arguments: json.RawMessage(`{"todos":"` + text + `"}`)}}})
		if hides := len(d.Redact) > 0; hides != strings.Contains(text, "password") {
			t.Errorf("%s: hidden %v, by %s", text, d.Redact, d.Rule)
		}
	}
}
