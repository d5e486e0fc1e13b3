package sdk

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdgate/holdgate/plugins/sdk/channelv1"
)

// server is a channel's side of the protocol.
type server struct {
	channelv1.UnimplementedChannelServer
	channel Channel
}

var _ channelv1.ChannelServer = (*server)(nil)

// The codes under which a channel's own errors travel. Any other code is of
// the transport, or of a channel that does not follow the protocol.
const (
	codeRetry     = codes.Aborted
	codePermanent = codes.FailedPrecondition
)

func (s *server) Info(context.Context, *channelv1.InfoRequest) (*channelv1.InfoResponse, error) {
	i := s.channel.Info()
	_, i.News = s.channel.(Newscaster)
	return &channelv1.InfoResponse{Name: i.Name, Assurance: channelv1.Assurance(i.Assurance), Forgets: i.Forgets, Abilities: i.abilities()}, nil
}

func (s *server) Configure(ctx context.Context, r *channelv1.ConfigureRequest) (*channelv1.ConfigureResponse, error) {
	return &channelv1.ConfigureResponse{}, failure(s.channel.Configure(ctx, r.GetConfig()))
}

func (s *server) Notify(ctx context.Context, r *channelv1.NotifyRequest) (*channelv1.NotifyResponse, error) {
	return &channelv1.NotifyResponse{}, failure(s.channel.Notify(ctx, noticeFromProto(r.GetNotice())))
}

func (s *server) Update(ctx context.Context, r *channelv1.UpdateRequest) (*channelv1.UpdateResponse, error) {
	return &channelv1.UpdateResponse{}, failure(s.channel.Update(ctx, noticeFromProto(r.GetNotice())))
}

func (s *server) Health(ctx context.Context, _ *channelv1.HealthRequest) (*channelv1.HealthResponse, error) {
	return &channelv1.HealthResponse{}, failure(s.channel.Health(ctx))
}

func (s *server) Tell(ctx context.Context, r *channelv1.TellRequest) (*channelv1.TellResponse, error) {
	c, ok := s.channel.(Newscaster)
	if !ok {
		return s.UnimplementedChannelServer.Tell(ctx, r)
	}
	return &channelv1.TellResponse{}, failure(c.Tell(ctx, newsFromProto(r.GetNews())))
}

// failure is a channel's error as it travels.
func failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrPermanent):
		return status.Error(codePermanent, err.Error())
	}
	return status.Error(codeRetry, err.Error())
}

// Answers runs the channel's Answers, beside the goroutine that receives the
// verdicts: that one ends when this method has returned, for gRPC ends the
// stream then.
func (s *server) Answers(stream grpc.BidiStreamingServer[channelv1.AnswersRequest, channelv1.AnswersResponse]) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	a := &answers{stream: stream, waiting: make(map[uint64]chan *channelv1.AnswersRequest)}
	go func() { cancel(a.receive()) }()
	return failure(s.channel.Answers(ctx, func(callCtx context.Context, an Answer) (string, error) {
		callCtx, stop := context.WithCancelCause(callCtx)
		defer stop(nil)
		defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
		return a.submit(callCtx, an)
	}))
}

// answers matches verdicts to answers.
type answers struct {
	stream grpc.BidiStreamingServer[channelv1.AnswersRequest, channelv1.AnswersResponse]

	sending sync.Mutex // so that numbers grow on the wire; guards last
	last    uint64

	mu      sync.Mutex // never held while sending or receiving
	waiting map[uint64]chan *channelv1.AnswersRequest
}

// receive hands out verdicts until the stream ends, and returns why it did.
func (a *answers) receive() error {
	for {
		verdict, err := a.stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("holdgate takes no more answers")
		}
		if err != nil {
			return err
		}
		a.mu.Lock()
		ch := a.waiting[verdict.GetNumber()]
		delete(a.waiting, verdict.GetNumber()) // so that ch gets one value at most
		a.mu.Unlock()
		if ch != nil {
			ch <- verdict
		}
	}
}

// submit sends one answer and waits for its verdict.
func (a *answers) submit(ctx context.Context, answer Answer) (string, error) {
	ch := make(chan *channelv1.AnswersRequest, 1)
	number, err := a.send(answer, ch)
	defer func() {
		a.mu.Lock()
		delete(a.waiting, number)
		a.mu.Unlock()
	}()
	if err != nil {
		return "", err
	}
	select {
	case v := <-ch:
		if v.GetRefused() != "" {
			return v.GetStatus(), &Refused{Reason: v.GetRefused()}
		}
		return v.GetStatus(), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (a *answers) send(answer Answer, ch chan *channelv1.AnswersRequest) (uint64, error) {
	a.sending.Lock()
	defer a.sending.Unlock()
	a.last++
	a.mu.Lock()
	a.waiting[a.last] = ch
	a.mu.Unlock()
	return a.last, a.stream.Send(&channelv1.AnswersResponse{Number: a.last, Answer: answerToProto(answer)})
}
