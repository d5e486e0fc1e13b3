package gate

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/holdgate/holdgate"
)

// An Exchange is one request of an agent and its answer on their way through the
// gate. It may carry several calls.
type Exchange struct {
	// OnAsk is told of what people are asked next, after they have answered; nil
	// where nobody cares.
	OnAsk func(*Evaluation)

	g       *Gate
	from    From
	key     Key
	held    Held        // nil until it is in the queue
	stored  atomic.Bool // something of it is on disk, so that its id means something
	session Session     // nil until it is asked for
}

// Begin begins an exchange that is in the queue once one of its calls is held.
func (g *Gate) Begin(from From, key Key) *Exchange {
	return &Exchange{g: g, from: from, key: key}
}

// Enter begins an exchange in the queue, or joins the one that an earlier
// connection left there. What people have approved for a task that is over ends with
// that. [Exchange.Leave] must be called.
func (g *Gate) Enter(ctx context.Context, from From, key Key) (*Exchange, error) {
	if from.Turns != nil {
		if err := g.c.Queue.GoesOn(ctx, from.Caller, from.Turns); err != nil {
			return nil, err
		}
	}
	held, err := g.c.Queue.Enter(ctx, from.Caller, key)
	if err != nil {
		return nil, err
	}
	return g.TakeUp(from, held), nil
}

// TakeUp begins an exchange that is in the queue already.
func (g *Gate) TakeUp(from From, held Held) *Exchange {
	return &Exchange{g: g, from: from, held: held}
}

// errNoKey says that a call is held of an exchange that nothing names.
var errNoKey = errors.New("this request cannot be held, for nothing names it")

// enter puts the exchange into the queue, if it is not there. The key is made in
// any case, for what makes it may read what will be sent.
func (x *Exchange) enter(ctx context.Context) error {
	if x.held != nil {
		return nil
	}
	if x.key == nil {
		return errNoKey
	}
	k, err := x.key()
	if err != nil {
		return err
	}
	x.held, err = x.g.c.Queue.Enter(ctx, x.from.Caller, func() (holdgate.Digest, error) { return k, nil })
	return err
}

// Held is the exchange in the queue, nil where it is not there.
func (x *Exchange) Held() Held { return x.held }

// From is where its calls come from.
func (x *Exchange) From() From { return x.from }

// Leave ends the connection's part in the exchange. What is pending stays. It
// does nothing where the exchange is not in the queue.
func (x *Exchange) Leave() {
	if x.held != nil {
		x.held.Leave()
	}
}

// Done records what became of an exchange: whether the client has all of it, and
// else what is known.
func (x *Exchange) Done(ctx context.Context, delivered bool, note string) {
	if x.held == nil {
		return
	}
	if err := x.held.Done(context.WithoutCancel(ctx), delivered, note); err != nil {
		x.g.c.Logger.ErrorContext(ctx, "recording the end of an exchange", "exchange", x.held.ID(), "err", err)
	}
}

// Session is what is known of the exchange's session. It is looked up once.
func (x *Exchange) Session(ctx context.Context) (Session, error) {
	if x.session == nil {
		s, err := x.g.c.Queue.Track(context.WithoutCancel(ctx), x.from.Agent.ID, x.from.Session.ID)
		if err != nil {
			return nil, fmt.Errorf("reading the session: %w", err)
		}
		x.session = s
	}
	return x.session, nil
}
