// Package approvals holds calls until people have decided: the durable queue
// of approval requests, and what becomes of each afterwards.
//
// # Words
//
// An exchange is one request of an agent and its answer. Each call in it that
// policy holds has an approval request of its own. People vote on a request;
// the outcome ends it. A person answers under one name, whatever the channel;
// the people who may approve a request are named by role or by name,
// joined by others as time passes (escalation), by whoever one of them lets
// vote in their place (delegation), and without the person whom the agent works
// for where it takes four eyes. Whoever looks at a request may claim it. A
// connection of the agent takes part in an exchange from [Queue.Enter] to
// [Exchange.Leave]; where the connection dies the exchange stays, and the same
// request from the same caller joins it again.
//
// # States of an exchange
//
//	holding     a request of it is pending
//	ready       all have ended, nothing has been sent yet
//	delivering  approvals were used: bytes may be on their way
//	spent       delivered whole, or never asked for again in time
//	unknown     used, and nobody can say what arrived
//
// Holding and ready can be joined. Asking for one more call leads back to
// holding. A connection that ends while delivering, and a process that dies
// then, make the exchange unknown: its approvals stay used, and the same
// request is a new exchange. Spent and unknown are final; the sealed answer is
// erased on the way there.
//
// # What is promised
//
// Every transition is one transaction: the new state, its audit entry and the
// event that channels are told of. What a method acknowledged is on disk. A
// transition, once begun, is not cut short by the caller's context, so its
// return says what happened.
//
// An outcome is bound to the digest that the voter was shown, and [Exchange.Use]
// compares it with that of the call about to be sent. The record of a use is a
// key of its own, written before the first byte goes on and kept as long as the
// exchange is known, so that no interleaving, crash or rejoining uses an approval
// twice at one door.
//
// An edit is an approval of what a person made of the call: its outcome is bound
// to the digest of that, and to no other. Under a quorum it lets nothing go on;
// the others are asked about the edited call, in which the editor has voted.
//
// Only people with the role to approve ever approve, choose or edit; whoever may
// operate may say no. A vote counts as long as its voter may give it. If a
// demand cannot be checked, or no one qualifies, the request cannot be approved.
// It says so, and can only be denied, steered or run out.
//
// A claim keeps silence from ending a request, for half an hour at most; then
// the request's whole window begins anew.
//
// Silence never approves what policy calls required or risky, what an agent asks
// that is not known to be confined, a choice, or what nobody could approve, and
// of one agent one call at a time. It counts from when a channel has told people
// ([Queue.Told]), and only while one reaches them ([Queue.Reaches]); the time in
// which the sidecar was down, suspended, or its clock was set does not count.
//
// # Asked once
//
// A call of an MCP server's tool is seen twice: in the model's answer, and at
// the server's door. Where a person has approved it in the answer, its use
// leaves a pass for its twin, the same call as the server knows it
// ([Exchange.Borrow]). It counts once, within ten minutes, for the same agent as
// far as it is proven, and while the server's definition of the tool is the
// same. Policy has decided again by then. The use is recorded as any other, in
// an exchange of its own, under the request that people answered: after a crash
// it is unknown, and not used again. What is remembered (a grant) and what
// silence approved leave no pass.
//
// # What is stored
//
// Besides what the rooms of the queue keep (packages agents, grants, refusals, tasks,
// tools, tracks):
//
//	exchange/ID          agent, session, door, key, state, its requests
//	exchange-body/ID/N   the upstream answer, sealed, in chunks
//	request/ID           the call as shown, how it is to be decided, votes, outcome
//	pending/SEQ          requests that are pending, in the order of asking
//	asked/-SEQ           all requests, newest first
//	edited/REQUEST       what the request was edited to, sealed
//	used/REQUEST/DOOR    an approval was used
//	open/ID              exchanges that are not final
//	done/TIME/ID         exchanges that are, by when they ended
//	due/TIME/ID          what the timer does next
//	pass/CALL/REQUEST    a use that covers the same call at its MCP server's door
//	outbox/SEQ           events, numbered like their audit entries
//	consumer/NAME        how far a channel has come
//	delivery/REQUEST/... what a channel has told people of a request
//
// What policy redacts is in none of them, the sealed answer and edits apart.
//
// # Quotas
//
// One agent can have only so much pending, and so much kept while it waits
// ([Limits]). What is over is refused before anything of it is stored. Nothing
// that people do is ever counted, and a request that a retry finds is counted
// once.
//
// # Retention
//
// What is over is forgotten after a while ([Retention]), exchange by exchange
// with all that belongs to it; the audit log keeps everything. Only exchanges
// that are final are forgotten, and those can neither be joined nor used.
//
// # Memory
//
// A held call costs an entry in the index of open exchanges and one channel per
// connection that waits. One goroutine serves all timers.
package approvals
