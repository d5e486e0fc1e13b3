// Package refusals keeps calls that were refused, for the caller's later requests to
// the same account: what is put back into a conversation that the agent has without.
//
// # What is stored
//
//	refused/CALLER/TIME  the calls of a caller on one account, sealed
//	refused-at/TIME/...  the same by time
package refusals
