// Package people says who may approve what. A person answers under one name,
// whatever the channel. The people who may approve a request are named
// by role or by name, joined by others as time passes (escalation), by whoever
// one of them lets vote in their place (delegation), and without the person whom
// the agent works for where it takes four eyes. A demand that cannot be checked,
// and one that nobody meets, are not met.
//
// [People] are a value that never changes, so that they are replaced as a whole.
package people
