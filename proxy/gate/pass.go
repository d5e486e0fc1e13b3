package gate

import "context"

// A Line is how an agent is kept waiting while people decide. It begins when there
// is somebody to wait for: it returns the time that the agent has, and how to end
// the wait.
type Line func(ctx context.Context) (waiting context.Context, end func(), err error)

// Later is the line of an agent that does not wait: it asks again.
var Later Line

// Pass takes one call through all the steps: policy decides, people answer where it
// asks for them, policy decides again, and what they approved is used. The call may
// go on only where Pass returns no error and it is released. With [Later] it may
// be open still. An error that is a [*WaitError] says that nobody has decided yet;
// every other, that the call must be refused.
func (x *Exchange) Pass(ctx context.Context, e *Evaluation, line Line) error {
	if err := x.Await(ctx, e, line); err != nil {
		return err
	}
	return x.Use(ctx, e)
}

// Await is [Exchange.Pass] without the use: what was approved stays for the same call, and the
// call may not go on yet.
func (x *Exchange) Await(ctx context.Context, e *Evaluation, line Line) error {
	if e.request.ID == "" {
		if err := x.Decide(ctx, e); err != nil {
			return err
		}
	}
	return x.inLine(ctx, e, line)
}

// inLine waits for people in one of the two ways. A result waits for nothing but
// them: its call was made when the agent was not paused.
func (x *Exchange) inLine(ctx context.Context, e *Evaluation, line Line) error {
	if err := x.CatchUp(ctx, e); err != nil || line == nil {
		return err
	}
	if !e.Undecided() && (e.Call.Result != nil || x.AgentStatus().Running()) {
		return nil
	}
	waiting, end, err := line(ctx)
	if err != nil {
		return err
	}
	defer end()
	return x.Wait(waiting, e)
}
