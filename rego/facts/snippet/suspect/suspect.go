// Package suspect says why a program that its reader did not understand in full may not
// be taken for one that only computes and changes files at hand: what in its text is
// known to act, or may hide what acts.
//
// It looks at names, and knows of no language more than how comments and short texts are
// written. A name counts by its parts (os.removeAll has "remove"), so that libraries that
// nobody has listed say what they do. What it misses is no hole of its own: nothing is
// spared for its word alone where the kernel does not bound the program.
package suspect

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// What a text is found to hold.
const (
	Sink       = "known_sink"    // it deletes, starts programs, connects, or asks services
	Computed   = "computed_code" // it makes code or names of functions while it runs
	Remote     = "remote_code"   // it fetches code
	Credential = "credential"    // it reads secrets
	Privilege  = "privilege"     // it asks the kernel for rights
	Unread     = "unread"        // nothing can be said
)

// Languages are those whose comments and texts are known here, as [snippet.Read] and
// interpreters call them. Where code hides easily, as in Perl and PHP, none is.
const Languages = "python pypy node nodejs bun deno tsx ts-node ruby lua luajit r rscript elixir swift go java kotlin rust zig c"

// Options say what is known of a program besides its text.
type Options struct {
	// Followed says that a reader has followed what the variables of the program hold:
	// what it understood of the language's own library is judged elsewhere.
	Followed bool
	Unseen   []string // what that reader did not understand, in its words
	// Records says that the program runs within an application, with its database at hand:
	// so it counts too where it names a library for one.
	Records bool
}

// Of lists what a program holds, each once. A language that is not known here is all
// that may be.
func Of(language, code string, o Options) []string {
	if !wordlist.Has(Languages, language) {
		return []string{Unread}
	}
	s := scan{language: language, options: o}
	s.options.Records = o.Records || keepers.MatchString(code)
	code = uncomment(language, code)
	if o.Followed {
		code = understood.ReplaceAllString(code, " ")
	}
	for _, f := range forms {
		if (f.languages == "" || wordlist.Has(f.languages, language)) && f.is.MatchString(code) {
			s.add(f.reason)
		}
	}
	s.environment(code)
	for _, m := range imported.FindAllStringSubmatch(code, -1) {
		s.names(m[1])
		if wordlist.Has("net node:net os/exec del git", m[1]) {
			s.add(Sink)
		}
	}
	s.names(texts.ReplaceAllStringFunc(code, s.text))
	for _, u := range o.Unseen {
		s.unseen(u)
	}
	return s.found
}

// scan is one look at a program.
type scan struct {
	language string
	options  Options
	found    []string
}

func (s *scan) add(reason string) {
	if !slices.Contains(s.found, reason) {
		s.found = append(s.found, reason)
	}
}

// understood are names of libraries whose every use the readers of Python and JavaScript
// follow: what they make of them are commands, paths and addresses of the call.
var understood = lazyregexp.New(`\bsubprocess(\.(run|call|check_call|check_output|Popen|getoutput|PIPE|DEVNULL|STDOUT|CalledProcessError|TimeoutExpired)\b)?|` +
	`\b(node:)?child_process\b|\b(exec|execFile|spawn)Sync\b|\burllib\.(request|error|parse)(\.\w+)?|\b(re|regex)\.compile\b|\bimport\s+urllib\b`)

// forms are what no name says.
var forms = []struct {
	languages string
	is        *lazyregexp.Regexp
	reason    string
}{
	{"", lazyregexp.New(`\b(java|System)\.[nN]et\b|\b__asm`), Sink},
	{"", lazyregexp.New(`\b(require|load|include|source|dofile|import|do)\s*\(?\s*["'][/~]`), Computed},
	{"java kotlin", lazyregexp.New(`\bSystem\.(load|exit|set\w+)`), Computed},
	{"", lazyregexp.New(`\bfromCharCode`), Computed},
	{"ruby", lazyregexp.New("`"), Sink},
	{"ruby", lazyregexp.New(`%x\W|(^|[^.\w])open\s*[("']`), Sink},
	{"elixir", lazyregexp.New(`:os\b|\bPort\.|\bapply\s*\(|:erlang\b|\bNode\.`), Sink},
	{"swift java kotlin ruby elixir", lazyregexp.New(`\bProcess\b`), Sink},
	{"r", lazyregexp.New(`\bsource\s*\(|\bdo\.call\b|\bmatch\.fun\b|\bparse\s*\(`), Computed},
	{"lua ruby", lazyregexp.New(`\b(load|loadstring|dofile|loadfile|include|do)\b\s*[("'$]`), Computed},
	{"node bun deno tsx ts-node", lazyregexp.New(`\b(Function|Reflect|Proxy|constructor|globalThis|global|__proto__|vm)\b`), Computed},
	{"", lazyregexp.New(`(?i)\b(from|import|require|include|source|load|use)\b\s*\(?\s*["'<](https?:|npm:|jsr:|git[+:@]|github:)|@Grab|\$ivy|\bMix\.install|\binstall\.packages|\bgemfile\b|\bPkg\.add|//\s*DEPS`), Remote},
	{"", lazyregexp.New(`(?i)\b(drop|truncate|alter|grant|revoke)\s+(table|database|schema|index|view|user|role|all|orders|from)\b|\btruncate\s+\w+["']|\bdelete\s+from\b|\bupdate\s+[\w."]+\s+set\b|\binsert\s+into\b|\battach\s+database\b|load_extension`), Sink},
	{"", lazyregexp.New(`[A-Za-z0-9+/=]{120,}|(\\x[0-9a-fA-F]{2}){8,}|(\\[0-7]{3}){8,}`), Computed},
}

