package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdgate/holdgate/plugins/sdk/channelv1"
)

// A Remote is a channel in another process, as Holdgate sees it. It is safe
// for concurrent use. Every method needs a context that ends.
//
// Its errors say who failed: a *[ChannelError] is what the channel itself
// answered; anything else means that the process or the way to it is broken.
type Remote struct {
	client channelv1.ChannelClient
}

// NewRemote returns the channel at the other end of the connection.
func NewRemote(conn grpc.ClientConnInterface) *Remote {
	return &Remote{client: channelv1.NewChannelClient(conn)}
}

// Dispense returns the channel of a plugin that has been started.
func Dispense(p goplugin.ClientProtocol) (*Remote, error) {
	raw, err := p.Dispense(pluginName)
	if err != nil {
		return nil, fmt.Errorf("dispensing the channel: %w", err)
	}
	r, ok := raw.(*Remote)
	if !ok {
		return nil, fmt.Errorf("dispensing the channel: got a %T", raw)
	}
	return r, nil
}

// A ChannelError is an error that the channel itself returned.
type ChannelError struct {
	Text      string // written by the channel
	Permanent bool   // trying again does not help
}

func (e *ChannelError) Error() string { return e.Text }

// Info asks what the channel is.
func (r *Remote) Info(ctx context.Context) (Info, error) {
	p, err := r.client.Info(ctx, &channelv1.InfoRequest{})
	if err != nil {
		return Info{}, received(err)
	}
	i := Info{Name: p.GetName(), Assurance: Assurance(p.GetAssurance()), Forgets: p.GetForgets()}
	i.able(p.GetAbilities())
	if i.Assurance < Text || i.Assurance > Local {
		return Info{}, fmt.Errorf("the channel names no assurance that is known here (%d)", i.Assurance)
	}
	return i, nil
}

// Configure hands over the configuration.
func (r *Remote) Configure(ctx context.Context, config []byte) error {
	_, err := r.client.Configure(ctx, &channelv1.ConfigureRequest{Config: config})
	return received(err)
}

// Notify tells of a request.
func (r *Remote) Notify(ctx context.Context, n Notice) error {
	_, err := r.client.Notify(ctx, &channelv1.NotifyRequest{Notice: noticeToProto(n)})
	return received(err)
}

// Update tells of a change.
func (r *Remote) Update(ctx context.Context, n Notice) error {
	_, err := r.client.Update(ctx, &channelv1.UpdateRequest{Notice: noticeToProto(n)})
	return received(err)
}

// Tell brings news to a channel that has [Info.News].
func (r *Remote) Tell(ctx context.Context, n News) error {
	_, err := r.client.Tell(ctx, &channelv1.TellRequest{News: newsToProto(n)})
	return received(err)
}

// Health asks whether people can be reached.
func (r *Remote) Health(ctx context.Context) error {
	_, err := r.client.Health(ctx, &channelv1.HealthRequest{})
	return received(err)
}

// Answers calls take for each answer, one after the other, and sends back what
// it returns, until ctx or the stream ends. It always returns an error. An
// error of take's that is no *[Refused] is not shown to the channel.
func (r *Remote) Answers(ctx context.Context, take Answerer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := r.client.Answers(ctx)
	if err != nil {
		return received(err)
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the channel takes no more answers")
		}
		if err != nil {
			return received(err)
		}
		verdict := &channelv1.AnswersRequest{Number: m.GetNumber()}
		verdict.Status, err = take(ctx, answerFromProto(m.GetAnswer()))
		var refused *Refused
		switch {
		case errors.As(err, &refused):
			verdict.Refused = refused.Reason
		case err != nil:
			verdict.Refused = "Holdgate could not take this answer; it may try again."
		}
		if err := stream.Send(verdict); err != nil {
			return received(err)
		}
	}
}

// received is an error as it arrived.
func received(err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	switch s.Code() {
	case codeRetry:
		return &ChannelError{Text: s.Message()}
	case codePermanent:
		return &ChannelError{Text: s.Message(), Permanent: true}
	case codes.DeadlineExceeded:
		return fmt.Errorf("the channel does not answer: %w", context.DeadlineExceeded)
	case codes.Canceled:
		return fmt.Errorf("the call was ended: %w", context.Canceled)
	}
	return err
}
