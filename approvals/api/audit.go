package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// Limits of one audit query, in entries.
const (
	defaultEntries = 100
	maxEntries     = 1000
)

// Head is the answer of /v1/audit/head.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// queryAudit serves GET /v1/audit.
func (s *Server) queryAudit(r *request) ([]audit.Entry, string, error) {
	v, err := query(r, "request_id", "exchange", "type", "agent", "session", "tool", "rule", "member", "action", "since", "until", "text", "from", "limit", "cursor")
	if err != nil {
		return nil, "", err
	}
	q := audit.Query{
		RequestID: v.Get("request_id"), Exchange: v.Get("exchange"), Type: audit.Type(v.Get("type")),
		Agent: v.Get("agent"), Session: v.Get("session"),
		Tool: v.Get("tool"), Rule: v.Get("rule"), Member: v.Get("member"), Text: v.Get("text"),
	}
	if text := v.Get("action"); text != "" {
		if _, err := holdgate.ParseAction(text); err != nil {
			return nil, "", malformed("action: %v", err)
		}
		q.Action = text
	}
	if q.Since, err = moment(v, "since"); err != nil {
		return nil, "", err
	}
	if q.Until, err = moment(v, "until"); err != nil {
		return nil, "", err
	}
	if q.From, err = firstEntry(v); err != nil {
		return nil, "", err
	}
	most, err := limit(v, defaultEntries, maxEntries)
	if err != nil {
		return nil, "", err
	}
	q.Limit = most + 1 // one more, to know whether there is one
	list, err := s.c.Log.Query(r.Context(), q)
	if err != nil {
		return nil, "", fmt.Errorf("querying the audit log: %w", err)
	}
	if len(list) <= most {
		return list, "", nil
	}
	return list[:most], store.Seq(list[most].Seq), nil
}

// moment reads a parameter that is a time; without it, it is zero.
func moment(v url.Values, name string) (time.Time, error) {
	text := v.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, malformed("%s must be a time such as 2026-11-22T05:00:00Z", name)
	}
	return t, nil
}

// firstEntry is the number of the entry that a query begins with.
func firstEntry(v url.Values) (uint64, error) {
	from, cursor := v.Get("from"), v.Get("cursor")
	switch {
	case from != "" && cursor != "":
		return 0, malformed("from and cursor exclude each other")
	case cursor != "":
		n, err := store.ParseSeq(cursor)
		if err != nil {
			return 0, approvals.ErrCursor
		}
		return n, nil
	case from != "":
		n, err := strconv.ParseUint(from, 10, 64)
		if err != nil {
			return 0, malformed("from must be a sequence number")
		}
		return n, nil
	}
	return 0, nil
}

// auditHead serves GET /v1/audit/head.
func (s *Server) auditHead(r *request) (Head, error) {
	h, err := s.c.Log.Head(r.Context())
	if err != nil {
		return Head{}, fmt.Errorf("reading the head of the audit log: %w", err)
	}
	return Head{Seq: h.Seq, Hash: h.Hash}, nil
}

// exportAudit serves GET /v1/audit/export: every entry, one a line.
func (s *Server) exportAudit(w http.ResponseWriter, r *request) error {
	if _, err := query(r); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/jsonl")
	if err := s.c.Log.Export(r.Context(), w); err != nil {
		return fmt.Errorf("exporting the audit log: %w", err)
	}
	return nil
}