// The names that say it, by reason. A name's parts are compared in lower case, each by
// itself and with the next.
var words = map[string]string{
	Sink: `delete remove unlink rmtree rmdir rmdirs removedirs rm rimraf truncate destroy wipe purge erase shred trash drop flushall flushdb prune
exec execv execve execvp execl execlp execvpe execle execute execfile executescript system system2 popen spawn spawnl spawnv fork forkpty subprocess shell cmd command commands
powershell passthru pexpect plumbum shelljs execa zx fabric processbuilder runtime pty force
socket sockets connect connection connections request requests urlopen urllib urllib2 urllib3 http https httpx aiohttp fetch axios websocket websockets curl wget lwp
smtp smtplib mail mailer sendmail imap imaplib poplib ftp ftplib sftp ssh paramiko telnet telnetlib webhook notify deliver send sendall sendto publish upload post patch dial grpc xmlrpc
reset cloudpickle dill joblib boto boto3 botocore aws azure gcloud s3 dynamodb kubernetes kubectl docker slack twilio stripe sendgrid mailgun octokit github gitlab jira redis kafka pika amqp celery mqtt nats
mongo mongoclient mongodb pymongo psycopg psycopg2 pg postgres mysql mysql2 pymysql mysqldb asyncpg cassandra elasticsearch snowflake bigquery
listen serve terminate shutdown reboot kill killpg killall deploy rollback refund charge payout transfer withdraw invoke`,
	Computed: `eval evaluate compile getattr setattr delattr globals locals vars importlib importmodule builtins ctypes cffi ffi cdll dlopen dlsym mmap marshal pickle runpy codeop
base64 b64decode atob unhexlify fromhex rot13 codecs reflect reflection classloader forname constget definemethod binding unpack createfunction unsafe asm transmute`,
	Remote:     `install installer download downloads downloadfile`,
	Credential: `secret secrets password passwords passwd credential credentials keyring keychain apikey privatekey accesskey authtoken`,
	Privilege:  `setuid setgid seteuid setresuid chown chroot mount umount unshare setns nsenter ptrace prctl syscall ioctl bpf capset sudo personality`,
}

// reasons are the reasons that a part of a name gives.
var reasons = sync.OnceValue(func() map[string][]string {
	out := make(map[string][]string)
	for reason, list := range words {
		for word := range strings.FieldsSeq(list) {
			out[word] = append(out[word], reason)
		}
	}
	return out
})

// recordWords change what an application keeps. It is asked to only where the program
// runs within one.
const recordWords = "create update save insert upsert increment decrement touch persist migrate seed put"

// keepers are libraries through which applications keep what they know.
var keepers = lazyregexp.New(`(?i)\b(django|sqlalchemy|peewee|tortoise|active_?record|ecto|prisma|sequelize|typeorm|mongoose|knex|drizzle|doctrine|eloquent|hibernate)\b`)

// harmlessNames hold such a part and do not act.
const harmlessNames = "drop_duplicates drop_while drop_last remove_prefix remove_suffix reset_index command_line request_id http_status"

var (
	texts      = lazyregexp.New(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)
	identifier = lazyregexp.New(`[A-Za-z_][A-Za-z0-9_]*[!?]?`)
	oneName    = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	holdsCode  = lazyregexp.New(`#\{|\$\{|\\\(|\{[a-z_.]+\(`)
	dunder     = lazyregexp.New(`^__(dict|builtins?|subclasses|globals|class|bases|mro|reduce|reduce_ex|getattribute|import|code|closure|loader|spec)__$`)
	imported   = lazyregexp.New(`(?m)\b(?:require|import|from|include|use|load|library)\b[\s(]*["'<]([^"'>\n]+)["'>]`)
)

// text keeps of a short text what may be a name, and what may be code within it: all else
// is for people, or data.
func (s *scan) text(quoted string) string {
	if inner := quoted[1 : len(quoted)-1]; oneName.MatchString(inner) || holdsCode.MatchString(inner) {
		return " " + inner + " "
	}
	return " "
}

// names looks at the names of a program, texts left out.
func (s *scan) names(code string) {
	for _, name := range identifier.FindAllString(code, -1) {
		s.name(strings.TrimRight(name, "!?"))
	}
}

