package sdk_test

import (
	"testing"

	"github.com/holdgate/holdgate/plugins/sdk"
)

func TestAChannelListensOnLoopbackUnlessSaidOtherwise(t *testing.T) {
	for _, c := range []struct {
		listen string
		remote bool
		want   string // "" is an error
	}{
		{":0", false, "127.0.0.1:0"},
		{"localhost:0", false, "localhost:0"},
		{"[::1]:0", false, "[::1]:0"},
		{"0.0.0.0:0", false, ""},
		{"hooks.example:0", false, ""},
		{"0.0.0.0:0", true, "0.0.0.0:0"},
		{"7302", false, ""},
	} {
		got, err := sdk.ListenAddr(c.listen, c.remote)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("ListenAddr(%q, %v) = %q, %v; want %q", c.listen, c.remote, got, err, c.want)
		}
	}
}
