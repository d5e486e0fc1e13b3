package holdgate

// An Effect is one thing that a call does to the world, worked out from its
// facts and from what the policy's tables say of its commands. Like the facts it
// describes and never judges.
type Effect struct {
	Kind EffectKind `json:"kind"`
	// What says what sort of thing it is done to: "file", "rows", "table",
	// "package", "branch", "resource", "machine", "disk", "program", ...
	What string `json:"what"`
	// Where names it: a path, a table, a package, a host, a branch; empty where
	// that is not known.
	Where string `json:"where,omitempty"`
	// Undoable says whether it can be taken back, and Because why, in a word.
	Undoable Undoable `json:"undoable"`
	Because  string   `json:"because,omitempty"`
	As       string   `json:"as,omitempty"` // the user as whom, where that is another
	On       string   `json:"on,omitempty"` // the machine, where that is another, or the server of a database
	// Says is a sentence without its full stop, for people: "Deletes ./build and
	// everything in it". It quotes the call: show it as [Visible] writes it.
	Says string `json:"says"`
	// Later says that the command is about what runs later by itself.
	Later bool `json:"-"`
	// Harm names the sort of harm, so that a summary can name two sorts: effects of one
	// sort have it in common. It is empty where little is lost.
	Harm string `json:"-"`
}

// Plain reports whether there is nothing to take back, such as of a reading.
func (e Effect) Plain() bool {
	return (e.Kind == EffectRead || e.Kind == EffectFetch) && e.Undoable == UndoableYes
}

// EffectKind says in a word what an [Effect] does.
type EffectKind string

// The kinds of effect.
const (
	EffectRead   EffectKind = "read"
	EffectWrite  EffectKind = "write"
	EffectDelete EffectKind = "delete"
	EffectRun    EffectKind = "run"   // a program, or code that comes from elsewhere
	EffectSend   EffectKind = "send"  // to somebody else's machine
	EffectFetch  EffectKind = "fetch" // from there
	EffectChange EffectKind = "change"
)

// Undoable says whether an [Effect] can be taken back.
type Undoable string

// Whether an effect can be taken back. Unknown hangs on what no fact tells, such
// as whether git keeps a file.
const (
	UndoableYes     Undoable = "yes"
	UndoableNo      Undoable = "no"
	UndoableUnknown Undoable = "unknown"
)
