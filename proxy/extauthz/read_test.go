package extauthz

import (
	"io"
	"net/http"
	"strings"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/protobuf/proto"
)

// However a message reads, no request is made of it whose body may be cut, or whose address is another's.
func FuzzCheckRequest(f *testing.F) {
	for _, r := range []*authv3.AttributeContext_HttpRequest{
		{Method: "GET", Path: "/a?b=c", Host: "x.example", Scheme: "https", Headers: map[string]string{"accept": "*/*"}},
		{Method: "POST", Path: "/a", Host: "x.example:8080", Headers: map[string]string{"content-length": "2", "x-envoy-auth-partial-body": "false"}, Body: "ab"},
		{Method: "POST", Path: "/a", Host: "x.example", Headers: map[string]string{"x-envoy-auth-partial-body": "true"}, RawBody: []byte("ab")},
		{Method: "GET", Path: "//y.example/a", Host: "x.example"},
	} {
		b, err := proto.Marshal(&authv3.CheckRequest{Attributes: &authv3.AttributeContext{Request: &authv3.AttributeContext_Request{Http: r}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := new(authv3.CheckRequest)
		if proto.Unmarshal(b, in) != nil {
			return
		}
		r, refused := read(in, 1<<16)
		if refused != nil {
			if refused.status < 400 || refused.why == "" {
				t.Fatalf("refused with %d %q", refused.status, refused.why)
			}
			return
		}
		a := in.GetAttributes().GetRequest().GetHttp()
		body, err := io.ReadAll(r.Body)
		if err != nil || int64(len(body)) != r.ContentLength || string(body) != a.GetBody()+string(a.GetRawBody()) {
			t.Fatalf("the body is %q (%d): %v", body, r.ContentLength, err)
		}
		if strings.EqualFold(a.GetHeaders()["x-envoy-auth-partial-body"], "true") {
			t.Fatal("a cut body is taken for all of it")
		}
		if r.URL.Host != a.GetHost() || r.URL.User != nil || !strings.HasPrefix(r.URL.Path, "/") || r.URL.Scheme != "http" && r.URL.Scheme != "https" {
			t.Fatalf("it goes to %v", r.URL)
		}
	})
}

// From HTTP/2 on a body comes without a word in the headers: a request that may have one that
// the filter does not show is refused.
func TestABodyThatTheFilterDoesNotShow(t *testing.T) {
	for _, c := range []struct {
		method, protocol string
		headers          map[string]string
		want             int
	}{
		{"DELETE", "HTTP/2", nil, http.StatusLengthRequired},
		{"DELETE", "HTTP/3", nil, http.StatusLengthRequired},
		{"OPTIONS", "", nil, http.StatusLengthRequired},
		{"DELETE", "HTTP/1.1", nil, 0},
		{"DELETE", "HTTP/1.1", map[string]string{"transfer-encoding": "chunked"}, http.StatusLengthRequired},
		{"DELETE", "HTTP/2", map[string]string{"content-length": "0"}, 0},
		{"DELETE", "HTTP/2", map[string]string{"x-envoy-auth-partial-body": "false"}, 0},
		{"GET", "HTTP/2", nil, 0},
		{"POST", "HTTP/1.1", nil, http.StatusLengthRequired},
	} {
		in := &authv3.CheckRequest{Attributes: &authv3.AttributeContext{Request: &authv3.AttributeContext_Request{
			Http: &authv3.AttributeContext_HttpRequest{Method: c.method, Path: "/a", Host: "x.example", Protocol: c.protocol, Headers: c.headers}}}}
		_, refused := read(in, 1<<16)
		got := 0
		if refused != nil {
			got = refused.status
		}
		if got != c.want {
			t.Errorf("%s over %q with %v: %d, want %d", c.method, c.protocol, c.headers, got, c.want)
		}
	}
}
