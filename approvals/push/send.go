package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

const (
	workers  = 4
	backlog  = 256 // messages that wait to be sent; more are left out
	apart    = 10 * time.Second
	keptFor  = time.Hour // by the service, for a browser that is away
	sending  = 15 * time.Second
	maxTries = 3
)

// errOver says that a service knows the subscription no longer.
var errOver = errors.New("the browser has ended the subscription")

// client sends to the public network alone, without a proxy, and follows nothing.
func client(refuse func(netip.Addr) string) *http.Client {
	dialer := &net.Dialer{Timeout: sending, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if why := refuse(at.Addr()); why != "" {
			return fmt.Errorf("%s is not dialled: %s", at.Addr(), why)
		}
		return nil
	}}
	return &http.Client{
		Timeout:       sending,
		Transport:     &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 10, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: sending},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A parcel is a message on its way.
type parcel struct {
	to Subscription
	message
}

// Run sends what comes to wait after the given event, until ctx ends. It returns once all
// that it has begun has ended.
func (s *Sender) Run(ctx context.Context, after uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	parcels := make(chan parcel, backlog)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for range workers {
		work.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case p := <-parcels:
					s.deliver(ctx, p)
				}
			}
		})
	}
	latest := make(map[string]told) // by subscription
	return s.c.Queue.Events(ctx, after, func(e approvals.Event) error {
		r := e.Request
		if e.Type != record.EventRequested && e.Type != record.EventEscalated || r.Status != holdgate.StatusPending {
			return nil
		}
		list, err := s.subscribed(ctx, able(r, s.c.People()))
		if err != nil {
			s.c.Logger.ErrorContext(ctx, "reading who is told by push", "error", err)
			return nil
		}
		now := time.Now()
		for _, sub := range list {
			if last := latest[sub.ID]; now.Sub(last.at) < s.apart && weight(r.Risk) <= weight(last.risk) {
				continue // they look by now, or do not
			}
			latest[sub.ID] = told{now, r.Risk}
			select {
			case parcels <- parcel{sub, message{string(r.Risk), r.ID}}:
			default:
				s.c.Logger.WarnContext(ctx, "too much to tell by push: one message is left out", "approval", r.ID)
			}
		}
		return nil
	})
}

// able are those who may approve a request, somebody who is alone included.
func able(r approvals.Request, p *people.People) []people.Person {
	if p.Alone() {
		return p.All()
	}
	return r.Able(p)
}

// told is what a browser was told last.
type told struct {
	at   time.Time
	risk holdgate.Risk
}

// weight orders risks. One that is not known weighs most.
func weight(r holdgate.Risk) int {
	i := slices.Index([]holdgate.Risk{holdgate.RiskLow, holdgate.RiskMedium, holdgate.RiskHigh, holdgate.RiskCritical}, r)
	if i < 0 {
		return 4
	}
	return i
}

// subscribed lists the browsers of these people.
func (s *Sender) subscribed(ctx context.Context, able []people.Person) (list []Subscription, err error) {
	err = s.c.Store.View(ctx, func(tx store.Tx) error {
		list, err = all(tx)
		return err
	})
	return slices.DeleteFunc(list, func(sub Subscription) bool {
		return !slices.ContainsFunc(able, func(p people.Person) bool { return p.Name == sub.Person })
	}), err
}

// deliver sends a message, again where the service cannot take it yet, and forgets a browser
// that has ended its subscription.
func (s *Sender) deliver(ctx context.Context, p parcel) {
	for try, wait := 1, 2*time.Second; ; try, wait = try+1, 5*wait {
		again, err := s.send(ctx, p)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case errors.Is(err, errOver):
			if err := s.Remove(ctx, p.to.Person, p.to.ID); err != nil {
				s.c.Logger.ErrorContext(ctx, "forgetting a browser", "person", p.to.Person, "error", err)
			}
			return
		case !again || try == maxTries:
			s.c.Logger.WarnContext(ctx, "a browser was not told", "person", p.to.Person, "approval", p.Request, "error", err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// send sends a message once, and says whether another try may do better.
func (s *Sender) send(ctx context.Context, p parcel) (again bool, err error) {
	text, err := padded(p.message)
	if err != nil {
		return false, err
	}
	body, err := encrypted(p.to, text)
	if err != nil {
		return false, err
	}
	rq, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to.Endpoint, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	vouched, err := s.vouched(p.to.Endpoint, time.Now())
	if err != nil {
		return false, err
	}
	rq.Header = http.Header{
		"Authorization": {vouched}, "Content-Type": {"application/octet-stream"}, "Content-Encoding": {"aes128gcm"},
		"Ttl": {strconv.Itoa(int(keptFor.Seconds()))}, "Urgency": {"high"},
	}
	resp, err := s.client.Do(rq)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // an address is a secret of the browser's
		}
		return true, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4096))
	switch {
	case resp.StatusCode/100 == 2:
		return false, nil
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return false, errOver
	}
	return resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500, fmt.Errorf("the service answers %s", resp.Status)
}
