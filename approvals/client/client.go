// Package client speaks to the approvers' door of a sidecar: it is what the
// commands use, and what a Go program that approves can use.
//
// The approver's token goes only to a listener that has proven to know it, or
// its hash. The proof is part of dialling: on each new connection the client first asks POST
// /v1/prove, and hands the connection to the HTTP client only after the right
// answer ([api.Proof]). So a process that took the port after a crash learns
// nothing, not even when the sidecar dies between two requests, and cannot
// pass the question on to the sidecar at another address.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/store/audit"
)

// The names in the state folder.
const (
	SocketName = "holdgate.sock"
	TokenName  = "approver.token"
	caName     = "page-ca.pem"
)

// Options say where the sidecar is.
type Options struct {
	// StateDir is the sidecar's state folder: the token is read there, and
	// the socket is there.
	StateDir string
	// TokenFile, where set, holds the token to be used instead: that of a
	// person whom the sidecar's configuration names.
	TokenFile string
	// URL, where set, is used instead of the socket: "http://127.0.0.1:7301". Over
	// https:// the certificate proves the listener, of a CA that the system or the
	// state folder (page-ca.pem) has.
	URL string
	// Channel is what votes name as theirs: "cli", [api.ChannelEditor] or "api" (the
	// default).
	Channel string
}

// maxAnswer bounds an answer that is read whole, in bytes.
const maxAnswer = 256 << 20

// A Client is safe for concurrent use.
type Client struct {
	base    string
	tried   string // where the sidecar is looked for
	token   string
	channel string
	http    *http.Client
}

// New reads the token; it connects to nothing yet. A state folder without a
// token is a [*NoSidecarError]; a token file that is missing, or that others
// may read, is a [*TokenError].
func New(o Options) (*Client, error) {
	c := &Client{base: "http://holdgate", channel: o.Channel}
	network, addr := "unix", filepath.Join(o.StateDir, SocketName)
	c.tried = addr
	if o.URL != "" {
		u, err := url.Parse(o.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || (u.Path != "" && u.Path != "/") || u.User != nil || u.RawQuery != "" {
			return nil, fmt.Errorf("sidecar address %q: want http://HOST:PORT or https://HOST:PORT", o.URL)
		}
		network, addr = "tcp", u.Host
		if u.Port() == "" {
			addr = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		}
		c.base, c.tried = u.Scheme+"://"+u.Host, o.URL
	}
	file := o.TokenFile
	if file == "" {
		file = filepath.Join(o.StateDir, TokenName)
	}
	var err error
	if c.token, err = readToken(file); err != nil {
		switch {
		case !errors.Is(err, errNoToken):
			return nil, err
		case o.TokenFile != "":
			return nil, &TokenError{Path: file, Detail: "does not exist"}
		}
		return nil, &NoSidecarError{Tried: c.tried, Err: err}
	}
	hash := api.HashToken(c.token)
	c.http = &http.Client{
		Transport: &http.Transport{
			DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialTLS(ctx, addr, filepath.Join(o.StateDir, caName))
			},
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialProven(ctx, network, addr, strings.TrimPrefix(c.base, "http://"), hash)
			},
			IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// Close drops the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// List returns the requests of the filter's page: see [Client.Page].
func (c *Client) List(ctx context.Context, f approvals.Filter) ([]approvals.Request, error) {
	p, err := c.Page(ctx, f)
	return p.Requests, err
}

// Page returns requests that the filter selects, as [approvals.Queue.Page]
// does.
func (c *Client) Page(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	q := url.Values{}
	set(q, "status", string(f.Status))
	set(q, "agent", f.Agent)
	set(q, "session", f.Session)
	set(q, "risk", string(f.Risk))
	set(q, "rule", f.Rule)
	set(q, "text", f.Text)
	set(q, "cursor", f.Cursor)
	if f.Urgent {
		q.Set("order", "urgent")
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(min(f.Limit, approvals.MaxPage)))
	}
	resp, err := c.do(ctx, http.MethodGet, "/v1/approvals", q, nil)
	if err != nil {
		return approvals.Page{}, err
	}
	next := nextCursor(resp.Header.Get("Link"))
	list, err := read[[]approvals.Request](resp)
	return approvals.Page{Requests: list, Next: next}, err
}

// nextCursor is the cursor in a link to what follows, "" where there is none.
func nextCursor(link string) string {
	target, rest, ok := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	if !ok || !strings.Contains(rest, `rel="next"`) {
		return ""
	}
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Query().Get("cursor")
}

// Request returns the request with exactly this id.
func (c *Client) Request(ctx context.Context, id string) (approvals.Request, error) {
	return get[approvals.Request](ctx, c, requestPath(id), nil)
}

// Audit returns the entries of the audit log that the query selects.
func (c *Client) Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	v := url.Values{}
	set(v, "request_id", q.RequestID)
	set(v, "exchange", q.Exchange)
	set(v, "type", string(q.Type))
	set(v, "agent", q.Agent)
	set(v, "session", q.Session)
	set(v, "tool", q.Tool)
	set(v, "rule", q.Rule)
	set(v, "member", q.Member)
	set(v, "text", q.Text)
	set(v, "action", q.Action)
	for name, t := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !t.IsZero() {
			v.Set(name, t.Format(time.RFC3339Nano))
		}
	}
	if q.From > 0 {
		v.Set("from", strconv.FormatUint(q.From, 10))
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return get[[]audit.Entry](ctx, c, "/v1/audit", v)
}

