// Package confine runs an agent so that the kernel keeps it from going around
// Holdgate. It is for Linux; elsewhere [Start] says that there is none.
//
// Strong confinement needs no root. The agent lives in a user, network, mount,
// pid and IPC namespace of its own:
//
//   - Its network has nothing but a loopback device. TCP to anywhere else is
//     redirected, whether or not a program heeds proxy variables, to listeners
//     that were made inside and are served outside: see proxy.ServeTransparent.
//     Questions for names are redirected as well and answered with addresses
//     that lead nowhere. Nothing else gets out.
//   - Of the file system it sees what the user sees, but for what is masked
//     (the sidecar's state), and has a /proc, /dev and /tmp of its own. Landlock
//     lets it write in the folders that it works in and nowhere else.
//   - It sees no process but its own, has no capability and cannot get one.
//   - A seccomp filter takes away what leads around these: sockets of other
//     families (path sockets to tmux, D-Bus, docker among them), MPTCP, TCP fast
//     open, io_uring, system calls of other architectures, typing into terminals.
//
// Weak confinement is Landlock and seccomp alone, for where namespaces cannot be
// had and the user has asked for it. What it leaves open is in docs/run.md.
//
// Nothing here is best effort: where a part is missing, nothing starts, and a
// [MissingError] says which and what to do.
//
// # How it starts
//
// [Start] runs the holdgate program again, as [Command], in new namespaces. That
// process is the first of its pid namespace. It sets up what needs the
// capabilities that it has there, sends the listeners out, confines itself, and
// runs the program once more, which now has none. So confined it waits for
// [Sandbox.Begin], starts the agent as its child, passes signals on, and ends
// with the agent's exit code; and with it everything that the agent left behind.
package confine

import "fmt"

// Command is the hidden command under which the holdgate program calls [Init].
const Command = "confined"

// Kinds of confinement, as policy and people see them.
const (
	Strong     = "strong"
	Weak       = "weak"
	Unconfined = "unconfined"
)

// Ports inside the agent's network. Only the first is the agent's to use.
const (
	PortAgents      = 7300
	PortTransparent = 15001
	PortNames       = 15053
)

// A Spec says what the agent may reach. Paths are absolute.
type Spec struct {
	Kind string   // Strong or Weak
	Self []string // the holdgate program and the arguments that lead to [Init]

	Dir      string   // the folder that the agent works in
	Write    []string // what it may write besides: files and folders that exist
	ReadOnly []string // what it may not write, wherever that lies
	Mask     []string // folders and files that are empty for it
	Keep     []string // what lies in /tmp and can be read there

	// Private are those of Write whose changes nobody else sees: they go to
	// Layers, the folder of [Layers]. Strong only. Where the kernel cannot do that
	// nothing starts, or with MayShare [Sandbox.Shared] says why they are as the
	// rest of Write.
	Private  []string
	Layers   string
	MayShare bool

	// Temp is an empty folder that serves as the agent's /tmp.
	Temp string
	// Loopback are ports of the host's loopback address that stay reachable:
	// inside they are redirected as other hosts are. Strong only.
	Loopback []uint16
	// Door is the port of the sidecar's door for agents. Weak only: in a network
	// of its own the agent finds it at [PortAgents].
	Door uint16
	// Undo makes Dir read-only, and has calls that would change files answered by
	// whoever serves [Sandbox.Calls]. Strong only.
	Undo bool
	// Terminal gives the agent a terminal of its own instead of the standard
	// streams of this process.
	Terminal bool
}

// A Program is what runs confined.
type Program struct {
	Path string   // absolute
	Args []string // without its own name
	Env  []string
	Dir  string
}

// A MissingError says which part of a confinement this machine does not have.
type MissingError struct {
	Part string // "user namespaces", "Landlock", ...
	Err  error
	Hint string // what to do about it, or ""
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s cannot be had here: %v", e.Part, e.Err)
}

func (e *MissingError) Unwrap() error { return e.Err }
