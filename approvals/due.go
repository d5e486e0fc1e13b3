package approvals

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
)

// dueKey sorts by time. What is due is a request's end or an exchange's.
func dueKey(at time.Time, id string) string {
	return prefixDue + store.Seq(uint64(at.UnixNano())) + "/" + id
}

// What the value of a due key says.
const (
	dueRequest  = "request"  // ends, and denies
	dueSilence  = "silence"  // a request too; it approves
	dueClaim    = "claim"    // on a request lapses; it stays pending
	dueEscalate = "escalate" // a request's circle widens
	dueExchange = "exchange" // is given up
	dueGrant    = "grant"    // expires
)

// escalateKey is dueKey for what may be due at the same time as the end of the
// request.
func escalateKey(at time.Time, id string) string { return dueKey(at, id) + "/" + dueEscalate }

// A due is an entry of the timer.
type due struct {
	key  string
	at   time.Time
	id   string
	what string
}

// due is the kind of the request's entry in the timer.
func (r *storedRequest) due() string {
	if r.Claim != nil {
		return dueClaim
	}
	if r.OnTimeout == holdgate.TimeoutApprove {
		return dueSilence
	}
	return dueRequest
}

func parseDue(p store.Pair) (due, error) {
	seq, id, ok := strings.Cut(strings.TrimPrefix(p.Key, prefixDue), "/")
	n, err := store.ParseSeq(seq)
	if !ok || err != nil {
		return due{}, fmt.Errorf("reading %s: not a time and an id", p.Key)
	}
	id, _, _ = strings.Cut(id, "/")
	return due{key: p.Key, at: time.Unix(0, int64(n)), id: id, what: string(p.Value)}, nil
}