// AuditHead returns the newest entry's number and hash.
func (c *Client) AuditHead(ctx context.Context) (audit.Head, error) {
	h, err := get[api.Head](ctx, c, "/v1/audit/head", nil)
	return audit.Head{Seq: h.Seq, Hash: h.Hash}, err
}

// AuditCheckpoint returns the signed statement of the first size entries of the
// audit log, or of all where size is 0.
func (c *Client) AuditCheckpoint(ctx context.Context, size uint64) (api.SignedHead, error) {
	return get[api.SignedHead](ctx, c, "/v1/audit/checkpoint", numbers("size", size, "", 0))
}

// AuditInclusion proves an entry against the checkpoint of that size.
func (c *Client) AuditInclusion(ctx context.Context, seq, size uint64) (audit.Inclusion, error) {
	return get[audit.Inclusion](ctx, c, "/v1/audit/proof", numbers("seq", seq, "size", size))
}

// AuditConsistency proves that the log of to entries, or all where to is 0,
// begins with that of from.
func (c *Client) AuditConsistency(ctx context.Context, from, to uint64) (audit.Consistency, error) {
	return get[audit.Consistency](ctx, c, "/v1/audit/proof/consistency", numbers("from", from, "to", to))
}

// numbers is a query of those parameters that are not 0.
func numbers(a string, of uint64, b string, and uint64) url.Values {
	v := url.Values{}
	if of > 0 {
		v.Set(a, strconv.FormatUint(of, 10))
	}
	if and > 0 {
		v.Set(b, strconv.FormatUint(and, 10))
	}
	return v
}

// AuditExport copies the whole audit log to w, one entry a line. On an error w
// may hold a part of it.
func (c *Client) AuditExport(ctx context.Context, w io.Writer) error {
	resp, err := c.do(ctx, http.MethodGet, "/v1/audit/export", nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	return nil
}

// Status tells how the sidecar is.
func (c *Client) Status(ctx context.Context) (api.Status, error) {
	return get[api.Status](ctx, c, "/v1/status", nil)
}

// Alive returns nil where the sidecar's own loops move (GET /healthz), and else an error that says
// which do not.
func (c *Client) Alive(ctx context.Context) error {
	_, err := get[map[string]any](ctx, c, "/healthz", nil)
	return err
}

// Ready returns nil where the sidecar decides calls now (GET /readyz), and else an error that says
// why not.
func (c *Client) Ready(ctx context.Context) error {
	_, err := get[map[string]any](ctx, c, "/readyz", nil)
	return err
}

// Report returns the files of a report on the sidecar, by their names.
func (c *Client) Report(ctx context.Context) (map[string]string, error) {
	r, err := get[api.Bundle](ctx, c, "/v1/report", nil)
	return r.Files, err
}

// do sends a request and returns its answer if it is 200; another answer is a
// [*api.Problem].
func (c *Client) do(ctx context.Context, method, path string, q url.Values, body []byte) (*http.Response, error) {
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	return c.answer(req)
}

// request makes a request with what each of them has.
func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", path, err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.channel != "" {
		req.Header.Set(api.ChannelHeader, c.channel)
	}
	return req, nil
}

// answer sends a request and returns what is answered, if that is 200.
func (c *Client) answer(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.dialError(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	return nil, readProblem(resp)
}

// get asks for one JSON value.
func get[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	resp, err := c.do(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		var zero T
		return zero, err
	}
	return read[T](resp)
}

// read decodes an answer. Members that this version does not know are passed
// over, for the sidecar may be newer; duplicates are refused.
func read[T any](resp *http.Response) (T, error) {
	defer resp.Body.Close()
	var v T
	if err := json.UnmarshalRead(io.LimitReader(resp.Body, maxAnswer), &v); err != nil {
		return v, fmt.Errorf("reading the sidecar's answer: %w", err)
	}
	return v, nil
}

// readProblem makes an error of an answer that is not 200.
func readProblem(resp *http.Response) error {
	defer resp.Body.Close()
	typ, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && typ == "application/problem+json" {
		var p api.Problem
		if err := json.UnmarshalRead(io.LimitReader(resp.Body, 8<<20), &p); err == nil && p.Detail != "" {
			return &p
		}
	}
	return fmt.Errorf("the sidecar answered %s", resp.Status)
}

// set adds a parameter that is not empty.
func set(q url.Values, k, v string) {
	if v != "" {
		q.Set(k, v)
	}
}
