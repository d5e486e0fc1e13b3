package proxytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store/audit"
)

// Pending waits until so many requests are pending, and returns them.
func (g *Sidecar) Pending(n int) []approvals.Request {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(g.T.Context(), Patience)
	defer cancel()
	var list []approvals.Request
	find := func() bool {
		var err error
		list, err = g.Queue.List(ctx, approvals.Filter{Status: holdgate.StatusPending})
		Must(g.T, err)
		return len(list) == n
	}
	if find() {
		return list
	}
	done := errors.New("found")
	err := g.Queue.Events(ctx, 0, func(approvals.Event) error {
		if find() {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) && !find() {
		g.T.Fatalf("%d requests are pending, want %d (%v)", len(list), n, err)
	}
	return list
}

// Decide answers a request in ann's name.
func (g *Sidecar) Decide(r approvals.Request, a holdgate.Answer, text string) {
	g.T.Helper()
	v := approvals.Vote{Decision: a, By: "ann", Channel: "cli", Digest: r.Call.Digest}
	switch a {
	case holdgate.AnswerSteer:
		v.Instructions = text
	default:
		v.Reason = text
	}
	_, err := g.Queue.Decide(g.T.Context(), r.ID, v)
	Must(g.T, err)
}

// Entries returns the audit entries of a type.
func (g *Sidecar) Entries(typ audit.Type) []audit.Entry {
	g.T.Helper()
	list, err := g.log.Query(g.T.Context(), audit.Query{Type: typ})
	Must(g.T, err)
	return list
}

// Eventually waits until the log has so many entries of a type.
func (g *Sidecar) Eventually(typ audit.Type, n int) []audit.Entry {
	g.T.Helper()
	var list []audit.Entry
	Await(g.T, fmt.Sprintf("%d entries of type %s", n, typ), func() (bool, any) {
		list = g.Entries(typ)
		return len(list) >= n, len(list)
	})
	return list
}

// Verified fails the test where the audit log does not verify.
func (g *Sidecar) Verified() {
	g.T.Helper()
	var out bytes.Buffer
	Must(g.T, g.log.Export(g.T.Context(), &out))
	rep, err := audit.Verify(&out, audit.VerifyOptions{})
	if err != nil {
		g.T.Fatalf("the audit log does not verify: %v (%+v)", err, rep)
	}
}
