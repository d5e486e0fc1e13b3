// Package holdgate is the vocabulary of Holdgate: the words that every other
// package speaks, as plain values. Nothing here does I/O, and nothing here
// imports anything but the standard library.
//
// A [Call] is what an agent wants to do. Policy answers it with a [Decision]:
// allow, deny or hold. A held call becomes an approval request with a
// [Status], and people end it with an [Outcome]. A [Digest] binds an outcome
// to the very call that was shown.
//
// The zero value of every action here refuses: a [Decision] that nobody filled
// in is a denial.
package holdgate
