package rego

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
)

// A policyServer serves bundles and takes decision logs, as OPA's control
// planes do.
type policyServer struct {
	*httptest.Server

	mu      sync.Mutex
	bundles map[string][]byte // by path
	asked   []string          // what came with If-None-Match
	events  chan map[string]any
}

func servePolicy(t *testing.T) *policyServer {
	t.Helper()
	s := &policyServer{bundles: map[string][]byte{}, events: make(chan map[string]any, 1000)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /bundles/{name}", s.serve)
	mux.HandleFunc("POST /logs", func(w http.ResponseWriter, r *http.Request) {
		zip, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Errorf("decision logs: %v", err)
			return
		}
		var events []map[string]any
		if err := json.NewDecoder(zip).Decode(&events); err != nil {
			t.Errorf("decision logs: %v", err)
		}
		for _, e := range events {
			s.events <- e
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *policyServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.bundles[r.URL.Path]
	tag := fmt.Sprintf("%q", r.URL.Path+fmt.Sprint(len(body), strings.Count(string(body), "\x00")))
	switch {
	case !ok:
		http.NotFound(w, r)
	case r.Header.Get("If-None-Match") == tag:
		s.asked = append(s.asked, tag)
		w.WriteHeader(http.StatusNotModified)
	default:
		w.Header().Set("ETag", tag)
		_, _ = w.Write(body)
	}
}

func (s *policyServer) put(name string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bundles["/bundles/"+name] = body
}

// config writes an OPA configuration, with more of it.
func (s *policyServer) config(t *testing.T, more string) string {
	t.Helper()
	dir := write(t, map[string]string{"opa.yaml": "services: {control: {url: " + s.URL + "}}\nlabels: {fleet: laptops}\n" + more})
	return filepath.Join(dir, "opa.yaml")
}

// polled is a bundle that is asked for as often as OPA can.
func polled(name, more string) string {
	return "bundles: {" + name + ": {service: control, resource: bundles/" + name + ", polling: {min_delay_seconds: 0, max_delay_seconds: 1}" + more + "}}\n"
}

func TestBundlesComeFromServers(t *testing.T) {
	s := servePolicy(t)
	s.put("team", packed(t, "v1", team, nil, nil))
	loads := make(chan Load, 100)
	e := open(t, Options{OPAConfig: s.config(t, polled("team", "")), OnLoad: func(l Load) { loads <- l }})
	t.Cleanup(func() { e.Close(context.WithoutCancel(t.Context())) })
	if l := e.Loaded(); l.Whole || l.Name != "team v1" {
		t.Errorf("got %+v, want the bundle over the pack", l)
	}
	for command, want := range map[string]string{"make": "team.no_make", "rm x": "files.delete"} {
		if got := e.Decide(t.Context(), Input{Call: bashCall(command)}).Rule; got != want {
			t.Errorf("%s: decided by %s, want %s", command, got, want)
		}
	}
	if e.Pushable() {
		t.Error("it can be pushed too")
	}
	nextLoad(t, loads)
	start(t, e)

	s.put("team", packed(t, "v2", map[string]string{"team.rego": strings.ReplaceAll(custom, `"make"`, `"bake"`)}, nil, nil))
	if l := nextLoad(t, loads); l.Err != nil || l.Loaded.Name != "team v2" || !l.Change.MayLoosen {
		t.Fatalf("got %+v, want v2", l)
	}
	for _, bad := range []struct {
		what string
		body []byte
		want string
	}{
		{"a bundle whose rules nobody asks", packed(t, "v3", map[string]string{"a.rego": "package mine\n\nx := 1\n"}, nil, nil), "ever asked"},
		{"a bundle that reaches out", packed(t, "v4", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"deny\"} if opa.runtime().env.X\n"}, nil, nil), "opa.runtime"},
		{"what is no bundle", []byte("not gzip"), "fetching bundle team"},
	} {
		s.put("team", bad.body)
		if l := nextLoad(t, loads); l.Err == nil || !strings.Contains(l.Err.Error(), bad.want) || l.Loaded.Name != "team v2" {
			t.Fatalf("%s: got %v with %+v, want an error that says %q, and v2", bad.what, l.Err, l.Loaded, bad.want)
		}
		if got := e.Decide(t.Context(), Input{Call: bashCall("bake")}).Rule; got != "team.no_make" {
			t.Fatalf("%s: decided by %s", bad.what, got)
		}
	}
	s.put("team", packed(t, "v5", team, nil, nil))
	if l := nextLoad(t, loads); l.Err != nil || l.Loaded.Name != "team v5" {
		t.Fatalf("got %+v, want v5", l)
	}
}

func nextLoad(t *testing.T, loads <-chan Load) Load {
	t.Helper()
	select {
	case l := <-loads:
		return l
	case <-time.After(patience):
		t.Fatal("no load was told")
	}
	return Load{}
}

func TestServersBundleIsCheckedAsFilesAre(t *testing.T) {
	private, public := keyPair(t)
	keys := "keys: {k: {algorithm: ES256, key: " + fmt.Sprintf("%q", public.Key) + "}}\n"
	signed := packed(t, "v1", team, nil, private)
	for _, tt := range []struct {
		name   string
		body   []byte
		config string
		o      Options
		want   string // empty: it loads
	}{
		{"signed", signed, keys + polled("team", ", signing: {keyid: k}"), Options{}, ""},
		{"signed, and checked because there are keys", signed, keys + polled("team", ""), Options{}, ""},
		{"unsigned, though there are keys", packed(t, "", team, nil, nil), keys + polled("team", ""), Options{}, ".signatures.json"},
		{"signed with the key of the configuration", signed, polled("team", ""), Options{Signing: public}, ""},
		{"unsigned, with the key of the configuration", packed(t, "", team, nil, nil), polled("team", ""), Options{Signing: public}, ".signatures.json"},
		{"no bundle there", nil, polled("team", ""), Options{}, "Not Found"},
		{"files too", signed, polled("team", ""), Options{Path: write(t, team), Signing: public}, "choose one"},
		{"a key that is not supported", nil, "discovery: {service: control}\n", Options{}, "discovery is not supported"},
		{"a bundle that is a file", nil, "bundles: {a: {resource: \"file:///etc/a.tar.gz\"}}\n", Options{}, "policy.path"},
		{"a bundle that nobody triggers", nil, "bundles: {a: {service: control, trigger: manual}}\n", Options{}, "periodic"},
		{"no service of that name", nil, "bundles: {a: {service: other}}\n", Options{}, "other"},
		{"logs with a mask", nil, "decision_logs: {service: control, mask_decision: /a/b}\n", Options{}, "mask_decision"},
		{"logs to nowhere", nil, "decision_logs: {console: true}\n", Options{}, "want a service"},
		{"two bundles for one place", signed, "bundles: {a: {service: control, resource: bundles/team}, b: {service: control, resource: bundles/team}}\n", Options{Signing: public}, "overlapping roots"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := servePolicy(t)
			if tt.body != nil {
				s.put("team", tt.body)
			}
			tt.o.OPAConfig = s.config(t, tt.config)
			_, err := Check(t.Context(), tt.o)
			if tt.want == "" && err != nil {
				t.Errorf("got %v, want it loaded", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want an error that says %q", err, tt.want)
			}
		})
	}
}

func TestKeptBundleServesWhileTheServerIsAway(t *testing.T) {
	private, public := keyPair(t)
	s := servePolicy(t)
	s.put("team", packed(t, "v1", team, nil, private))
	o := Options{OPAConfig: s.config(t, polled("team", ", persist: true")), KeepDir: filepath.Join(t.TempDir(), "bundles"), Signing: public}
	if _, err := Check(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if l, err := Check(t.Context(), o); err != nil || l.Name != "team v1" {
		t.Errorf("without the server: got %+v, %v, want what was kept", l, err)
	}
	put(t, filepath.Join(o.KeepDir, "team.tar.gz"), string(packed(t, "v2", team, nil, nil)))
	if _, err := Check(t.Context(), o); err == nil || !strings.Contains(err.Error(), ".signatures.json") {
		t.Errorf("what was kept is unsigned now: got %v, want it refused", err)
	}
}

func TestDecisionLogsAreSentWithoutWhatIsRedacted(t *testing.T) {
	const secret = "AKIAIOSFODNN7EXAMPLE"
	s := servePolicy(t)
	logs := "decision_logs: {service: control, reporting: {min_delay_seconds: 0, max_delay_seconds: 1}}\n"
	rules := whole(`decision := {"action": "allow", "rule": "quiet", "redact": ["/tool/arguments/note"]} if input.tool.arguments.note

else := {"action": lower("oops")} if input.tool.arguments.break

else := {"action": "hold", "rule": "asks", "hold": {"approvers": {"escalate": [{"after": "10m", "roles": ["leads"]}]}}}`)
	e := open(t, Options{OPAConfig: s.config(t, logs), Path: write(t, map[string]string{"p.rego": rules})})
	start(t, e)
	for _, tt := range []struct {
		name      string
		arguments map[string]any
		rule      string
		keeps     string // is in the event
		loses     string // is not
	}{
		{"what a decision redacts", map[string]any{"note": secret, "command": "ls build"}, "quiet", `"ls build"`, secret},
		{"what looks like a secret", map[string]any{"command": "export KEY=" + secret}, "asks", `"aws_access_key`, secret},
		{"all that was written, where policy failed", map[string]any{"break": true, "command": "ls seacrest"}, holdgate.RulePolicyError, `"Bash"`, "seacrest"},
		{"nothing", map[string]any{"command": "ls public"}, "asks", `"ls public"`, secret},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call := toolCall(t, "Bash", tt.arguments)
			if d := e.Decide(t.Context(), Input{Call: call}); d.Rule != tt.rule {
				t.Fatalf("decided by %s: %s", d.Rule, d.Reason)
			}
			var event map[string]any
			select {
			case event = <-s.events:
			case <-time.After(patience):
				t.Fatal("no event was sent")
			}
			text, err := json.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), tt.keeps) || strings.Contains(string(text), tt.loses) {
				t.Errorf("%s\nwant %s and not %s", text, tt.keeps, tt.loses)
			}
			labels, _ := event["labels"].(map[string]any)
			result, _ := event["result"].(map[string]any)
			if labels["fleet"] != "laptops" || event["revision"] != e.Loaded().Revision || result["rule"] != tt.rule || event["path"] != "holdgate/decision" || event["decision_id"] == "" {
				t.Errorf("labels %v, revision %v, path %v, result %v", labels, event["revision"], event["path"], result)
			}
		})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	e.Close(ctx)
}

func TestDecisionLogsCanBeWithoutInputs(t *testing.T) {
	s := servePolicy(t)
	e := open(t, Options{OPAConfig: s.config(t, "decision_logs: {service: control}\n"), NoInputs: true})
	e.Decide(t.Context(), Input{Call: bashCall("ls private")})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	e.Close(ctx) // sends what waits
	select {
	case event := <-s.events:
		if event["input"] != nil || event["result"] == nil {
			t.Errorf("got %v, want a result and no input", event)
		}
	case <-time.After(patience):
		t.Fatal("no event was sent")
	}
}
