package record_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/record"
)

func TestTargetNamesWhatACallIsAbout(t *testing.T) {
	at := func(what string, where ...string) (list []holdgate.Effect) {
		for _, w := range where {
			list = append(list, holdgate.Effect{Kind: holdgate.EffectDelete, What: what, Where: w})
		}
		return list
	}
	command := func(title string, lines ...string) []briefing.Section {
		return []briefing.Section{{Title: title, Kind: briefing.KindCommand, Lines: lines}}
	}
	const runs = "what runs, the most dangerous first"
	bash := record.ToolView{Name: "Bash"}
	for _, tt := range []struct {
		name     string
		tool     record.ToolView
		gate     string
		effects  []holdgate.Effect
		sections []briefing.Section
		want     string
	}{
		{"the worst effect", bash, "", at("folder", "./src", "./build"), command("command", "rm -rf ./src ./build"), "./src"},
		{"an object in a place", bash, "", at("resource", "deployment api namespace=web"), nil, "api"},
		{"the next effect whose name is known", bash, "", at("folder", "", "./build"), nil, "./build"},
		{"not a name that nobody can type", bash, "", at("folder", "./⟨U+202E⟩src", "./build"), nil, "./build"},
		{"not what is only read beside it", bash, "", append(at("folder", "/srv/"+strings.Repeat("x", 70)), holdgate.Effect{Kind: holdgate.EffectRead, What: "file", Where: "README.md"}), nil, "r1"},
		{"what is run, with what it is to do", record.ToolView{Name: "bash"}, "", []holdgate.Effect{{Kind: holdgate.EffectRun, What: "program", Where: "bash"}}, command("command", "bash deploy.sh"), "bash deploy.sh"},
		{"not the tool as an effect", record.ToolView{Name: "build"}, "", at("folder", "build"), nil, "r1"},
		{"a program with what it is to do", bash, "", at("infrastructure", ""), command("command", "terraform -auto-approve apply"), "terraform apply"},
		{"the most dangerous of several", bash, "", nil, append(command("command", "cd x && terraform destroy"), command(runs, "/usr/bin/terraform destroy   [through sudo]", "cd x")...), "terraform destroy"},
		{"not the first of a line that was not read", bash, "", nil, command("command", "echo hello; terraform destroy"), "r1"},
		{"a program alone", bash, "", nil, command("command", "reboot"), "reboot"},
		{"not what is known only when it runs", bash, "", nil, command(runs, "$CMD x"), "r1"},
		{"not the tool again", record.ToolView{Name: "bash"}, "", nil, command("command", "bash"), "r1"},
		{"a server's tool", record.ToolView{Server: "jira", Name: "delete_issue"}, "", nil, nil, "jira delete_issue"},
		{"never a tool's name alone", bash, "", nil, nil, "r1"},
		{"a gate of a tool's call neither", bash, "deploy", nil, nil, "r1"},
		{"a gate", record.ToolView{}, "deploy", nil, nil, "deploy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := record.Request{ID: "r1", Gate: tt.gate, Briefing: briefing.Briefing{Effects: tt.effects, Sections: tt.sections}}
			if tt.tool.Name != "" {
				r.Call.Tool = &tt.tool
			}
			if got := r.Target(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
