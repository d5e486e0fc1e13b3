package approvals

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// ErrCursor says that a filter's cursor is not one that a page gave.
var ErrCursor = errors.New("not a cursor of this list: begin without one")

const (
	// DefaultPage is how many requests a page of history has where the filter
	// names no limit, and MaxPage is the most that any page has.
	DefaultPage = 200
	MaxPage     = 1000
	// maxScanned bounds how many entries of the index one page looks at, however
	// few of them the filter selects.
	maxScanned = 20_000
	// maxRead bounds how many requests of the history one page reads whole: a text is sought
	// in each of them.
	maxRead = MaxPage
)

// Filter selects requests. Zero fields select all.
type Filter struct {
	Status  holdgate.Status
	Agent   string
	Session string
	Risk    holdgate.Risk
	Rule    string
	Text    string // that a screen shows of the call, in capitals or not: see [Request.Mentions]

	// Urgent puts the most urgent first, of pending ones: by risk, then by the time that
	// was left when they were asked. Such a page has no next one.
	Urgent bool
	Limit  int    // how many at most; 0: see [Queue.Page]
	Cursor string // the Next of the page before; "" begins
}

// A Page is a part of a list.
type Page struct {
	Requests []Request
	// Next is the cursor of the page that follows, "" where there is none. A
	// page may have fewer requests than its limit, even none, and one after it.
	Next string
}

// List returns the requests of the filter's page: see [Queue.Page].
func (q *Queue) List(ctx context.Context, f Filter) ([]Request, error) {
	p, err := q.Page(ctx, f)
	return p.Requests, err
}

// Page returns requests that the filter selects. Pending ones come in the order
// in which they were asked, all of them where no limit is named. Any others
// come newest first, [DefaultPage] of them where no limit is named. A limit is
// at most [MaxPage]. A page costs what it looks at, not what the history holds.
//
// What is asked or ends between two pages moves no other request: a cursor
// names a place in the order of asking. It returns ErrCursor for one that is
// none.
func (q *Queue) Page(ctx context.Context, f Filter) (Page, error) {
	l, err := f.lookup()
	if err != nil {
		return Page{}, err
	}
	p := Page{Requests: []Request{}}
	each := l.each
	if f.Urgent && f.Status == holdgate.StatusPending {
		each = l.urgent
	}
	err = q.c.Store.View(ctx, func(tx store.Tx) error {
		var shown error
		var err error
		p.Next, err = each(tx, func(r *record.StoredRequest) bool {
			if f.Text != "" && !r.View(q.People()).Mentions(f.Text) {
				return false
			}
			v, err := q.show(tx, r)
			shown = errors.Join(shown, err)
			p.Requests = append(p.Requests, v)
			return true
		})
		return errors.Join(err, shown)
	})
	if err != nil {
		return Page{}, fmt.Errorf("listing requests: %w", err)
	}
	return p, nil
}

// A lookup is a filter as it is looked up: a range of one of the indexes.
type lookup struct {
	Filter

	prefix, from string
	scans, reads int // how many entries of the index it looks at, and how many requests
}

func (f Filter) lookup() (lookup, error) {
	l := lookup{Filter: f, prefix: record.PrefixAsked, scans: maxScanned, reads: maxRead}
	if l.Limit > MaxPage {
		l.Limit = MaxPage
	}
	switch {
	case f.Status == holdgate.StatusPending:
		l.prefix, l.reads = record.PrefixPending, math.MaxInt
		if l.Limit <= 0 {
			l.Limit, l.scans = math.MaxInt, math.MaxInt
		}
	case l.Limit <= 0:
		l.Limit = DefaultPage
	}
	if f.Cursor != "" {
		if _, err := store.ParseSeq(f.Cursor); err != nil {
			return lookup{}, ErrCursor
		}
		l.from = l.prefix + f.Cursor
	}
	return l, nil
}

