package facts

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/holdgate/holdgate/rego/facts/argv"
)

// ownTable has more tools of agents, as [toolTable] does, under names that an MCP
// server could well have for something else: finish, create, remember. They count
// only where a name can be no server's tool: it has no server before it, and no
// server that is known has a tool of that name.
//
// The names come from OpenHands and SWE-agent, Augment, Kiro, Windsurf, Cursor,
// Zed, Amp, Trae, Cline, Roo Code, Copilot, Goose, Crush, Gemini CLI and Manus, and
// from the requests of the Agent Client Protocol, as package proxy/acp names them.
// Those that end a shell end one that the agent has started, by a number of its own.
const ownTable = `
read     -     finish taskdone taskcomplete idle wait now goto scrollup scrolldown condense summarizetask switchmode suggestedresponses userinput askquestions vscodeaskquestions messagenotifyuser messageaskuser : text=text attachments=read
read     -     viewtasklist addtasks updatetasks reorganizetasklist gettasklist todo todolist updatetodolist updatetodo taskstatus updatepbtstatus prework updatetopic trackercreatetask trackerupdatetask trackergettask trackerlisttasks trackeradddependency trackervisualize : command=text
read     -     remember creatememory updatememory storememory introspect loadmcpdocumentation fetchinstructions fetchcopilotclidocumentation getvscodeapi getprojectsetupinfo crushinfo crushlogs trajectorysearch projectnotifications : memory=text query=text action=text
read     -     mermaid rendermermaid creatediagram : code=text content=text diagramdefinition=text
read     -     readprocess shellview shellwait checkcommandstatus readagent listagents readthread findthread viewrangeuntruncated searchuntruncated getsearchviewresults testfailure checkdeploystatus platformsearchavailableextensions developerlistwindows
read     -     killshell killbash taskstop jobkill killterminal stopbash stopcommand shellkillprocess
read     deep  searchbyregex searchdir : query=text pattern=text regex=text searchterm=text
read     read  lsp finder lookat readnotebook searchinfile findfile fileread filefindincontent filefindbyname viewfiles codebaseretrieval gitcommitretrieval findreferences gotodefinition testsearch findtestfiles readdeploymentconfig developeranalyze developerimageprocessor : query=text pattern=text regex=text searchterm=text glob=pattern
write    write fs/writetextfile permission/edit permission/move
read     read  fs/readtextfile permission/read
read     deep  permission/search
delete   delete permission/delete
network  -     permission/fetch
exec     -     terminal/create permission/execute
read     -     terminal/output terminal/waitforexit terminal/release terminal/kill permission/think
write    write create filewrite filestrreplace updatefile formatfile semanticrename
write    write jsonedittool : jsonpath=text value=text
write    write smartrelocate : sourcepath=move destinationpath=write
network  -     browserpreview infosearchweb githubrepo : query=text
spawn    -     oracle librarian searchsubagent subagentexecutetask runslashcommand handoff : files=read command=text args=text context=text query=text
exec     -     aws : servicename=service operationname=service parameters=service region=service profilename=service label=text
`

// awsWords are the words of the AWS command line that a tool would run: Kiro and
// Amazon Q give the service, the operation and the options in arguments of their
// own.
func awsWords(kind toolKind, args map[string]any) ([]argv.Field, bool) {
	if kind.args["servicename"] != roleService {
		return nil, false
	}
	words := []argv.Field{{Text: "aws"}}
	for _, key := range []string{"service_name", "operation_name"} {
		s, _ := args[key].(string)
		words = append(words, argv.Field{Text: s})
	}
	options, _ := args["parameters"].(map[string]any)
	for _, name := range sortedKeys(options) {
		words = append(words, argv.Field{Text: "--" + optionSpelling(name)})
		if s, ok := options[name].(string); !ok {
			text, err := json.Marshal(options[name])
			if err == nil {
				words = append(words, argv.Field{Text: string(text)})
			}
		} else if s != "" {
			words = append(words, argv.Field{Text: s})
		}
	}
	for _, o := range [][2]string{{"region", "--region"}, {"profile_name", "--profile"}} {
		if s, _ := args[o[0]].(string); s != "" {
			words = append(words, argv.Field{Text: o[1]}, argv.Field{Text: s})
		}
	}
	return words, true
}

// optionSpelling makes --instance-ids, instance_ids and InstanceIds one name.
func optionSpelling(name string) string {
	var b strings.Builder
	for i, r := range strings.TrimLeft(name, "-") {
		switch {
		case r == '_':
			r = '-'
		case unicode.IsUpper(r) && i > 0:
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