func (s *scan) name(name string) {
	if dunder.MatchString(name) {
		s.add(Computed)
		return
	}
	if name == "System" || wordlist.Has(harmlessNames, strings.ToLower(name)) { // Java's has streams, Elixir's is known by its functions
		return
	}
	list := parts(name)
	for i, part := range list {
		s.word(part)
		if i+1 < len(list) {
			s.word(part + list[i+1])
		}
	}
}

func (s *scan) word(word string) {
	for _, reason := range reasons()[word] {
		s.add(reason)
	}
	if s.options.Records && wordlist.Has(recordWords, word) {
		s.add(Sink)
	}
}

// parts are those of a name in any spelling: removeAll, remove_all and RemoveAll are one.
func parts(name string) []string {
	var out []string
	start := 0
	runes := []rune(name)
	cut := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case r == '_':
			cut(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			cut(i)
		}
	}
	cut(len(runes))
	return out
}

// environment looks at the variables that a program reads by a name that stands in it.
// All others count as secrets.
func (s *scan) environment(code string) {
	for _, m := range environs.FindAllStringSubmatchIndex(code, -1) {
		name := plainVariable.FindStringSubmatch(code[m[1]:])
		if name == nil || secretVariable.MatchString(name[1]) {
			s.add(Credential)
		}
	}
}

var (
	environs       = lazyregexp.New(`\b(environb?|getenv|getenvb|process\.env|Deno\.env|Bun\.env|import\.meta\.env|ENV|Getenv|get_env|Sys\.getenv|LookupEnv|Environ|sys\.env|env::vars?(_os)?)\b`)
	plainVariable  = lazyregexp.New(`^(?:\.(?:get|setdefault|fetch|toObject)\b)?[ .(\[{]{1,4}["']?([A-Za-z_][A-Za-z0-9_]*)`)
	secretVariable = lazyregexp.New(`(?i)key|token|secret|pass|pwd|cred|auth|private|dsn|url|uri|session|cookie|sign|^(get|items|keys|values|copy|to_h|each|map|filter|entries)$`)
)

// unseen takes what a reader said of a program that it followed.
func (s *scan) unseen(what string) {
	switch {
	case strings.HasPrefix(what, "a computed property of "), strings.Contains(what, "whose name is computed"), strings.Contains(what, "all names of the program"),
		strings.HasSuffix(what, " of a text"), strings.HasSuffix(what, " of a pickle"), strings.HasSuffix(what, "a command that is not known"), strings.HasSuffix(what, "a list for a shell"):
		s.add(Computed)
	case strings.HasSuffix(what, "an address that is not known"), strings.HasSuffix(what, "with a method that is not known"), strings.HasSuffix(what, " empties a file"), strings.HasSuffix(what, "a statement that is not known"):
		s.add(Sink)
	case strings.HasPrefix(what, "all variables of the environment"), strings.HasPrefix(what, "variables of the environment"):
		s.add(Credential)
	case strings.HasPrefix(what, "modules from "):
		s.add(Computed)
	case strings.HasPrefix(what, "the environment's "):
		if secretVariable.MatchString(what) {
			s.add(Credential)
		}
	default:
		s.names(what)
		if ownLibrary.MatchString(what) {
			s.add(Sink)
		}
		if module, ok := strings.CutPrefix(what, "the module "); ok && wordlist.Has("python pypy", s.language) {
			if first, _, _ := strings.Cut(module, "."); !wordlist.Has(plainModules, first) {
				s.add(Sink)
			}
		}
	}
}

// ownLibrary is what the tables of the readers do not list of libraries that touch files
// and processes.
var ownLibrary = lazyregexp.New(`^(os|shutil|posix|pathlib|fs|fs/promises|process|child_process|Deno|Bun)\b`)

// plainModules are modules of Python that its reader does not take, and that do no more
// than compute, or than what the program asks of them by names that say it.
const plainModules = "sqlalchemy sqlmodel peewee tortoise flask fastapi unittest doctest test trace profile cProfile dask jinja2 mako dateutil ruamel threading contextvars weakref multiprocessing psutil transformers " +
	"token tabnanny opcode optparse pyclbr pydoc sre_parse sre_compile sre_constants stringprep gettext encodings genericpath ntpath quopri wave uu aifc chunk imghdr sndhdr turtle tkinter curses pyexpat resource"

// uncomment takes comments off a program: those that are a line of their own, and those
// behind code with no quotes in them, which can be no part of a text that ends there.
func uncomment(language, code string) string {
	mark := "//"
	switch {
	case wordlist.Has("python pypy ruby r rscript elixir", language):
		mark = "#"
	case wordlist.Has("lua luajit", language):
		mark = "--"
	}
	var b strings.Builder
	for line := range strings.Lines(code) {
		before, after, found := strings.Cut(line, mark)
		own := found && strings.TrimSpace(before) == "" && !strings.HasPrefix(after, "{")
		behind := found && strings.HasSuffix(before, " ") && !strings.ContainsAny(after, "\"'`")
		switch {
		case strings.HasPrefix(after, "!"), mark == "//" && strings.Contains(after, "DEPS"):
			b.WriteString(line)
		case own:
			b.WriteByte('\n')
		case behind:
			b.WriteString(before + "\n")
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}
