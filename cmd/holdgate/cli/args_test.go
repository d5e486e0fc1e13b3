package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

func TestFlagsMayFollowArguments(t *testing.T) {
	app := &cli.App{Flags: globalFlags(), Commands: commands(&env{&command.Env{}})}
	tests := []struct{ name, in, want string }{
		{"nothing", "holdgate", "holdgate"},
		{"a command alone", "holdgate pending", "holdgate pending --"},
		{"flags first", "holdgate deny --reason no ID", "holdgate deny --reason no -- ID"},
		{"flags last", "holdgate deny ID --reason no", "holdgate deny --reason no -- ID"},
		{"a flag with its value in one word", "holdgate deny ID --reason=no", "holdgate deny --reason=no -- ID"},
		{"one dash", "holdgate deny ID -reason no", "holdgate deny -reason no -- ID"},
		{"a switch takes no value", "holdgate show --json ID", "holdgate show --json -- ID"},
		{"an alias", "holdgate reject ID --reason no", "holdgate reject --reason no -- ID"},
		{"two dashes end the flags", "holdgate steer ID -- --force is bad", "holdgate steer -- ID --force is bad"},
		{"one dash alone is an argument", "holdgate policy eval - --policy p", "holdgate policy eval --policy p -- -"},
		{"global flags", "holdgate --state-dir d pending --json", "holdgate --state-dir d pending --json --"},
		{"subcommands", "holdgate audit --state-dir d query --limit 1 x", "holdgate audit --state-dir d query --limit 1 -- x"},
		{"a group lists", "holdgate sessions", "holdgate sessions list --"},
		{"a group lists as its flags say", "holdgate sessions --agent a --json", "holdgate sessions list --agent a --json --"},
		{"a group lists, with global flags", "holdgate agents --state-dir d --json", "holdgate agents list --state-dir d --json --"},
		{"a group's other command", "holdgate agents --state-dir d add x", "holdgate agents --state-dir d add -- x"},
		{"a group's help", "holdgate agents --help", "holdgate agents --help"},
		{"a group's unknown command", "holdgate agents all", "holdgate agents all"},
		{"help, and no help topic", "holdgate deny ID --json --help --reason no", "holdgate deny --json --help --reason no --"},
		{"help in one letter", "holdgate policy try -h x", "holdgate policy try -h --"},
		{"a value that looks like help", "holdgate deny ID --reason --help", "holdgate deny --reason --help -- ID"},
		{"help of somebody else", "holdgate policy try -- ls --help", "holdgate policy try -- ls --help"},
		{"an unknown flag is left for the parser", "holdgate deny ID --nonsense", "holdgate deny --nonsense -- ID"},
		{"an unknown command is left as it is", "holdgate nonsense a --b", "holdgate nonsense a --b"},
		{"a value that is missing", "holdgate deny ID --reason", "holdgate deny --reason"},
		{"a value that is missing before the command", "holdgate --config", "holdgate --config"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.Fields(tt.want), interspersed(app, strings.Fields(tt.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
