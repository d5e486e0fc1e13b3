package runs

import (
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

func TestARunGetsANameOfItsOwn(t *testing.T) {
	t.Parallel()
	c := config.Config{Agents: map[string]config.Agent{"claude": {}, "claude-2": {}}}
	for program, want := range map[string]string{"/usr/bin/codex": "codex", "/usr/bin/claude": "claude-3", "./default": "default-2"} {
		if got := ID(c, program); got != want {
			t.Errorf("%s counts as %s, want %s", program, got, want)
		}
	}
}
