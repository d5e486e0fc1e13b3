// Package collect gathers what a call touches: paths and their classes, addresses
// and hosts, statements of SQL, credentials, deceiving characters, and what of the
// call could not be read. It looks at names alone; nothing here touches a disk or a
// network. [Findings.Finish] makes [holdgate.Facts] of it.
//
// What a call says comes from the readers of arguments and of shell text, which know
// what a word means. They say "this path is written, seen from these folders"; here
// it becomes clean, is classed and said once.
package collect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/budget"
	"github.com/holdgate/holdgate/rego/facts/secrets"
)

// Limits that hold where [Options] name none.
const (
	DefaultDeadline = 2 * time.Second
	DefaultMaxBytes = 256 << 10

	MaxCommands   = 500 // simple commands in one call
	MaxDepth      = 64  // nesting of commands, functions and wrappers
	maxErrorBytes = 200 // of one parse error
)

// Options say what is known about the place that a call runs in, and how much
// work it may cost.
type Options struct {
	// Dir is the session's folder, absolute; empty where not known. Then the
	// call starts in it all the same: what is relative lies inside, unless it
	// climbs out of where it starts, and what is absolute does not.
	Dir string
	// From is the folder that the call starts in by the agent's word alone, absolute,
	// where that is not the session's; empty where it is. Then nothing lies inside, for
	// a word that is false must not make it.
	From string
	// Shell is where earlier calls may have left a shell that lives on, as
	// [holdgate.Facts].Leaves said it; empty where it stands in Dir.
	Shell string
	Home  string // the agent's home folder, absolute; empty where not known
	Own   Own    // what is Holdgate's own on this host
	// Categories say what tools do, as [holdgate.Facts].Category has it, by "server/tool"
	// or "tool". They win over what the name says.
	Categories map[string]string

	Deadline time.Duration // for the whole call; DefaultDeadline where zero
	MaxBytes int           // of arguments; DefaultMaxBytes where zero
}

// Findings are what was found of one call so far. They are for one goroutine.
type Findings struct {
	*budget.Budget
	Opts       Options
	Facts      holdgate.Facts
	Writes     map[string]int    // how often each path is written or deleted, so far
	Copies     map[string]bool   // copies that the line puts beside files, by where they lie
	Temporary  map[string]bool   // files for temporary use that the line has written
	Outputs    map[string]Whole  // files and folders for temporary use that programs of the line were told to write
	Poured     map[string]int    // files that the line has written by what prints or copies, by their version
	Own        map[string]Whole  // files of which the line has decided all that they hold
	Links      map[string]string // links that the line makes, and where they lead
	Astray     bool              // the line makes a link of which the name or the target is not certain
	Branches   int               // how many branches were walked so far
	Pids       map[string]int    // files that hold the number of a process that the line has started, by their version
	Keeps      bool              // redirections may fail where there is a file already
	Modes      bool              // the command at hand changes no content: it makes folders and rights
	Removes    bool              // it removes files, and leaves none that is empty
	Single     bool              // the command at hand deletes single files
	Renames    bool              // what is written of the paths at hand is that they get another name
	Linked     bool              // the call makes a second name of a file, or writes to files by a pattern
	Beside     bool              // something runs beside the line, or holds a file open
	Patches    map[string]int    // files that hold a patch of the repository as git prints it, by their version
	Numbers    map[string]int    // how often the call puts into files that hold numbers of processes what is none of its own
	Relied     map[string]int    // files that were read as scripts, as often as they had been written: see Filled
	removals   map[string]int    // how often each path is deleted, which fills no file
	Shown      map[string]int    // sources that were read when they were compiled, likewise
	Unread     map[string]bool   // what was compiled of files that the line has written and nobody has read
	Statements int               // how many statements of SQL were read, the same ones again too
	Deletions  int               // how many paths are deleted, the same ones again too
	written    []string          // cleaned paths whose content the call decides
	rewritten  []string          // patterns among these, of which each may be what a path names
	patterns   []string          // keys of the paths that the call writes or deletes by a pattern, as often as it does
	Runs       [][]Run           // by command, the files of the project that it runs
	Made       []string          // paths that the call makes out of the project alone
	Fixed      bool              // the command at hand decides on no content: it makes folders, or formats
	Left       bool              // the call was in a folder outside of the session's
	CopiesMore bool              // the call copies or moves files whose names at the other end it does not say
	Numbered   string            // a file out of which the call takes the number of a process
	Scatters   bool              // the call writes files that it does not name
	Fetches    Fetch             // what code the call brings from elsewhere
	Places     bool              // the call puts what was fetched, or another branch, into the project's files
	// Why the command at hand is not known in full, by what it hangs on; Unseen is what
	// the reader of its code did not understand, where it Followed what variables hold.
	Why      map[string][]string
	Unseen   []string
	Followed bool
	Acts     []holdgate.Act      // of the command at hand: see [holdgate.Command]
	Files    [][]File            // by command, the files that it runs
	Compiled map[string]Compiled // what was compiled of sources that the line has written

	Changed []string        // parts of paths, known at run time only, that the command at hand writes or deletes
	seen    map[string]bool // keys of the facts that were added, so that each is said once
	At      *Place          // of the argument that is being read
	Held    []string        // texts that secrets were found in
	Fresh   bool            // each call of the tool has a shell of its own
	Gone    bool            // a command has gone from wherever the shell stood to a folder that it names whole

	// UnlikeDash says that a text assigns what dash would not.
	UnlikeDash bool
}

