package api

import (
	"fmt"
	"net/http"
	"strconv"

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
func (s *Server) queryAudit(r *request) ([]audit.Entry, error) {
	v, err := query(r, "request_id", "exchange", "type", "agent", "session", "from", "limit")
	if err != nil {
		return nil, err
	}
	q := audit.Query{
		RequestID: v.Get("request_id"), Exchange: v.Get("exchange"), Type: audit.Type(v.Get("type")),
		Agent: v.Get("agent"), Session: v.Get("session"), Limit: defaultEntries,
	}
	if f := v.Get("from"); f != "" {
		if q.From, err = strconv.ParseUint(f, 10, 64); err != nil {
			return nil, malformed("from must be a sequence number")
		}
	}
	if l := v.Get("limit"); l != "" {
		if q.Limit, err = strconv.Atoi(l); err != nil || q.Limit < 1 || q.Limit > maxEntries {
			return nil, malformed("limit must be 1 to %d", maxEntries)
		}
	}
	list, err := s.c.Log.Query(r.Context(), q)
	if err != nil {
		return nil, fmt.Errorf("querying the audit log: %w", err)
	}
	if list == nil {
		list = []audit.Entry{}
	}
	return list, nil
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
