// Package facts works out what a call would do, as plain data that policy can
// read: the simple commands of a shell line, the paths that it reads, writes
// or deletes, SQL statements, hosts, secrets. Rego cannot parse shell or SQL;
// everything that it can't work out arrives from here as input.facts.
//
// Facts describe; they never judge. What could not be worked out is said
// (Unresolved, Unbound, ParseErrors), for policy to hold on. In doubt a fact
// errs towards more: all branches of an if are listed, and a path that may
// lie in two places is listed for both.
//
// [Extract] is the only door. A tool's name and the keys of its arguments say
// what each argument is (tools.go, beside.go). Each kind of argument has a reader:
//
//   - package shell walks shell text as a shell would, in the tree that package
//     grammar reads it into, and is handed package programs, which says what each
//     program does;
//   - package snippet reads small programs in other languages, sql SQL, patch the
//     files of a patch, and secrets finds credentials in any text.
//
// What they find goes to package collect, which cleans and classes paths by name
// alone: nothing here touches a disk or a network.
//
// The input comes from whoever wants to deceive. Time, sizes and nesting are
// bounded, and a fault in here is a parse error, never a crash.
package facts

import (
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// The words of facts are the vocabulary's: policy, briefings and grants speak
// of them alike.
type (
	Facts     = holdgate.Facts
	Command   = holdgate.Command
	Variable  = holdgate.Variable
	Path      = holdgate.Path
	Statement = holdgate.Statement
	URL       = holdgate.URL
	Secret    = holdgate.Secret
	Impact    = holdgate.Impact
)

// What is known about a call's place is what facts are collected by.
type (
	Options = collect.Options
	Own     = collect.Own
)

// CutShort reports whether facts end before all of the call was read: then
// credentials may be in it that they do not name.
func CutShort(f Facts) bool { return collect.CutShort(f) }
