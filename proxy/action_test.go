package proxy_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

// TestOperationsAreNamedByWhatTheRequestSays goes through the forward proxy to a
// stand-in of AWS: where the operation is in a header, the query or a form,
// policy sees it, and the body goes on as it came.
func TestOperationsAreNamedByWhatTheRequestSays(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, `{}`))
	port := up[strings.LastIndex(up, ":"):]
	names := &proxytest.NameServer{Answer: func(string, int) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} }}
	const host = "ec2.eu-west-1.amazonaws.com"
	policy := proxytest.WithPolicy(t, `package holdgate

import rego.v1

default decision := {"action": "deny", "rule": "test.unnamed", "reason": "it has no name"}

decision := {"action": "allow", "rule": input.http.operation} if not contains(input.http.operation, "Terminate")

decision := {"action": "hold", "rule": input.http.operation} if contains(input.http.operation, "Terminate")
`)
	g := proxytest.NewTo(t, map[string]string{"aws": "http://" + host + port}, nil, policy, proxytest.WithBudget(50*time.Millisecond), proxytest.WithNames(names.Resolver(t)))
	const form = "application/x-www-form-urlencoded"
	tests := []struct{ name, method, query, typ, target, body, rule string }{
		{"a target", "POST", "", "application/x-amz-json-1.0", "Svc_2014.DescribeThing", `{"a":1}`, "aws.ec2.DescribeThing"},
		{"two targets", "POST", "", "application/x-amz-json-1.0", "Svc.A|Svc.B", `{"a":1}`, "aws.ec2.unresolved"},
		{"a form", "POST", "", form, "", "Version=1&Action=DescribeInstances", "aws.ec2.DescribeInstances"},
		{"a form that is held", "POST", "", form, "", "Action=TerminateInstances&Id=1", "aws.ec2.TerminateInstances"},
		{"a form without a type", "POST", "", "", "", "Action=DescribeInstances", "aws.ec2.DescribeInstances"},
		{"a query", "GET", "?Action=DescribeInstances", "", "", "", "aws.ec2.DescribeInstances"},
		{"a query and a form that differ", "POST", "?Action=DescribeInstances", form, "", "Action=TerminateInstances", "aws.ec2.unresolved"},
		{"a form that says two", "POST", "", form, "", "Action=DescribeInstances&Action=TerminateInstances", "aws.ec2.unresolved"},
		{"a form that cannot be read", "POST", "", form, "", "Action=Describe%zz", "aws.ec2.unresolved"},
		{"a form that is too long to be looked into", "POST", "", form, "", "Action=DescribeInstances&x=" + strings.Repeat("y", route.PassBuffer), "aws.ec2.unresolved"},
		{"nothing", "POST", "", form, "", "a=b", "aws.ec2.unresolved"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, judged := len(seen.All()), len(g.Entries(audit.TypeDecision))
			req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+host+port+"/"+tt.query, strings.NewReader(tt.body))
			proxytest.Must(t, err)
			if tt.typ != "" {
				req.Header.Set("Content-Type", tt.typ)
			}
			for target := range strings.SplitSeq(tt.target, "|") {
				if target != "" {
					req.Header.Add("X-Amz-Target", target)
				}
			}
			resp, err := g.Proxied().Do(req)
			proxytest.Must(t, err)
			defer resp.Body.Close()
			entries := g.Entries(audit.TypeDecision)
			if len(entries) <= judged || entries[len(entries)-1].Decision.Rule != tt.rule {
				t.Fatalf("status %d, %d decisions, the last %+v; want %s", resp.StatusCode, len(entries)-judged, entries[len(entries)-1].Decision, tt.rule)
			}
			got := seen.All()[before:]
			if held := strings.Contains(tt.rule, "Terminate"); held && len(got) != 0 || !held && (len(got) != 1 || got[0] != tt.body) {
				t.Errorf("status %d, the upstream got %.200q", resp.StatusCode, got)
			}
		})
	}
}
