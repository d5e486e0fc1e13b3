package collect

import (
	"path"
	"strings"
	"testing"
)

// FuzzRuleSegments holds that segments of rules cover what their patterns match.
func FuzzRuleSegments(f *testing.F) {
	for _, name := range []string{"", ".", ".env", ".env.", ".env.local", "x.env", "a.pem", ".pem", "client_secret_1.json", "client_secret.jso", "login data", "environ", "cron.d", "secret.json", "\xff.key"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if strings.Contains(name, "/") { // it is no segment
			t.Skip()
		}
		sets := classRules()
		for _, set := range []ruleSet{sets.secret, sets.public, sets.persistence} {
			for _, r := range set.all {
				for _, s := range r.segments {
					want, err := path.Match(s.text, name)
					if err != nil {
						t.Fatal(err)
					}
					if got := s.covers(name); got != want {
						t.Errorf("%q covers %q: %v, want %v", s.text, name, got, want)
					}
				}
			}
		}
	})
}
