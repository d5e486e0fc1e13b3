// Package tui is the inbox in a terminal: where a person sees what waits, and
// decides it, as on the page in a browser.
//
// It is a client of the approvers' API and no more: it has no rights and no rules
// of its own. Words, keys, order and grouping are the page's.
//
// # What it may do
//
// The rules of a screen are those of every other one. A row is chosen by what it
// is, never by where it stands. Answers are taken once what they would decide has
// stood unchanged for 0.7 seconds. A call of high risk is approved by a typed
// word, one of critical risk by its target's name too. What was not shown to its
// end is not approved, and an approval carries the digest of the page that was
// shown.
//
// # What it cannot be made to say
//
// Every text of an agent or a client passes [holdgate.Visible] before it comes here
// or here. Each line is cut to the terminal's width, so that nothing begins at the
// edge that is not the screen's own.
//
// # How it works
//
// A [model] is what the screen shows. It changes by messages alone and does no I/O:
// what asks the sidecar is a command, whose answer is a message again. One goroutine
// follows the sidecar's events ([follow]).
package tui
