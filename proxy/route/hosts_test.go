package route

import (
	"net/url"
	"testing"
)

func TestJoinIsOfPathsOnly(t *testing.T) {
	base, _ := url.Parse("https://api.example.com/root")
	for _, sub := range []string{"/v1//messages", "/../x", "/a/..", "/a/%2e%2e/b", "/%2fevil.example", "/a\\b", "/.", "/a/./b", "/%5cx"} {
		if u, err := Join(base, sub, ""); err == nil {
			t.Errorf("%q was joined to %s", sub, u)
		}
	}
	tests := []struct{ sub, query, want string }{
		{"/v1/messages", "beta=true", "https://api.example.com/root/v1/messages?beta=true"},
		{"", "", "https://api.example.com/root"},
		{"/@evil.example/x", "", "https://api.example.com/root/@evil.example/x"},
		{"/models/a%3Ab", "", "https://api.example.com/root/models/a%3Ab"},
	}
	for _, tt := range tests {
		u, err := Join(base, tt.sub, tt.query)
		if err != nil || u.String() != tt.want {
			t.Errorf("join(%q) = %v, %v; want %s", tt.sub, u, err, tt.want)
		}
	}
}

func TestHostsAreComparedWithTheirPort(t *testing.T) {
	same := [][3]string{{"https", "a.example", "A.EXAMPLE:443"}, {"http", "a.example.", "a.example:80"}, {"https", "[::1]", "[::1]:443"}, {"http", "a:080", "a:80"}}
	for _, x := range same {
		if WithPort(x[0], x[1]) != WithPort(x[0], x[2]) {
			t.Errorf("%s and %s are told apart under %s", x[1], x[2], x[0])
		}
	}
	if WithPort("https", "a.example") == WithPort("https", "a.example:8443") {
		t.Error("two ports are taken for one")
	}
}
