package holdgate

// Facts are what a call would do, in plain data: what policy reads as
// input.facts, what briefings show to people, and what shapes are made of.
// They describe and never judge.
type Facts struct {
	// Category is what the tool does by its name and arguments: "read",
	// "write", "delete", "exec", "network", "spawn", "database", "message" or
	// "unknown". A shell line that opens a connection itself is "network".
	Category string `json:"category"`
	// Dir is the folder that the call starts in, absolute; empty where it is
	// not known. Policy reads it as session.cwd.
	Dir string `json:"-"`
	// Shell is where earlier calls may have left the shell that a command of this
	// call starts in, as Leaves said it; empty where that is Dir, or where no
	// command hangs on it.
	Shell string `json:"-"`
	// Leaves names where this call leaves a shell that lives on; empty where that is
	// where it was. It is to be compared, and may be no path.
	Leaves string `json:"-"`
	// Evaluates says that a shell evaluates, as arithmetic, text that only a run shows: it
	// may run commands.
	Evaluates bool        `json:"-"`
	Commands  []Command   `json:"commands,omitempty"`
	Paths     []Path      `json:"paths,omitempty"`
	SQL       []Statement `json:"sql,omitempty"`
	URLs      []URL       `json:"urls,omitempty"`
	Secrets   []Secret    `json:"secrets,omitempty"`
	Impact    Impact      `json:"impact"`
	// Effects are what the call does by all of the above, the worst first. They
	// are made where somebody reads them: a policy that does, or people.
	Effects     []Effect `json:"effects,omitempty"`
	ParseErrors []string `json:"parse_errors,omitempty"`
	// SuspiciousText says which kinds of deceiving characters the arguments
	// hold: "bidi", "blank", "carriage_return", "control", "invalid",
	// "mixed_script" (in a host), "tag", "unusual_space",
	// "variation_selector", "zero_width".
	SuspiciousText []string `json:"suspicious_text,omitempty"`
}

// A Command is one simple command of a shell line, found through pipes,
// lists, substitutions and wrappers such as env, sudo, xargs and bash -c.
type Command struct {
	// Program is the base name of what runs, after wrappers are taken off;
	// empty where it depends on run time.
	Program string   `json:"program"`
	Argv    []string `json:"argv"` // after quote removal, the program first
	// Via lists the wrappers and constructs that lead to it, outermost first:
	// "sudo", "bash -c", "$()", "xargs", "function", ... "pipe" and "heredoc"
	// stand before a shell or interpreter that runs what it reads.
	Via []string `json:"via,omitempty"`
	// Unresolved lists what the command hangs on and is not known before it
	// runs: words or parts of words that could be its program, an option, code
	// or a path that it changes, as written; "stdin" for such words that are
	// read, and code in other languages. Words that can only be text, or name
	// what a harmless reader reads, are not among them.
	Unresolved []string `json:"unresolved,omitempty"`
	// Unbound lists files that it would run whose content nobody was shown.
	Unbound []string `json:"unbound,omitempty"`
	// Project lists those of Unbound that lie in the session's folder, outside of
	// its folders for temporary files and downloads, and that the call itself does
	// not write: code of the project, as its Makefile is.
	Project []string `json:"project,omitempty"`
	// Reasons say why the command is not known in full, each once; see [ReasonProjectCode]
	// and those after it. Of code that nobody read they say what is plain in its text.
	Reasons []string `json:"reasons,omitempty"`
	Stdin   string   `json:"stdin,omitempty"` // "pipe", "heredoc", "file"
	// SQL says that statements stand in it, or in what it is given to read.
	SQL bool `json:"sql,omitempty"`
	// Deletes says that the paths of the facts tell what it deletes.
	Deletes bool `json:"deletes,omitempty"`
	// Serves says that other machines can read files by it, of a folder that is not made
	// for everybody.
	Serves bool `json:"serves,omitempty"`
	// Env is what the line itself sets in the environment of the command:
	// before it, by env or sudo, or by an export earlier in the line, in the
	// order in which it was set. What changes the programs that run, such as
	// PATH and LD_PRELOAD, counts without an export too: it may have been
	// exported all along.
	Env []Variable `json:"env,omitempty"`
	// Dir is the folder that it starts in, As the user as whom it runs and On the
	// machine, each where it is another than the call's own and is known. Effects
	// say them.
	Dir string `json:"-"`
	As  string `json:"-"`
	On  string `json:"-"`
	// Server is the server of which it is a client, as "db1:5433", where it sends SQL and
	// names one; several are joined by " or ".
	Server string `json:"-"`
	// Acts say what names in its code do where no reader could tell to what, the worst
	// first, each kind once.
	Acts []Act `json:"-"`
}

// An Act is what a name in code that nobody could read in full does to something that is
// known only when the code runs.
type Act struct {
	Kind  string // see [ActDelete] and those after it
	By    string // the name, as "shutil.rmtree"
	Times int    // how many such names there are
}

// Kinds of acts, the worst first.
const (
	ActDelete    = "delete"     // it deletes files or data
	ActMayDelete = "may_delete" // it has a name that deletes in some libraries
	ActEnd       = "end"        // it ends processes
	ActPublish   = "publish"    // it changes what others use
	ActChange    = "change"     // it changes what a database holds
	ActWrite     = "write"      // it writes files
	ActRun       = "run"        // it starts programs
	ActSend      = "send"       // it talks to other machines
)