// A Whole is a file of which a line has decided all that it holds.
type Whole struct {
	Version  int    // see [Findings.Version]
	Branches string // in which branches of the line
	From     string // the folders that the line may be in, where these are several
	Unsure   bool   // the command that put it there may have failed, and left what was there
}

// New begins the work on a call, which ends with ctx or at the deadline: then
// methods panic, for [Findings.Guard] to say so.
func New(ctx context.Context, o Options) *Findings {
	if o.Deadline <= 0 {
		o.Deadline = DefaultDeadline
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	secrets.Prepare() // what is made once is nobody's time
	return &Findings{Budget: budget.New(ctx, o.Deadline), Opts: o, Facts: holdgate.Facts{Dir: o.Dir}, Writes: make(map[string]int), removals: make(map[string]int), Relied: make(map[string]int), Shown: make(map[string]int), Unread: make(map[string]bool), Compiled: make(map[string]Compiled), Temporary: make(map[string]bool), Outputs: make(map[string]Whole), Poured: make(map[string]int), Own: make(map[string]Whole), Pids: make(map[string]int), Numbers: make(map[string]int)}
}

// InternalError begins the parse error that stands for a fault in here.
const InternalError = "internal error"

// spent begins the parse error that stands for work that was given up.
const spent = "over budget"

// CutShort reports whether facts end before all of the call was read: then
// credentials may be in it that they do not name.
func CutShort(f holdgate.Facts) bool {
	return slices.ContainsFunc(f.ParseErrors, func(e string) bool { return strings.HasPrefix(e, spent) || strings.HasPrefix(e, InternalError) })
}

// Guard runs f and turns a panic into a parse error: a fault in here must
// never end the sidecar, and never look like a call without facts.
func (x *Findings) Guard(f func()) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case budget.Spent:
			x.Fail(spent+": %s", r.What)
		default:
			x.Fail(InternalError+": %v", r)
		}
	}()
	f()
}

// Fail adds a parse error.
func (x *Findings) Fail(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if len(msg) > maxErrorBytes {
		msg = strings.ToValidUTF8(msg[:maxErrorBytes], "") + "..."
	}
	if !slices.Contains(x.Facts.ParseErrors, msg) {
		x.Facts.ParseErrors = append(x.Facts.ParseErrors, msg)
	}
}

// Once reports whether the key is new.
func (x *Findings) Once(kind string, parts ...string) bool {
	key := kind + "\x00" + strings.Join(parts, "\x00")
	if x.seen[key] {
		return false
	}
	if x.seen == nil {
		x.seen = make(map[string]bool)
	}
	x.seen[key] = true
	return true
}

// Finish is what was found, with what only the whole call tells.
func (x *Findings) Finish() holdgate.Facts {
	x.touched()
	x.keptWord()
	x.ownRuns()
	x.explainFiles()
	slices.Sort(x.Facts.SuspiciousText)
	return x.Facts
}
