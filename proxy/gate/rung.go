package gate

// A Rung is one way in which the client of a held call waits for people.
type Rung string

// The rungs.
const (
	RungLine   Rung = "line"   // its request waits, and nothing of an answer has been sent
	RungStream Rung = "stream" // an answer has begun, and signs of life keep it open
	RungTask   Rung = "task"   // it has a task of MCP, and asks for the result
	RungHook   Rung = "hook"   // the agent's hook waits before the agent runs the call
	RungGate   Rung = "gate"   // it has a gate of the agents' API, and asks what became of it
	RungAccess Rung = "access" // it has an access request of AuthZEN, and asks what became of it
	RungAgain  Rung = "again"  // its time was over: it was told to make the call again
)

// Rungs returns all of them.
func Rungs() []Rung {
	return []Rung{RungLine, RungStream, RungTask, RungHook, RungGate, RungAccess, RungAgain}
}

// Waits tells [Config].OnHeld how the client waits, if people are to decide any of the calls.
// A client that connects anew, or is told to make the call again, is told of again.
func (x *Exchange) Waits(r Rung, all ...*Evaluation) {
	if len(Undecided(all)) > 0 && x.g.c.OnHeld != nil {
		x.g.c.OnHeld(r)
	}
}