// Why a command is not known in full. Several may hold at once.
const (
	ReasonProjectCode    = "project_code"    // it runs a file of the project that the call does not write
	ReasonOwnFile        = "own_file"        // it runs a file of the session's folder that the call itself writes
	ReasonUnseenFile     = "unseen_file"     // it runs a file from elsewhere, or one that was fetched or unpacked
	ReasonUnknownLibrary = "unknown_library" // its code loads a module that nobody knows
	ReasonDynamicName    = "dynamic_name"    // a word, a path or a function is known only when it runs
	ReasonUnreadText     = "unread_text"     // its code is in a language, or of a form, that no reader takes
	ReasonUnparsed       = "unparsed"        // its code is no program of its language
	ReasonOutsidePath    = "outside_path"    // its code names a path outside of the session's folder
	ReasonLater          = "later"           // its code names what runs later by itself
	ReasonKnownSink      = "known_sink"      // its code deletes, starts programs, connects, or asks services
	ReasonComputedCode   = "computed_code"   // it runs text that is computed, hides what it calls, or hangs on what a command prints
	ReasonRemoteCode     = "remote_code"     // its code fetches code
	ReasonCredential     = "credential"      // its code reads secrets
	ReasonPrivilege      = "privilege"       // its code asks the kernel for rights
	ReasonUnread         = "unread"          // none of these is known
)

// A Variable is one variable of a command's environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Unresolved says that the value depends on run time, or on which branch
	// was taken; Value is then as it was written.
	Unresolved bool `json:"unresolved"`
}

// A Path is a file that the call would touch.
type Path struct {
	Path string `json:"path"` // as written
	// Clean is cleaned, with ~ and $HOME replaced, and absolute where the
	// folder is known. Parts that depend on run time stay as written, but for
	// numbers, hashes and dates, which are written as "*".
	Clean  string `json:"clean"`
	Access string `json:"access"` // "read", "write" or "delete"
	// Class is "secret" (keys, tokens, .env), "persistence" (what runs later
	// by itself: shell rc files, git hooks, agents' settings), "system", or
	// empty.
	Class string `json:"class,omitempty"`
	// Inside says that it lies inside the session's folder. Where that folder
	// is not known, what is relative to it lies inside, unless it climbs out;
	// false for all whose place depends on run time.
	Inside bool `json:"inside"`
	// Self says that it is Holdgate's own: what lies there decides calls.
	Self bool `json:"self,omitempty"`
	// Fresh says that the call deletes it, and that it was for temporary use: made
	// by mktemp, written by the call itself, or a single file in /tmp.
	Fresh bool `json:"fresh,omitempty"`
	// Made says that the call deletes it, and has itself put there before all that it
	// holds, unless a command of the call failed.
	Made bool `json:"made,omitempty"`
	// Perhaps says that the call deletes it, and that it starts from a folder that the call may not have reached.
	Perhaps bool `json:"perhaps,omitempty"`
	// Leaves says of a path that is written that it only gets another name.
	Leaves bool `json:"-"`
}

// A Statement is one SQL statement.
type Statement struct {
	Verb   string   `json:"verb"`             // "select", "drop", ... in lower case
	Object string   `json:"object,omitempty"` // "table", "database", ... of create, drop, alter
	Tables []string `json:"tables,omitempty"`
	// Where says that the statement has a WHERE of its own that names a column
	// on both sides of each OR; WHERE 1=1 is none, nor is one of a subquery.
	Where bool `json:"where"`
	// Rows is how many rows it changes at most, where the statement itself says
	// so (LIMIT, TOP, or rows that it lists); 0 where that is not known.
	Rows int `json:"rows,omitempty"`
	// Sets is what an UPDATE sets, Only the condition of its WHERE, and Text how the
	// statement goes on after its verb: in its own words, and cut where that is
	// long. They are for people. Text has no literals.
	Sets string `json:"-"`
	Only string `json:"-"`
	Text string `json:"-"`
	// Scratch says that the database is one in memory, or a file in /tmp.
	Scratch bool `json:"scratch,omitempty"`
}

// A URL is an address in the arguments.
type URL struct {
	URL    string `json:"url"`
	Scheme string `json:"scheme"`
	Host   string `json:"host"` // lower case, without port
	// Self says that it is an address of Holdgate's own, where calls are
	// decided, however it is spelled.
	Self bool `json:"self,omitempty"`
}

// A Secret is something that looks like a credential. Its value is in no fact.
type Secret struct {
	Kind    string `json:"kind"`    // "aws_access_key", "private_key", ...
	Pointer string `json:"pointer"` // JSON pointer into the arguments
}

// Impact says how much is touched.
type Impact struct {
	Recursive bool `json:"recursive"`
	Force     bool `json:"force"`
	Paths     int  `json:"paths"` // how many paths are written or deleted
	// More says that one of them stands for more than itself: a pattern, or
	// something that is known at run time only.
	More bool `json:"more,omitempty"`
	// Rows is how many rows of databases are changed at most, where every
	// statement that changes something says so; 0 where that is not known.
	Rows int `json:"rows,omitempty"`
	// Amount is the largest sum of money that the arguments name beside a
	// currency (ISO 4217), as it was written: some services count in cents.
	Amount   float64 `json:"amount,omitempty"`
	Currency string  `json:"currency,omitempty"`
}
