package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/trust"
)

// startBackground starts what works without being asked: the policy's files
// are watched, channels are served, and requests answered by themselves where
// that was asked for. It returns what ends all of it.
func (a *App) startBackground(ctx context.Context) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	a.runs.Open(ctx, a.proxy, a.queue, &a.work)
	a.startPulse(ctx)
	a.goServe("policy", func() error { return a.engine.Run(ctx) })
	a.goServe("check of the audit log", func() error { return a.checkAudit(ctx) })
	a.goServe("audit retention", func() error { return a.keepAudit(ctx) })
	a.goServe("checkpoints", func() error { return a.publish(ctx) })
	if a.o.Watched.Path != "" {
		a.goServe("configuration", func() error { return a.configs.run(ctx) })
	}
	if a.configs.provider != nil {
		a.configs.mu.Lock()
		a.configs.warnUnlinked()
		a.configs.mu.Unlock()
		a.goServe("groups", func() error { return a.configs.keepGroups(ctx) })
	}
	a.goServe("push", func() error {
		head, err := a.audit.Head(ctx)
		if err == nil {
			err = a.push.Run(ctx, head.Seq)
		}
		if err != nil && ctx.Err() == nil {
			a.log.Error("browsers are told no longer that something waits", "error", err)
		}
		return nil
	})
	a.goServe("memory", func() error { return a.tidy(ctx) })
	if a.host != nil {
		a.goServe("channels", func() error { return a.host.Run(ctx) })
	}
	if a.o.Auto != "" {
		a.log.Warn("EVERY REQUEST IS ANSWERED BY ITSELF: no person is asked", "answer", a.o.Auto)
		a.goServe("auto", func() error { return a.answerAll(ctx) })
	}
	return cancel
}

// checkWritable refuses to rest decisions on what the agent of this process can write.
func checkWritable(c config.Config, o Options) error {
	if o.TrustWritable {
		return nil
	}
	return trust.Check(c, o.Program, o.Writable)
}

// checkAuto refuses to answer by itself where others can reach a door, or
// where people are named who should.
func checkAuto(c config.Config, o Options) error {
	if o.Auto == "" {
		return nil
	}
	if len(c.People) > 0 {
		return errors.New("--auto answers every request by itself, which is none of the people in the configuration: leave one of them out")
	}
	for _, addr := range []string{c.Listen.Agents, c.Listen.Approvers} {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return err
		}
		if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
			return fmt.Errorf("--auto answers every request by itself, so both doors must be on loopback addresses, and %s is not", addr)
		}
	}
	return nil
}

// answerAll answers every request as it comes.
func (a *App) answerAll(ctx context.Context) error {
	return a.queue.Feed(ctx, "auto", func(e approvals.Event) error {
		if e.Type != record.EventRequested {
			return nil
		}
		v := approvals.Vote{Decision: a.o.Auto, By: "auto", Channel: "auto", Assurance: "local", At: time.Now(), Digest: e.Request.Call.Digest, Reason: "answered by --auto"}
		if e.Request.Kind == holdgate.RequestChoice && a.o.Auto != holdgate.AnswerDeny {
			v.Decision, v.Choice = holdgate.AnswerChoose, firstOption(e.Request)
		} else if v.Decision == holdgate.AnswerChoose {
			v.Decision = holdgate.AnswerApprove
		}
		var ended *approvals.EndedError
		if _, err := a.queue.Decide(ctx, e.Request.ID, v); err != nil && !errors.As(err, &ended) {
			a.log.Error("answering a request by itself", "approval", e.Request.ID, "err", err)
		}
		return nil
	})
}

func firstOption(r approvals.Request) string {
	if len(r.Options) == 0 {
		return ""
	}
	return r.Options[0].ID
}
