// Package sessions is what an agent's run has shown so far, and what people have
// said of it: one record for each session.
//
// A session is named by the client itself, so that whatever a record says may
// make policy stricter on the agent's word, and looser on a person's alone, and
// that what one session must do, the agent's others must do too
// ([Record.SettingAmong], [Record.NeededAmong]; a halt holds them all). A [Record]
// has
//
//   - the mode: whether each step is asked about. People set it; the agent can
//     only tighten it ([Record.Tighten]);
//   - gates: those that people have let it pass, those that must be passed before
//     it may change anything, and what people answered last to each;
//   - the latest report of confidence, as long as it counts;
//   - a halt: the session waits for a person;
//   - what it has been in touch with (taint), and counts of what became of its
//     calls.
//
// Records are values and do no I/O but [Load], [Save] and their like, which work
// within a transaction of the caller's: a record is written in the transaction of
// the audit entry that caused the change. Each writing gives it another revision,
// so that who changes one can say which one they saw.
//
// # What is stored
//
//	session/AGENT/ID              the record
//	session-message/AGENT/ID/SEQ  messages between people and the session
//
// AGENT and ID are escaped as in a URL's path. An empty ID is no session's: there
// are messages for whichever session of the agent comes next.
package sessions
