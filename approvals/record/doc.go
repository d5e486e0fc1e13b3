// Package record is how the queue is stored: the forms and keys of exchanges and
// their requests, what people are shown of them, and the one transaction in which
// anything of them changes.
//
// A [Book] is a store with its audit log. A [Change] is one change of state: the
// new state, its audit entry and the event that channels are told of are one
// transaction, and what was changed is on disk when it returns. What an exchange
// goes through is in it: a request is asked, ends, is used or given up.
//
// What else follows from that belongs to rooms of their own, which know the book
// and not each other: they name what they do when a request is asked or has ended
// and when an exchange is over ([Hooks]), and learn of what is durable. What a room
// keeps in memory is a view of the store, which can be read again at any time; the
// newest of each record counts, whoever wrote it.
package record
