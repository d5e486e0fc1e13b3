package trust_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/trust"
)

// What leads to the state, and what lets others in, no agent sees or writes.
func TestSecretsOfTheStoreAndOfChannelsAreMaskedAndTrusted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bot := filepath.Join(dir, "bot")
	if err := os.WriteFile(bot, []byte("xoxb"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default(filepath.Join(dir, "state"), "ada")
	c.Store.Postgres = config.Postgres{URLFile: filepath.Join(dir, "url"), PasswordFile: filepath.Join(dir, "password"), PasswordCommand: []string{filepath.Join(dir, "print")}}
	c.Plugins = map[string]config.Plugin{"slack": {Config: config.Settings{"bot_token_file": bot, "made_file": filepath.Join(dir, "not-there")}}}
	masked, trusted := trust.Masked(c), trust.Files(c, "")
	for _, path := range []string{c.Store.Postgres.URLFile, c.Store.Postgres.PasswordFile, bot, c.StateDir} {
		if !slices.Contains(masked, path) {
			t.Errorf("an agent sees %s", path)
		}
	}
	for _, path := range []string{c.Store.Postgres.URLFile, c.Store.Postgres.PasswordFile, c.Store.Postgres.PasswordCommand[0], bot} {
		if !slices.Contains(trusted, path) {
			t.Errorf("an agent writes %s", path)
		}
	}
	if slices.Contains(masked, filepath.Join(dir, "not-there")) {
		t.Error("what is not there is masked")
	}
}
