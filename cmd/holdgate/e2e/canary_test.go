package e2e_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
)

// What may hold secrets, by its name in the state folder.
var keyFiles = map[string]bool{"approver.token": true, "secret.key": true, "ca.key": true}

// canaries are secrets that come by on their way between an agent and its
// provider. No other text holds them.
var canaries = map[string]string{
	"the provider's key":                     "canaryHeader00000000000000000000000001",
	"a token that the pack finds":            "ghp_canaryArgument0000000000000000000000",
	"a value that a rule of one's own names": "canaryRedacted0000000000000000000000003",
	"a token in a call that passes":          "ghp_canaryAllowed00000000000000000000000",
	"a token that quotes divide":             "ghp_canaryDivided00000000000000000000000",
	"a token where policy fails":             "ghp_canaryFailing00000000000000000000000",
	"a token that an edit brings in":         "ghp_canaryEdited000000000000000000000000",
	"a token in a person's reason":           "ghp_canaryReason000000000000000000000000",
	"a token in a person's instructions":     "ghp_canarySteered00000000000000000000000",
	"a token in a person's message":          "ghp_canaryMessage00000000000000000000000",
	"the webhook's secret":                   "canaryWebhook0000000000000000000000000005",
}

const redactingRule = `package holdgate.custom.pins

decisions contains {
	"action": "hold", "rule": "pins.hold", "reason": "A deploy with a pin.", "risk": "high",
	"redact": ["/tool/arguments/command"],
} if {
	some c in input.facts.commands
	c.program == "deployctl"
}

decisions contains {"action": c.argv[1], "rule": "pins.slip", "reason": concat(" ", c.argv)} if {
	some c in input.facts.commands
	c.program == "slipctl"
}
`

// Promise 9: secrets go through the sidecar and stay nowhere: not on disk, while a call
// is held, after a crash and in the end; not in the logs; not on a screen.
func TestPromise9(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.calls = func(command string) []call { return []call{{id: "toolu_1", command: command}} } // its own id would hold the command
	told := newReceiver(t)
	args := []string{"--upstream", "anthropic=" + p.URL, "--policy", write(t, "pins.rego", redactingRule), "--config", told.config(t)}
	s := serve(t, nil, args...)
	divided := canaries["a token that quotes divide"]
	commands := []string{
		"curl -H 'X-Token: " + canaries["a token that the pack finds"] + "' https://example.com/",
		"deployctl --pin " + canaries["a value that a rule of one's own names"],
		"grep " + canaries["a token in a call that passes"] + " README.md",
		"curl -H 'X-Token: " + divided[:7] + "'" + divided[7:12] + "'" + divided[12:] + "' https://example.com/",
	}
	failing := turnWithKey(t, s, "slipctl "+canaries["a token where policy fails"])
	var answers []<-chan string
	for _, c := range commands {
		answers = append(answers, turnWithKey(t, s, c))
	}
	until(t, "held calls", func() bool { return len(s.pending()) >= 3 })
	until(t, "a notification", func() bool { return strings.Contains(told.all(), "pins.hold") })
	if got := <-failing; !strings.Contains(got, "holdgate.policy_error") {
		t.Errorf("where policy fails, the agent got %s", got)
	}
	s.leaksNothing("while calls are held", told)
	s.kill()
	for _, a := range answers {
		<-a
	}
	s.leaksNothing("after a crash", told)

	s = serveIn(t, s.dir, nil, args...)
	for i, c := range commands {
		answers[i] = turnWithKey(t, s, c)
	}
	for i, c := range commands {
		got := ""
		until(t, "the answer to "+c, func() bool {
			for _, r := range s.pending() {
				s.answer(r.ID, "approve")
			}
			select {
			case got = <-answers[i]:
				return true
			default:
				return false
			}
		})
		// The control: approved, the call goes on as the model wrote it.
		if !strings.Contains(arguments(got), (call{command: c}).arguments()) {
			t.Errorf("the agent did not get %s: %s", c, got)
		}
	}
	s.leaksNothing("after calls were sent", told)

	edited := "curl -H 'X-Token: " + canaries["a token that an edit brings in"] + "' https://example.com/"
	answer := turnWithKey(t, s, "rm -rf harmless")
	s.edit(s.held("rm -rf harmless"), (call{command: edited}).arguments())
	s.leaksNothing("after an edit", told)
	until(t, "the edited call", func() bool {
		for _, r := range s.pending() {
			s.answer(r.ID, "approve")
		}
		select {
		case got := <-answer:
			if !strings.Contains(arguments(got), (call{command: edited}).arguments()) {
				t.Errorf("the agent did not get %s: %s", edited, got)
			}
			return true
		default:
			return false
		}
	})
	s.leaksNothing("after an edited call was sent", told)

	for person, says := range map[string][]string{
		"a token in a person's reason":       {"deny", "ID", "--reason", "not with TOKEN"},
		"a token in a person's instructions": {"steer", "ID", "take TOKEN"},
	} {
		answer, says[1] = turnWithKey(t, s, "rm -rf "+says[0]), s.held("rm -rf "+says[0]).ID
		s.must(append(says[:len(says)-1], strings.Replace(says[len(says)-1], "TOKEN", canaries[person], 1))...)
		if got := <-answer; !strings.Contains(got, " [redacted]") {
			t.Errorf("with %s, the agent got %s", person, got)
		}
	}
	s.must("redirect", "default", "use "+canaries["a token in a person's message"])
	s.leaksNothing("after people have written", told)
	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.leaksNothing("in the end", told)
}

