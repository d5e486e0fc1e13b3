// Package sdk is what a channel is made with: a plugin of Holdgate that tells
// people of held calls and brings back what they say.
//
// # A channel
//
// A channel is a program of its own. It implements [Channel] and its main is
//
//	func main() { sdk.Serve(mychannel.New(sdk.Logger())) }
//
// Holdgate starts the program, asks for its [Info], hands over the
// configuration, and then tells it of requests ([Channel.Notify]) and of what
// became of them ([Channel.Update]), while [Channel.Answers] runs and sends
// answers back. [Channel.Health] is asked now and then. Where the process
// crashes or hangs it is ended and started again, with a growing pause.
//
// # What a channel can rely on
//
// Every text in a [Notice] is safe to show: what a screen would hide or obey is
// written out. A request is told at least once, and may be told again; one
// whose delivery failed is told again later. No call lasts longer than its
// context.
//
// # What Holdgate does not rely on
//
// An answer counts only with the nonce and digest of a notice that this channel
// was sent, from a channel whose [Assurance] is enough for the request, and
// never twice from the same person. A channel may lie about the person alone:
// it is trusted as far as the person who configured it trusts it.
//
// # Over the wire
//
// The protocol is proto/channel.proto, for channels in other languages: gRPC
// over a unix socket, with the handshake and the mutual TLS of
// hashicorp/go-plugin. Nothing secret is in the arguments or the environment of
// the process. It ends when its standard input ends.
package sdk

import (
	"context"
	"errors"
	"fmt"
)

// A Channel reaches people in one place. Its methods are called concurrently,
// Configure before all but Info.
type Channel interface {
	// Info says what the channel is. It does not change while it runs.
	Info() Info
	// Configure takes the configuration, a JSON object, and makes ready. An
	// error means that the channel cannot work like this; it is shown to the
	// person who configured it, and must name no secret.
	Configure(ctx context.Context, config []byte) error
	// Notify tells people of a request, and returns once they can see it. A
	// notice with an id that is known replaces the earlier one. An error means
	// that nobody was told: Notify is called again later, unless the error is
	// [Permanent].
	Notify(ctx context.Context, n Notice) error
	// Update tells people that a request has changed: somebody voted, or it
	// has ended. An id that is not known is no error.
	Update(ctx context.Context, n Notice) error
	// Answers hands each answer of a person to answer, until ctx ends or the
	// channel cannot go on. It is called once.
	Answers(ctx context.Context, answer Answerer) error
	// Health returns why people cannot be reached at present, or nil.
	Health(ctx context.Context) error
}

// An Answerer takes one person's answer and returns where the request stands
// then. A *[Refused] says why the answer does not count, in words for that
// person; any other error, that nobody knows whether it does. It is safe for
// concurrent use.
type Answerer func(ctx context.Context, a Answer) (status string, err error)

// Info says what a channel is.
type Info struct {
	Name      string // the kind of channel, such as "terminal"
	Assurance Assurance
	// Forgets says that the channel keeps open questions in memory alone. It
	// is told of everything pending whenever it has been started.
	Forgets bool

	// What the channel can do besides: only where it says so do [Notice.Answers]
	// name these answers.
	Edits  bool // [Edit]: it can take other arguments
	Claims bool // [Claim] and [Unclaim]
	Sees   bool // [Seen]: it knows when somebody has opened a request
	// News says that it is a [Newscaster]. [Serve] sets it.
	News bool
}

// A Newscaster is a channel that also brings news: what people should know and
// need not answer.
type Newscaster interface {
	Channel
	// Tell tells people, and returns once they can see it. News with an id that
	// is known are not told again. An error means that nobody was told.
	Tell(ctx context.Context, n News) error
}

// Assurance says how sure a channel is of who speaks. The zero value is not
// valid.
type Assurance int

// The assurances of channels, weakest first.
const (
	// Text could have been written by anybody with the account, an agent
	// included: chat, mail, comments. It may deny and steer, and not approve.
	Text Assurance = iota + 1
	// Interactive is an action whose sender is proven by a signature.
	Interactive
	// Local is a person at this machine.
	Local
)

// String returns the name that policies use.
func (a Assurance) String() string {
	switch a {
	case Text:
		return "text"
	case Interactive:
		return "interactive"
	case Local:
		return "local"
	}
	return fmt.Sprintf("assurance(%d)", int(a))
}

// Refused says why an answer does not count.
type Refused struct {
	Reason string // for the person who answered
}

func (r *Refused) Error() string { return r.Reason }

// ErrPermanent marks an error that stays the same however often one tries.
var ErrPermanent = errors.New("this will not change")

// Permanent marks err as one that trying again does not help.
func Permanent(err error) error { return fmt.Errorf("%w (%w)", err, ErrPermanent) }
