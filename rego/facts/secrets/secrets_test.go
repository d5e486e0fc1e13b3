package secrets

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/rego/facts/budget"
)

// found are the kinds of credential in a text, in their order.
func found(t testing.TB, text string) []string {
	t.Helper()
	var kinds []string
	Find(text, budget.New(t.Context(), time.Minute), func(kind string) { kinds = append(kinds, kind) })
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// TestAddressesOfThisMachine holds that a password for a server of this machine is none,
// unless the address may lead to another host; texts for people hold neither.
func TestAddressesOfThisMachine(t *testing.T) {
	password := "q7Zr2Kx9W"
	for _, tt := range []struct {
		rest string
		here bool
	}{
		{"localhost", true}, {"localhost:5432/db", true}, {"[::1]/db?sslmode=disable", true}, {`127.0.0.1/db"}, {"mail":"a@b.example"}`, true},
		{"localhost/db -c 'select 1'", true}, {`localhost"),`, true}, {"localhost/db\nb@c.example", true},
		{"localhost/db?host=db.evil.example", false}, {"localhost/db?x=1&hostaddr=192.0.2.1", false}, {"localhost/db?service=evil", false},
		{"localhost,db.evil.example/db", false}, {"localhost:5432,db.evil.example/db", false}, {"localhost/?proxyHost=evil.example", false},
		{"localhost/db?ho''st=evil.example", false}, {`localhost/db?"host"=evil.example`, false}, {"localhost/db?%68ost=evil.example", false},
		{`localhost/my\ db?host=evil.example`, false}, {`localhost/"my db"?host=evil.example`, false}, {"localhost/db?$Q", false}, {"localhost/`q`", false},
		{"localhost/x@evil.example/db", false}, {"localhost'.evil.example'/db", false}, {`localhost"$X"/db`, false}, {"localhost).evil.example/db", false},
		{"localhost.evil.example/db", false}, {"localhost/" + strings.Repeat("x", maxAddress) + "?host=evil.example", false},
	} {
		text := "psql postgres://app:" + password + "@" + tt.rest
		if here := len(found(t, text)) == 0; here != tt.here {
			t.Errorf("%s: of this machine %t, want %t", tt.rest, here, tt.here)
		}
		if strings.Contains(Conceal(text, nil), password) {
			t.Errorf("%s: the password is shown", tt.rest)
		}
	}
}

// The credentials are put together at run time, so that no scanner takes this file
// for a leak.
func TestFindAndConceal(t *testing.T) {
	random := "q7Zr2Kx9Wm4Tn8Vb3Lp6Hs1Dj5Gf0Yc"
	for _, tt := range []struct{ name, text, kinds, concealed string }{
		{"nothing", "please look at the file", "", "please look at the file"},
		{"a key of a cloud", "use " + awsKey + " there", "aws_access_key", "use [redacted] there"},
		{"two kinds in one text", awsKey + " ghp_" + random + random[:5], "aws_access_key github_token", "[redacted] [redacted]"},
		{"the end of a longer word is none", "a task-" + random + random, "", "a task-" + random + random},
		{"a password in an address", "postgres://app:" + random[:9] + "@db.example/x", "url_password", "postgres://app:[redacted]@db.example/x"},
		{"a variable in its place is none", "postgres://app:$PASS@db.example/x", "", "postgres://app:$PASS@db.example/x"},
		{"what a rule knows by its neighbour", `curl -u deploy:` + random[:12] + ` https://ci.example/`, "curl_auth_user", `curl -u [redacted] https://ci.example/`},
		{"a placeholder is none", "curl -u deploy:$PASSWORD https://ci.example/", "", "curl -u deploy:$PASSWORD https://ci.example/"},
		{"a private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n.", "private_key", "[redacted]\n."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(found(t, tt.text), " "); got != tt.kinds {
				t.Errorf("kinds %q, want %q", got, tt.kinds)
			}
			if diff := cmp.Diff(tt.concealed, Conceal(tt.text, nil)); diff != "" {
				t.Errorf("concealed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConcealTakesOutWhatItIsToldOf(t *testing.T) {
	if got := Conceal("run with hunter22 now", []string{"hunter22"}); got != "run with [redacted] now" {
		t.Errorf("got %q", got)
	}
	// Quotes that divide a credential leave nothing of the text.
	if got := Conceal(`gh"p_"`+strings.Repeat("a1B2", 9), nil); got != "[redacted]" {
		t.Errorf("got %q", got)
	}
}

func TestUnquote(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`gh"p_"abc`, "ghp_abc"}, {`gh'p_'abc`, "ghp_abc"}, {`gh\p_abc`, "ghp_abc"}, {"gh\\\np_abc", "ghp_abc"},
		{`"abc def"`, ""}, {`say "hello" to`, ""}, {"", ""},
	} {
		if got, _ := Unquote(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// FuzzFind holds that what is found in a text is not in it any more once it is concealed,
// and that no text takes more work than its budget.
func FuzzFind(f *testing.F) {
	f.Add("a " + awsKey + " b")
	f.Add(`curl -u deploy:q7Zr2Kx9Wm4T https://ci.example/`)
	f.Fuzz(func(t *testing.T, text string) {
		defer func() {
			if r := recover(); r != nil {
				if _, spent := r.(budget.Spent); !spent {
					panic(r)
				}
			}
		}()
		b := budget.New(t.Context(), time.Minute)
		Find(text, b, func(string) {})
		if b.Steps() > budget.MaxSteps {
			t.Errorf("%d steps", b.Steps())
		}
		spans, ok := Spans(text)
		for i, s := range spans {
			if s.Start < 0 || s.End > len(text) || s.End < s.Start || i > 0 && s.Start < spans[i-1].End {
				t.Fatalf("span %d of %+v", i, spans)
			}
		}
		if concealed := Conceal(text, nil); ok && len(spans) > 0 && concealed == text {
			t.Errorf("%q keeps %+v", text, spans)
		}
	})
}
