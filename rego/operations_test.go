package rego

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
)

func TestOperationsHaveNames(t *testing.T) {
	e, err := Open(t.Context(), Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	const k8s = "kubernetes.default.svc"
	tests := []struct{ host, request, action, want string }{
		{"api.github.com", "DELETE /repos/o/r", "", "github.repos.delete"},
		{"API.GitHub.com.:443", "DELETE /repos/o/r/", "", "github.repos.delete"},
		{"api.github.com", "HEAD /repos/o/r", "", "github.repos.get"},
		{"api.github.com", "GET /repos/o/r/issues/7", "", "github.issues.get"},
		{"api.github.com", "DELETE /repos/o/r/git/refs/heads/a/b", "", "github.git.refs.delete"},
		{"api.github.com", "PUT /repos/o/r/contents/a/b.txt", "", "github.repos.contents.update"},
		{"api.github.com", "DELETE /user/packages/npm/x", "", "github.packages.delete"},
		{"api.github.com", "DELETE /Repos/o/r", "", "github.unresolved"},
		{"api.github.com", "DELETE /repos/o/r/nothing/known", "", ""},
		{"api.github.com", "OPTIONS /repos/o/r", "", ""},
		{"api.github.com.evil.example", "DELETE /repos/o/r", "", ""},
		{"github.com", "DELETE /repos/o/r", "", ""},
		{k8s, "DELETE /api/v1/namespaces/a/pods/b", "", "k8s.pods.delete"},
		{k8s, "DELETE /api/v1/namespaces/a/pods", "", "k8s.pods.deletecollection"},
		{k8s, "GET /api/v1/namespaces/a", "", "k8s.namespaces.get"},
		{k8s, "DELETE /api/v1/namespaces/a", "", "k8s.namespaces.delete"},
		{k8s, "PUT /api/v1/namespaces/a/finalize", "", "k8s.namespaces.finalize.update"},
		{k8s, "POST /api/v1/namespaces/a/pods/b/exec?command=sh", "", "k8s.pods.exec.create"},
		{k8s, "GET /api/v1/nodes", "", "k8s.nodes.list"},
		{"10.0.0.1:6443", "PATCH /apis/apps/v1/namespaces/a/deployments/b", "", "k8s.deployments.patch"},
		{"10.0.0.1:8443", "PATCH /apis/apps/v1/namespaces/a/deployments/b", "", ""},
		{"X.gr7.eu-west-1.eks.amazonaws.com", "DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/x", "", "k8s.clusterroles.delete"},
		{k8s, "DELETE /api/v1/namespaces/a/po.ds/b", "", "k8s.unresolved.delete"},
		{"s3.eu-west-1.amazonaws.com", "DELETE /bucket", "", "aws.s3.DeleteBucket"},
		{"s3.amazonaws.com", "DELETE /bucket/a/b", "", "aws.s3.DeleteObject"},
		{"s3.amazonaws.com", "DELETE /bucket?policy", "", "aws.s3.DeleteBucketPolicy"},
		{"bucket.s3.eu-west-1.amazonaws.com", "DELETE /", "", "aws.s3.DeleteBucket"},
		{"bucket.s3.amazonaws.com", "POST /?delete=", "", "aws.s3.DeleteObjects"},
		{"bucket.s3.amazonaws.com", "GET /a/b", "", "aws.s3.GetObject"},
		{"lambda.eu-west-1.amazonaws.com", "DELETE /2015-03-31/functions/f", "", "aws.lambda.DeleteFunction"},
		{"dynamodb.eu-west-1.amazonaws.com", "POST /", "DynamoDB_20120810.DeleteTable", "aws.dynamodb.DeleteTable"},
		{"ec2.eu-west-1.amazonaws.com", "POST /", "TerminateInstances", "aws.ec2.TerminateInstances"},
		{"iam.amazonaws.com", "GET /?Action=DeleteUser", "DeleteUser", "aws.iam.DeleteUser"},
		{"iam.amazonaws.com", "POST /", "", "aws.iam.unresolved"},
		{"iam.amazonaws.com", "POST /", "ListUsers,DeleteUser", "aws.iam.unresolved"},
		{"iam.amazonaws.com", "POST /", "Svc.ListUsers,Svc.DeleteUser", "aws.iam.unresolved"},
		{"iam.amazonaws.com", "POST /", "?", "aws.iam.unresolved"},
		{"iam.amazonaws.com", "GET /", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.host+" "+tt.request+" "+tt.action, func(t *testing.T) {
			h := request(tt.host, tt.request, tt.action)
			if got := e.Operation(h); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			h.Unresolved = []string{holdgate.UnresolvedSlash}
			if got := e.Operation(h); got != "" && !strings.Contains(got, "unresolved") {
				t.Errorf("what could be two requests is %q", got)
			}
			h.Unresolved, h.MethodOverride = nil, "DELETE"
			if got := e.Operation(h); got != "" && !strings.Contains(got, "unresolved") {
				t.Errorf("what asks for another method is %q", got)
			}
		})
	}
}

func request(host, line, action string) *holdgate.HTTP {
	method, target, _ := strings.Cut(line, " ")
	path, query, _ := strings.Cut(target, "?")
	return &holdgate.HTTP{Method: method, Scheme: "https", Host: host, Path: path, Query: query, Action: action}
}

// TestOperationsOfOnesOwn: settings add a service, and rules read its names.
func TestOperationsOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	settings := `settings:
  operations:
    shop: {name: shop, hosts: ["shop.example"], requests: {"POST /orders/{}/{what}": "orders.{what}"}}
  http: {operations: {shop.orders.refund: deny, shop.orders.note: auto}}
`
	if err := os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), Options{Path: dir, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"POST /orders/7/refund": "deny http.operation", "POST /orders/7/note": "allow default", "POST /orders/7/other": "hold http.write"} {
		d := e.Decide(t.Context(), Input{Call: holdgate.Call{Kind: holdgate.KindHTTPRequest, HTTP: request("shop.example", line, "")}})
		if got := d.Action.String() + " " + d.Rule; got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if got := e.Operation(request("api.github.com", "DELETE /repos/o/r", "")); got != "github.repos.delete" {
		t.Errorf("the pack's own table is gone: %q", got)
	}
	broken := "settings:\n  operations:\n    shop: {name: shop, hosts: [shop.example]}\n"
	if err := os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Path: dir, Timeout: time.Minute}); err == nil || !strings.Contains(err.Error(), "operations.shop") {
		t.Errorf("a service without requests: %v", err)
	}
}
