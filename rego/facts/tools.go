package facts

import (
	"strings"
	"sync"
	"unicode"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// role is what a tool does with one of its arguments.
type role string

const (
	roleNone    role = ""
	roleCommand role = "command" // a shell line, or a list of words to run
	roleLines   role = "lines"   // a list of shell lines, each run by itself
	roleTyped   role = "typed"   // keys for a program that already runs
	roleDir     role = "dir"     // the folder that a command runs in
	rolePath    role = "path"    // a path, touched in the tool's own way
	roleRead    role = "read"
	roleWrite   role = "write"
	roleDelete  role = "delete"
	roleMove    role = "move"    // a path that goes where the one to be written is
	rolePattern role = "pattern" // a glob
	rolePatch   role = "patch"   // an apply_patch text
	roleURL     role = "url"
	roleURLs    role = "urls" // prose that may name addresses
	roleSQL     role = "sql"
	roleQuery   role = "query"   // SQL if it reads like SQL
	roleVerb    role = "verb"    // what the tool is to do, as a word
	roleAct     role = "act"     // what to do at a screen, as a word or an object
	roleText    role = "text"    // content and prose: nothing in it acts
	roleService role = "service" // a part of a command of the AWS command line; see awsWords
)

// A toolKind is what is known of a tool by its name.
type toolKind struct {
	category string
	access   string // of the paths that it names
	deep     bool   // it reads all that lies beneath them
	moved    string // of the paths that it moves; known once the arguments are
	away     string // the machine that its commands run on, where it is another
	args     map[string]role
}

// toolTable holds the tools of the agents in common use: category, access of
// paths ("deep": to read all beneath them), names, and arguments whose role differs from what their key says
// (keyTable). Names and keys are written as normal makes them.
//
// The names come from Claude Code, Codex, Gemini CLI, Qwen Code, opencode,
// Cline, Crush, Goose, Cursor, Copilot, Anthropic's and OpenAI's own tool
// types, the reference MCP servers (filesystem, fetch, postgres, sqlite, github,
// slack) and their like; and from Windsurf, Kiro, Zed, Amp, OpenHands and Augment.
const toolTable = `
exec     -     bash shell localshell containerexec execcommand runshellcommand executecommand runcommand runcommands runterminalcmd runinterminal exec startprocess shellcommand shelltool automationscript createandruntask powershell launchprocess : command=command dirpath=dir directory=dir
exec     -     terminal : command=command cd=dir dirpath=dir directory=dir
exec     -     shellexec : command=command execdir=dir
exec     -     executebash executepwsh controlbashprocess controlpwshprocess : command=command path=dir
exec     -     writestdin sendinput writetoprocess interactwithprocess writebash writeprocess shellwritetoprocess : chars=typed input=typed inputtext=typed data=typed text=typed
exec     -     jsrepl jseval notebookruncell runnotebookcell executenotebookcell : code=text
exec     -     codeexecution executecode runcode runpython python javascripttool javascript executeipythoncell runcell repl : code=text
exec     -     computer computeruse computerusepreview : action=act actions=act text=typed keys=typed
exec     -     bashcodeexecution : command=command
exec     -     useaws : servicename=service operationname=service parameters=service region=service profilename=service label=text
read     -     bashoutput readbackgroundoutput listprocesses readprocessoutput taskoutput joboutput getterminaloutput getcommandoutput readterminal terminallastcommand waitagent closeagent lspdiagnostics lsprestart readbash listbash getprocessoutput commandstatus terminalselection gettaskoutput
exec     -     killshell killbash killprocess forceterminate taskstop jobkill killterminal stopprocess stopbash
read     read  read readfile readmanyfiles readtextfile readmediafile readmultiplefiles viewimage view notebookread getfileinfo openfile cat readfiles readimage getfileoutline readlints readdiagnostics geterrors lspreferences readmcpresource readmcpresourcetool accessmcpresource fsread viewfile viewfileoutline viewcodeitem viewcontentchunk viewlinerange readcode diagnostics getdiagnostics getchangedfiles readnotebookcelloutput getnotebooksummary : include=pattern
read     read  ls list listdirectory listdir listfiles directorytree listdirectorywithsizes listalloweddirectories listcodedefinitionnames listmcpresources listmcpresourcestool listmcpresourcetemplates
read     read  glob findfiles filesearch globfilesearch findbyname findpath : pattern=pattern glob=pattern query=text
read     deep  grep ripgrep search searchfiles searchfilecontent codebasesearch grepsearch searchcode listcodeusages grepfiles searchcodebase semanticsearch : pattern=text query=text include=pattern glob=pattern regex=text
read     deep  searchforpattern : namepath=text pattern=text
read     read  findsymbol findreferencingsymbols getsymbolsoverview : namepath=text namepathpattern=text pattern=text
write    write write writefile writetofile createfile savefile newfile appendfile createdirectory mkdir makedirectory
write    write fswrite fsappend : command=text
write    write edit editfile multiedit replace strreplace notebookedit replaceinfile applydiff inserteditintofile insertcontent searchandreplace editor smartedit replacestringinfile multireplacestringinfile editnotebook editnotebookfile insertedit patchfile searchreplace replacefilecontent multireplacefilecontent reapply undoedit editcode : content=text
write    write replacesymbolbody insertaftersymbol insertbeforesymbol : namepath=text
write    write strreplaceeditor fileeditor strreplacebasededittool texteditor texteditorcodeexecution memory : command=verb
write    write applypatch : command=patch input=patch patch=patch patchtext=patch type=verb
write    write patch : input=patch patch=patch patchtext=patch type=verb
write    write movefile renamefile move rename movepath : source=move src=move from=move oldpath=move path=move sourcepath=move destinationpath=write destination=write dst=write to=write newpath=write
write    write copyfile copy copypath : source=read src=read from=read path=read sourcepath=read destinationpath=write destination=write dst=write to=write
delete   delete deletefile removefile removefiles delete remove deletedirectory removedirectory rmdir unlink trash deletepath
network  -     webfetch fetch fetchurl httprequest browsernavigate navigate openurl browse download urlfetch curl fetchwebcontent fetchwebpage agenticfetch webscrape opensimplebrowser viewwebsite readurlcontent readwebpage fetchwebpages : prompt=urls query=text
network  -     websearch googlewebsearch searchweb bravewebsearch duckduckgosearch exasearch codesearch sourcegraph : query=text
network  -     browseraction browserclick browsertype browserevaluate puppeteernavigate : query=text
spawn    -     task agent subagent spawnagent spawnagents newtask delegate codebaseinvestigator sendtoagent runsubagent usesubagents subagenttask invokesubagent resumeagent delegatetask dispatchagent : prompt=text query=text
database read  query sql executesql runsql readquery writequery executequery runquery sqlquery dbquery mysqlquery pgquery postgresquery pgexecute sqlitequery applymigration executestatement createtable : query=sql sql=sql statement=sql q=sql
database read  listtables describetable getschema listschemas listdatabases describeschema : query=text
message  -     sendmessage sendemail sendmail postmessage slackpostmessage slackreplytothread conversationsaddmessage replytothread notify addissuecomment createissuecomment : query=text
read     -     todowrite todoread updateplan writetodos savememory askuserquestion askfollowupquestion attemptcompletion exitplanmode enterplanmode plan toolsearch skill requestuserinput think sequentialthinking askuser todos managetodolist taskcreate taskupdate tasklist taskget focuschain question planmoderespond loadskill useskill activateskill getinternaldocs clihelp completetask askquestion reportintent fetchrules tasktracker thinking : query=text command=text planpath=read
`

// keyTable says what an argument is by its key alone, for tools that are not
// known and for arguments that the tool's row does not name.
const keyTable = `
command : command cmd commandline shellcommand bashcommand shell script bash
lines   : commands
dir     : workdir cwd workingdirectory workingdir
path    : path filepath file filename files paths filepaths absolutepath relativepath targetfile notebookpath directory dir dirpath folder targetdirectory targetdirectories
delete  : source src oldpath
write   : destination dest dst newpath outputpath outputfile savepath output out outdir saveto saveas exportto
sql     : sql sqlquery
query   : query statement
url     : url uri urls endpoint href webhookurl
patch   : patch
text    : content contents newstring oldstring newstr oldstr filetext text prompt description todos body message diff explanation justification
`

// tables are the tables of tools and of keys, parsed once.
var tables = sync.OnceValue(func() (t struct {
	tools, own map[string]toolKind
	keys       map[string]role
}) {
	t.tools, t.own, t.keys = readTools(toolTable), readTools(ownTable), make(map[string]role)
	for line := range strings.Lines(strings.TrimSpace(keyTable)) {
		r, keys, _ := strings.Cut(line, ":")
		for _, k := range strings.Fields(keys) {
			t.keys[k] = role(strings.TrimSpace(r))
		}
	}
	return t
})

func readTools(table string) map[string]toolKind {
	tools := make(map[string]toolKind)
	for line := range strings.Lines(strings.TrimSpace(table)) {
		names, args, _ := strings.Cut(line, ":")
		f := strings.Fields(names)
		kind := toolKind{category: f[0], access: f[1], deep: f[1] == "deep", args: make(map[string]role)}
		if kind.deep {
			kind.access = collect.AccessRead
		}
		for _, a := range strings.Fields(args) {
			key, r, _ := strings.Cut(a, "=")
			kind.args[key] = role(r)
		}
		for _, name := range f[2:] {
			tools[name] = kind
		}
	}
	return tools
}

// normal makes read_file, readFile, ReadFile and read-file one name.
func normal(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// lookup finds a tool by its name. Names that agents build from an MCP
// server's (mcp__server__tool, server__tool, server.tool, server/tool) are
// looked up by the tool's part, and never as an agent's own ([ownTable]).
func lookup(t *holdgate.Tool) (toolKind, bool) {
	name := t.Name
	if kind, ok := tables().own[normal(name)]; ok && t.Server == "" && t.Learned == nil {
		return kind, true
	}
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	if i := strings.LastIndexAny(name, "./:"); i >= 0 {
		name = name[i+1:]
	}
	n := normal(name)
	if kind, ok := tables().tools[n]; ok {
		return kind, true
	}
	if kind, ok := tables().tools[strings.TrimRight(n, "0123456789")]; ok && strings.HasPrefix(n, "texteditor") {
		return kind, true
	}
	return toolKind{access: accessByName(n)}, false
}

// accessByName guesses how a tool that is not known touches the paths that it
// names: in doubt it writes.
func accessByName(n string) string {
	for _, verb := range []string{"delete", "remove", "unlink", "destroy", "trash", "purge"} {
		if strings.Contains(n, verb) {
			return collect.AccessDelete
		}
	}
	for _, verb := range []string{"write", "edit", "update", "create", "save", "append", "put", "move", "rename", "copy", "set"} {
		if strings.Contains(n, verb) {
			return collect.AccessWrite
		}
	}
	for _, verb := range []string{"read", "get", "list", "view", "search", "find", "show", "open", "load", "describe"} {
		if strings.HasPrefix(n, verb) {
			return collect.AccessRead
		}
	}
	return collect.AccessWrite
}
