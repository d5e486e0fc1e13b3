package wire_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestPosts(t *testing.T) {
	tests := []struct {
		method, path string
		want         bool
	}{
		{"POST", "/v1/messages", true},
		{"post", "/v1/messages", true},
		{"Post ", "/v1/messages", true},
		{"PUT", "/v1/messages", true},
		{"patch", "/v1/messages", true},
		{"POST", "/anthropic/v1/messages", true},
		{"POST", "/v1/messages;x", true},
		{"POST", "/v1;a=b/messages;c=d;e", true},
		{"POST", "/v1/messages%3Bx", true},
		{"POST", "/v1/messages ", true},
		{"POST", "/v1/messages%20", true},
		{"POST", "/v1/messages%20%09/", true},
		{"POST", "/v1/messages%00.png", true},
		{"POST", "/v1/messages\u00a0", true},
		{"POST", "/v1/messages.json", true},
		{"POST", "/v1/messages.JSON.;x/", true},
		{"POST", "/v1/messages .json", true},
		{"POST", "/v1/messages...", true},
		{"POST", "/v1/messages/.", true},
		{"POST", "/v1/messages/x/..", true},
		{"POST", "/v1/messages/x/..;y/", true},
		{"POST", "/v1/%2e/messages", true},
		{"POST", "/v1%2Fmessages", true},
		{"POST", `/v1\messages`, true},
		{"POST", "//v1///messages//", true},
		{"POST", "/V1/Me%53sages", true},
		{"POST", "/v1/meſsages", true},
		{"POST", "/%zz%/v1/%6Dessages%20", true},
		{"POST", "/v1/messages?beta=true", true},
		{"POST", "/v1/messages%3Fbeta", true},
		{"POST", "/v1/messages%", false}, // as it stands
		{"POST", "/v1/messages%2", false},
		{"GET", "/v1/messages", false},
		{"", "/v1/messages", false},
		{"POST", "/v1/messages/count_tokens", false},
		{"POST", "/v1/messages/..", false},
		{"POST", "/v1/../messages", false},
		{"POST", "/v1/notmessages", false},
		{"POST", "/v1/messages.jsonx", false},
		{"POST", "/v1x/messages", false},
		{"POST", "/messages", false},
		{"POST", "/../..", false},
		{"POST", ".json", false},
		{"POST", "", false},
	}
	for _, tt := range tests {
		if got := wire.Posts(tt.method, tt.path, "/v1/messages"); got != tt.want {
			t.Errorf("Posts(%q, %q) = %v, want %v", tt.method, tt.path, got, tt.want)
		}
	}
}

// FuzzPosts adds to a path what makes no difference to lenient servers.
func FuzzPosts(f *testing.F) {
	f.Add("/x", ";a=b", " ", uint8(1))
	f.Add("", ".json", "%20", uint8(3))
	f.Add("/%zz", "%3bx", ".", uint8(0))
	f.Fuzz(func(t *testing.T, before, after, end string, upper uint8) {
		wire.Posts(before, after, "/a/b") // whatever these are, it comes to an end
		path := "/v1/messages"
		i := int(upper) % len(path)
		path = path[:i] + strings.ToUpper(path[i:])
		blanks := strings.Repeat("/. ", len(end)%5)
		if !wire.Posts("POST", "/x"+path+blanks, "/v1/messages") {
			t.Errorf("%q does not match", path+blanks)
		}
		if !strings.ContainsAny(after, "/\\%") && !wire.Posts("POST", path+";"+after, "/v1/messages") {
			t.Errorf("%q does not match", path+";"+after)
		}
	})
}
