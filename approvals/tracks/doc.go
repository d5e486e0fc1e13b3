// Package tracks keeps the sessions of agents as they go on: their records, which
// package sessions says what they mean, what is counted of calls that nothing is
// stored for, and the messages between people and them.
//
// A session's record ([sessions.Record]) changes in the transactions of what is
// asked and answered in it. A gate that people let it pass is passed: the calls of it
// that wait for the same gate are taken back, to be decided anew. A request under
// the gate "diagnostics" halts its session until people have answered.
//
// It knows of requests what it is told in their transactions, and of agents what it
// is given ([Config]).
package tracks