// A receiver takes what the webhook channel sends.
type receiver struct {
	*httptest.Server

	mu   sync.Mutex
	said strings.Builder
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return // the channel's process was killed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said.Write(b)
	w.WriteHeader(http.StatusNoContent)
}

// all is all that was said.
func (r *receiver) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String()
}

// config is the file that has the webhook tell this receiver.
func (r *receiver) config(t *testing.T) string {
	t.Helper()
	secret := write(t, "webhook.secret", canaries["the webhook's secret"])
	return write(t, "holdgate.yaml", "plugins:\n  webhook:\n    config: {url: "+quoted(r.URL)+", secret_file: "+quoted(secret)+"}\n")
}

// turnWithKey starts a turn as a client that has a provider's key. The channel
// gives what came of the answer.
func turnWithKey(t *testing.T, s *sidecar, command string) <-chan string {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.base("anthropic")+"/v1/messages", bytes.NewReader(turn("run: "+command, agentKind{stream: true})))
	if err != nil {
		t.Fatal(err)
	}
	key := canaries["the provider's key"]
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Cookie", "session="+key)
	out := make(chan string, 1)
	go func() {
		defer close(out)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return // the sidecar was killed
		}
		defer resp.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body) // the same
		out <- b.String()
	}()
	return out
}

// leaksNothing looks for the secrets wherever the sidecar writes.
func (s *sidecar) leaksNothing(when string, told *receiver) {
	s.t.Helper()
	secrets := map[string]string{}
	for what, secret := range canaries {
		secrets[what] = secret
	}
	for name := range keyFiles {
		b, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			s.t.Fatal(err)
		}
		secrets[name] = strings.TrimSpace(string(b))
	}
	places := s.places()
	places["a notification"] = told.all()
	control := false // the search finds what must be there
	for place, text := range places {
		control = control || strings.HasPrefix(place, "db/") && strings.Contains(text, "pins.hold")
		for what, secret := range secrets {
			if strings.Contains(text, secret) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))) {
				s.t.Errorf("%s, %s is in %s", when, what, place)
			}
		}
	}
	if !control {
		s.t.Errorf("%s, the search does not even find the name of a rule in the database", when)
	}
}

// places are all texts that the sidecar writes: files, logs, what commands
// print.
func (s *sidecar) places() map[string]string {
	s.t.Helper()
	places := map[string]string{"the log of serve": s.log()}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || keyFiles[d.Name()] {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(s.dir, path)
		places[filepath.ToSlash(name)] = string(b)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	places["audit export"] = s.must("audit", "export")
	places["audit query"] = s.must("audit", "query")
	if s.exits() {
		places["db/, read through the store"] = s.stored()
		return places
	}
	places["pending"] = s.run("pending").stdout
	for _, r := range s.pending() {
		places["show"] += s.must("show", r.ID)
		places["show --json"] += s.must("show", r.ID, "--json")
	}
	resp, err := s.api(http.MethodGet, "/v1/approvals", "")
	if err != nil {
		s.t.Fatal(err)
	}
	places["the API's list"] = body(s.t, resp)
	return places
}

// stored is every value of the database of a sidecar that has ended: what the
// store has put into its tables is compressed there.
func (s *sidecar) stored() string {
	s.t.Helper()
	st, err := badger.Open(filepath.Join(s.dir, "db"), slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	defer st.Close()
	var all strings.Builder
	err = st.View(s.t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan("", "") {
			if err != nil {
				return err
			}
			all.WriteString(p.Key + "\n")
			all.Write(p.Value)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all.String()
}

// exits reports whether the process has ended.
func (s *sidecar) exits() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}
