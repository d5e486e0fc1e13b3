// Package grants keeps standing approvals, and what is counted and learned of calls that
// are alike.
//
// An approval can be remembered ([Remember]): a grant then answers the same
// question about later calls ([Keeper.Granted]). It is used only where all of
// this holds at that moment:
//
//   - it has neither expired nor been revoked;
//   - the agent is the same, proven as far as it was then and confined as it was
//     then; the session too, unless it was made for the agent, which only a proven
//     one can have; of an agent that is not proven the door too;
//   - where it was made for a task, the agent's user has said nothing since then in
//     that conversation ([Keeper.Task]), and the agent's run has not ended;
//   - policy asks under the same rule and gate, at no higher risk, does not
//     require a person, and lets it be remembered;
//   - those who made it could by themselves approve the call now, as people,
//     roles, quorum and assurance stand;
//   - the call has an exact shape ([holdgate.Shape]) in the same folder, and it
//     is the very call, or one of the shape with the arguments that were fixed, or
//     one of the tool that reaches no further.
//
// So nothing that hangs on run time, runs files that nobody was shown, or could
// not be read is ever covered; and calls that do anything but read or write
// files ([holdgate.Shape.Acts]) only with all their arguments the same. Of a
// shape and of fixed arguments a grant keeps digests, but for a tool's reach.
//
// A use is one transaction, the count with its audit entry, before the call goes
// on; so is a revocation, and whichever comes second sees the first. What a
// grant has answered is decided by policy again, as any answer is.
//
// What people answer to one call in one folder is counted ([record.Similar]), in the
// transactions of the outcomes.
//
// # What is stored
//
//	grant/ID             a standing approval, until its time is over
//	grant-of/AGENT/ID    the grants of an agent
//	shape/DIGEST         what people have answered about one call in one folder
//	lesson/SHAPE/...     what people have approved of calls of one shape
package grants
