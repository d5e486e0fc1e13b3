package proxy

import (
	"context"
	"net/http"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/model"
	"github.com/holdgate/holdgate/proxy/route"
)

// A door is where a model request came in, for as long as its answer takes. It keeps
// nothing of the connection, which may wait for people without its handler.
type door struct {
	s     *Server
	t     route.Target
	began time.Time
}

var _ model.Door = door{}

func (d door) exchange(w http.ResponseWriter, r *http.Request) *exchange {
	return &exchange{s: d.s, w: w, r: r, t: d.t, began: d.began}
}

// Admit implements [model.Door].
func (d door) Admit(w http.ResponseWriter, r *http.Request) bool { return d.exchange(w, r).admit() }

// Permit implements [model.Door].
func (d door) Permit(w http.ResponseWriter, r *http.Request, body []byte, q *gate.Evaluation) bool {
	e := d.exchange(w, r)
	e.body, e.remark = body, q.Remark
	return e.permit(q, http.StatusBadRequest, func() (holdgate.Digest, error) { return e.permitKey(q.Call) })
}

// Send implements [model.Door].
func (d door) Send(ctx context.Context, r *http.Request, body []byte) (*http.Response, error) {
	e := d.exchange(nil, r)
	e.body = body
	return e.send(ctx)
}

// Patience implements [model.Door].
func (d door) Patience(r *http.Request) (ctx context.Context, end func()) {
	return d.exchange(nil, r).patience()
}

// Key implements [model.Door].
func (d door) Key(r *http.Request, body []byte) (holdgate.Digest, error) {
	e := d.exchange(nil, r)
	e.body = body
	return e.key()
}

// Account implements [model.Door].
func (d door) Account(r *http.Request) holdgate.Digest { return d.exchange(nil, r).account() }

// Refuse implements [model.Door].
func (d door) Refuse(w http.ResponseWriter, status int, message string) {
	d.s.writeError(w, d.t, status, message)
}

// Reject implements [model.Door].
func (d door) Reject(w http.ResponseWriter, r *http.Request, status int, rule, message string) {
	d.exchange(w, r).reject(status, rule, message)
}

// Report implements [model.Door].
func (d door) Report(r *http.Request, rule, message string) {
	d.s.refused(d.s.life, d.t, r.Method+" "+d.t.URL.Host+d.t.URL.Path, rule, message)
}

// Failed implements [model.Door].
func (d door) Failed(w http.ResponseWriter, r *http.Request, err error) {
	d.exchange(w, r).upstreamFailed(err)
}