// each calls fn for the requests of the range until it has taken as many as are looked
// for, and returns where the next one begins.
func (l lookup) each(tx store.Tx, fn func(*record.StoredRequest) (took bool)) (next string, err error) {
	for p, err := range tx.Scan(l.prefix, l.from) {
		if err != nil {
			return "", err
		}
		if l.Limit == 0 || l.scans == 0 || l.reads == 0 {
			return strings.TrimPrefix(p.Key, l.prefix), nil
		}
		l.scans--
		var a record.StoredAsked
		if err := record.Decode(p.Key, p.Value, &a); err != nil {
			return "", err
		}
		if !l.selects(a) {
			continue
		}
		l.reads--
		var r record.StoredRequest
		if err := record.Read(tx, record.PrefixRequest+a.ID, &r); err != nil {
			return "", err
		}
		if l.is(&r) && fn(&r) {
			l.Limit--
		}
	}
	return "", nil
}

// urgent calls fn for the most urgent of the pending requests, until it has taken as many
// as are looked for. The index alone is read for the others.
func (l lookup) urgent(tx store.Tx, fn func(*record.StoredRequest) (took bool)) (string, error) {
	var all []record.StoredAsked
	err := record.EachAsked(tx, func(a record.StoredAsked) {
		if l.selects(a) {
			all = append(all, a)
		}
	})
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(all, record.MoreUrgent)
	for _, a := range all {
		if l.Limit == 0 {
			break
		}
		var r record.StoredRequest
		if err := record.Read(tx, record.PrefixRequest+a.ID, &r); err != nil {
			return "", err
		}
		if l.is(&r) && fn(&r) {
			l.Limit--
		}
	}
	return "", nil
}

// is reports whether a request has the risk and the rule that are looked for, which the
// index does not say of old ones.
func (f Filter) is(r *record.StoredRequest) bool {
	return (f.Risk == "" || f.Risk == r.Risk) && (f.Rule == "" || f.Rule == r.Rule)
}

func (f Filter) selects(a record.StoredAsked) bool {
	return (f.Status == "" || f.Status == a.Status) &&
		(f.Agent == "" || f.Agent == a.Agent) &&
		(f.Session == "" || f.Session == a.Session) &&
		(a.Expires.IsZero() || (f.Risk == "" || f.Risk == a.Risk) && (f.Rule == "" || f.Rule == a.Rule))
}

// eachPending calls fn for each pending request, in the order of asking.
func eachPending(tx store.Tx, fn func(*record.StoredRequest)) error {
	l, err := Filter{Status: holdgate.StatusPending}.lookup()
	if err != nil {
		return err
	}
	_, err = l.each(tx, func(r *record.StoredRequest) bool {
		fn(r)
		return true
	})
	return err
}

// Request returns one request, or ErrNotFound.
func (q *Queue) Request(ctx context.Context, id string) (Request, error) {
	var v Request
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		r := new(record.StoredRequest)
		err := record.Read(tx, record.PrefixRequest+id, r)
		if err != nil {
			return err
		}
		v, err = q.show(tx, r)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return Request{}, ErrNotFound
	}
	return v, err
}

// show is the request as people see it, with what became of others like it.
func (q *Queue) show(tx store.Tx, r *record.StoredRequest) (Request, error) {
	v := r.View(q.People())
	var err error
	v.Similar, err = grants.SimilarTo(tx, r)
	return v, err
}

func (q *Queue) request(ctx context.Context, id string) (*record.StoredRequest, error) {
	r := new(record.StoredRequest)
	err := q.c.Store.View(ctx, func(tx store.Tx) error { return record.Read(tx, record.PrefixRequest+id, r) })
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNotFound
	}
	return r, err
}

// PendingOf lists the caller's own requests that are pending, in the order of
// asking.
func (q *Queue) PendingOf(ctx context.Context, who Caller) ([]Request, error) {
	list, err := q.List(ctx, Filter{Status: holdgate.StatusPending, Agent: who.Agent.ID, Session: who.Session.ID})
	return slices.Clip(list), err
}
