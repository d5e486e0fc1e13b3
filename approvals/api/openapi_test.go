package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/stats"
	"github.com/holdgate/holdgate/store/audit"
)

type document struct {
	OpenAPI string                               `json:"openapi"`
	Paths   map[string]map[string]map[string]any `json:"paths"`
	Comps   struct {
		Schemas map[string]struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		} `json:"schemas"`
	} `json:"components"`
}

func readDocument(t *testing.T) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(openAPIDocument, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheDocumentHasEveryRouteAndNoOther(t *testing.T) {
	d := readDocument(t)
	if !strings.HasPrefix(d.OpenAPI, "3.1.") {
		t.Errorf("openapi is %q, want 3.1", d.OpenAPI)
	}
	var want, got, open []string
	s := &Server{}
	for _, r := range s.routes() {
		want = append(want, r.pattern)
		if r.open {
			open = append(open, r.pattern)
		}
	}
	for path, ops := range d.Paths {
		for method, op := range ops {
			pattern := strings.ToUpper(method) + " " + path
			got = append(got, pattern)
			if _, public := op["security"]; public != slices.Contains(open, pattern) {
				t.Errorf("%s: the document says public: %v", pattern, public)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-served +documented):\n%s", diff)
	}
}

func TestTheDocumentsSchemasAreThoseOfTheTypes(t *testing.T) {
	d := readDocument(t)
	types := map[string]any{
		"Request": approvals.Request{}, "Agent": approvals.AgentRef{}, "Session": approvals.Ref{}, "Call": approvals.CallView{},
		"Tool": approvals.ToolView{}, "Briefing": approvals.Briefing{}, "Section": briefing.Section{}, "Effect": holdgate.Effect{}, "Counts": briefing.Counts{}, "Option": holdgate.Option{}, "Approvers": holdgate.Approvers{},
		"Finding": holdgate.Finding{}, "Claim": approvals.Claim{}, "Deferral": approvals.Deferral{}, "Defer": Deferral{}, "CheckEdit": Check{}, "Checked": Checked{}, "PersonState": PersonState{}, "PersonPut": PersonPut{}, "PreviewOf": PreviewOf{}, "Preview": approvals.Preview{}, "Covered": approvals.Covered{}, "Delegation": people.Delegation{}, "Vote": approvals.Vote{}, "Remember": approvals.Remember{}, "Grant": approvals.Grant{}, "Similar": approvals.Similar{}, "Outcome": holdgate.Outcome{},
		"Decision": Decision{}, "GroupDecision": GroupDecision{}, "GroupResult": GroupResult{}, "DelegateTo": Delegation{}, "Nothing": Nothing{}, "Event": approvals.Event{},
		"Entry": audit.Entry{}, "AuditCall": audit.Call{}, "AuditTool": audit.Tool{}, "AuditDecision": audit.Decision{}, "Head": Head{}, "SignedHead": SignedHead{}, "Inclusion": audit.Inclusion{}, "Consistency": audit.Consistency{},
		"Status": Status{}, "Trouble": Trouble{}, "Unreached": Unreached{}, "Listener": Listener{}, "Policy": Policy{}, "Challenge": Challenge{}, "Proven": Proven{}, "Run": Run{}, "Problem": Problem{},
		"Plugin": Plugin{}, "ConfigState": ConfigState{}, "ConfigWaiting": ConfigWaiting{}, "ConfigAccepted": ConfigAccepted{}, "LogLevel": LogLevel{}, "Bundle": Bundle{}, "PolicyState": PolicyState{}, "PolicyRule": PolicyRule{}, "PolicyRevision": PolicyRevision{}, "PolicyPush": PolicyPush{}, "PolicyPushed": PolicyPushed{}, "PolicyDraftOf": PolicyDraftOf{}, "PolicyDraft": PolicyDraft{}, "PolicyReview": PolicyReview{}, "PolicyChange": PolicyChange{}, "PolicyPass": PolicyPass{}, "PolicySuggestions": PolicySuggestions{}, "PolicySuggestion": PolicySuggestion{},
		"KnownAgent": agents.Agent{}, "Standing": approvals.AgentStatus{}, "Intervention": Intervention{},
		"Gate": approvals.GateView{}, "RunSession": approvals.Session{}, "SessionMode": SessionMode{}, "Note": Note{}, "PassedGate": sessions.Passed{}, "Report": sessions.Report{},
		"Verification": sessions.Verification{}, "Check": sessions.Check{}, "Retries": sessions.Retries{}, "SessionCounts": sessions.Counts{}, "Usage": holdgate.Usage{}, "ToolsEnded": sessions.Ended{}, "Message": sessions.Message{},
		"Stats": stats.Stats{}, "StatsGroup": stats.Group{}, "StatsVoter": stats.Voter{}, "Took": stats.Took{},
		"Member":         Member{},
		"PolicyRollback": PolicyRollback{}, "PolicyQuestion": PolicyQuestion{},
	}
	for name, schema := range d.Comps.Schemas {
		v, ok := types[name]
		if !ok {
			t.Errorf("schema %s is of no type", name)
			continue
		}
		delete(types, name)
		var want, required, got []string
		for _, f := range members(reflect.TypeOf(v)) {
			tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if tag == "-" {
				continue
			}
			want = append(want, tag)
			if !strings.Contains(options, "omit") {
				required = append(required, tag)
			}
		}
		for p := range schema.Properties {
			got = append(got, p)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-type +document):\n%s", name, diff)
		}
		slices.Sort(required)
		slices.Sort(schema.Required)
		if diff := cmp.Diff(required, schema.Required); diff != "" {
			t.Errorf("%s, required (-type +document):\n%s", name, diff)
		}
	}
	for name := range types {
		t.Errorf("type %s has no schema", name)
	}
}

// members are the fields of a type as JSON has them: those of embedded types
// among its own.
func members(t reflect.Type) (fields []reflect.StructField) {
	for f := range t.Fields() {
		if f.Anonymous && f.Tag.Get("json") == "" {
			fields = append(fields, members(f.Type)...)
			continue
		}
		fields = append(fields, f)
	}
	return fields
}

func TestOwnHostIsNoOtherHost(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1:7301": true, "localhost:7301": true, "[::1]:7301": true, "192.0.2.7:7301": true,
		"127.0.0.1": false, "127.0.0.1:07301": true, "127.0.0.1:+7301": false, "127.0.0.2:7301": false, "192.0.2.8:7301": false,
		"": false, ":7301": false, "localhost.:7301": false, "[::1]": false, "evil:7301": false, "localhost:7301:7301": false,
	} {
		if got := ownHost(host, tcpAddr("192.0.2.7:7301")); got != want {
			t.Errorf("ownHost(%q) = %v, want %v", host, got, want)
		}
	}
	if !ownHost("localhost", tcpAddr("127.0.0.1:80")) {
		t.Error("port 80 must not have to be written")
	}
}

type tcpAddr string

func (tcpAddr) Network() string  { return "tcp" }
func (a tcpAddr) String() string { return string(a) }

func TestAnErrorWithoutMeaningLeaksNothing(t *testing.T) {
	p, known := asProblem(http.ErrBodyNotAllowed)
	if known || p.Status != 500 || strings.Contains(p.Detail, http.ErrBodyNotAllowed.Error()) {
		t.Errorf("got %+v, known %v", p, known)
	}
}
