package wire_test

import (
	"fmt"
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

// FuzzSpellingOfPaths holds that a path matches as it does with a character in it
// percent-encoded: what is plain is read by a shorter way.
func FuzzSpellingOfPaths(f *testing.F) {
	suffixes := []string{"/v1/messages", "/messages", "/chat/completions", "/containers/*/files/*/content", "/in*/x"}
	for _, p := range []string{"", "/", "//", "/v1/messages", "/V1//Messages/", "v1/messages", "/x/v1/messages", "/v1/messages/x", "/messages/v1", "/v1messages", "/containers/a/files/b/content", "/containers//files/b/content", "/inner/x", "/in/x", "/IN/X", "/i/x", "/v1/models/m:run"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if strings.ContainsAny(path, "%") || len(path) > 512 { // each byte is spelled once, and the whole read again
			t.Skip()
		}
		for _, suffix := range suffixes {
			want := wire.Posts("POST", path, suffix)
			for i := range len(path) {
				spelled := fmt.Sprintf("%s%%%02x%s", path[:i], path[i], path[i+1:])
				if got := wire.Posts("POST", spelled, suffix); got != want {
					t.Errorf("%q for %q: %v, and spelled %q: %v", path, suffix, want, spelled, got)
				}
			}
		}
	})
}
