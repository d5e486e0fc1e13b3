package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Held is what many calls cost that wait for people at once.
type Held struct {
	Calls      int     `json:"calls"`
	Goproxy    float64 `json:"goproxy_kib_per_call"` // requests that a handler of goproxy's holds, in memory alone
	Holdgate   float64 `json:"holdgate_kib_per_call"`
	OfGoproxy  float64 `json:"memory_of_goproxy"`
	List       float64 `json:"list_ms"` // all that is pending, by the approvers' door
	VoteP50    float64 `json:"vote_to_first_byte_p50_ms"`
	VoteP99    float64 `json:"vote_to_first_byte_p99_ms"`
	HeldWithin float64 `json:"held_within_s"` // until the last one was asked about
}

const (
	// heldSources are how many loopback addresses the connections come from.
	heldSources = 8
	// heldAtOnce is how many are opened at a time.
	heldAtOnce = 16
	// heldVotes is how many of the held calls are approved.
	heldVotes = 200
	// heldListings is how often all of them are listed.
	heldListings = 7
	// settleFor is how long a process is given to return what it no longer
	// needs, until it has returned nothing for a while.
	settleFor = 40 * time.Second
)

// RunHeld holds n calls at once, each on a connection of its own: first in
// goproxy, in a handler that waits, then in Holdgate, where each is a request in
// the queue, kept in the database postgres where that is set. It compares what the
// processes have resident.
func RunHeld(ctx context.Context, exe string, n int, postgres string, progress io.Writer) (h Held, err error) {
	p, err := startProcesses(ctx, exe, postgres)
	if err != nil {
		return Held{}, err
	}
	defer p.stop()
	h.Calls = n
	if h.Goproxy, err = p.heldInGoproxy(ctx, n); err != nil {
		return Held{}, fmt.Errorf("holding in goproxy: %w", err)
	}
	fmt.Fprintf(progress, "held %d in goproxy\n", n)
	if err := p.heldInHoldgate(ctx, n, &h); err != nil {
		return Held{}, fmt.Errorf("holding in Holdgate: %w", err)
	}
	h.OfGoproxy = h.Holdgate / h.Goproxy
	return h, nil
}

// ReportHeld writes the figures for people.
func ReportHeld(w io.Writer, h Held) error {
	_, err := fmt.Fprintf(w, "%d calls held at once, each on a connection of its own:\n"+
		"  memory of each           %.1f KiB, its entry in the queue included (goproxy, holding requests in memory alone: %.1f KiB; %.2f of it)\n"+
		"  until all were held      %.1f s\n"+
		"  listing all of them      %.0f ms\n"+
		"  vote to the first byte   p50 %.1f ms, p99 %.1f ms\n",
		h.Calls, h.Holdgate, h.Goproxy, h.OfGoproxy, h.HeldWithin, h.List, h.VoteP50, h.VoteP99)
	return err
}

// heldInGoproxy returns the KiB that each request costs goproxy.
func (p *processes) heldInGoproxy(ctx context.Context, n int) (float64, error) {
	before, err := p.goproxy.resident()
	if err != nil {
		return 0, err
	}
	uri := "http://" + p.up.HTTP + "/v1/messages?hold"
	conns, err := openHeld(ctx, n, p.proxy.HTTP, func(i int) []byte { return heldRequest(uri, p.up.HTTP, i) }, nil)
	defer closeAll(conns)
	if err != nil {
		return 0, err
	}
	after, err := p.goproxy.settled(ctx)
	return float64(after-before) / 1024 / float64(n), err
}

// heldInHoldgate fills in what Holdgate costs.
func (p *processes) heldInHoldgate(ctx context.Context, n int, h *Held) error {
	before, err := p.holdgate.resident()
	if err != nil {
		return err
	}
	begin := time.Now()
	conns, err := openHeld(ctx, n, p.agents, func(i int) []byte { return heldRequest("/up/bench/v1/messages?held", p.agents, i) }, (*heldConn).begun)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	a, err := p.approver()
	if err != nil {
		return err
	}
	var list []pendingCall
	for len(list) < n {
		if ctx.Err() != nil || time.Since(begin) > 10*time.Minute {
			return fmt.Errorf("%d of %d calls are pending: %w", len(list), n, ctx.Err())
		}
		if list, err = a.pending(ctx); err != nil {
			return err
		}
	}
	h.HeldWithin = time.Since(begin).Seconds()
	after, err := p.holdgate.settled(ctx)
	if err != nil {
		return err
	}
	h.Holdgate = float64(after-before) / 1024 / float64(n)
	if h.List, err = a.listing(ctx); err != nil {
		return err
	}
	return p.vote(ctx, a, list, conns, h)
}

// listing is how long it takes to list all that is pending, in milliseconds:
// the median of several times.
func (a *approver) listing(ctx context.Context) (float64, error) {
	var took []time.Duration
	for range heldListings {
		begin := time.Now()
		if _, err := a.pending(ctx); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return ms(quantile(took, 0.5)), nil
}

// vote approves some of the calls, one after the other, and measures until the
// first byte of each reaches its client.
func (p *processes) vote(ctx context.Context, a *approver, list []pendingCall, conns []*heldConn, h *Held) error {
	var took []time.Duration
	for i := 0; i < len(list) && len(took) < heldVotes; i += max(len(list)/heldVotes, 1) {
		c := list[i]
		n, err := strconv.Atoi(strings.TrimPrefix(c.Session.ID, "held-"))
		if err != nil || n < 0 || n >= len(conns) {
			return fmt.Errorf("a call of the session %q is pending, which is none of these", c.Session.ID)
		}
		begin := time.Now()
		if err := a.approve(ctx, c); err != nil {
			return err
		}
		if err := conns[n].until("tool_use"); err != nil {
			return fmt.Errorf("waiting for an approved call: %w", err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	h.VoteP50, h.VoteP99 = ms(quantile(took, 0.5)), ms(quantile(took, 0.99))
	return nil
}

// heldRequest is a request of about 1 KB whose answer is held; each has a
// session of its own and asks something of its own.
func heldRequest(uri, host string, i int) []byte {
	body := fmt.Sprintf(`{"model":"bench","max_tokens":1024,"stream":true,"tools":[{"name":"Bash","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"%d %s"}]}`,
		i, strings.Repeat("Please clean up. ", 45))
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nContent-Type: application/json\r\nX-Session-Id: held-%d\r\nContent-Length: %d\r\n\r\n%s", uri, host, i, len(body), body)
}

// A heldConn is a connection whose request is held.
type heldConn struct {
	net.Conn
	r *bufio.Reader
}

// begun waits until the answer has begun.
func (c *heldConn) begun() error { return c.until("message_start") }

// until reads until a line holds the text.
func (c *heldConn) until(text string) error {
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		line, err := c.r.ReadSlice('\n')
		if bytes.Contains(line, []byte(text)) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// openHeld opens n connections, sends a request on each, and waits for each to
// be ready where that can be told.
func openHeld(ctx context.Context, n int, addr string, request func(int) []byte, ready func(*heldConn) error) ([]*heldConn, error) {
	conns := make([]*heldConn, n)
	var g errgroup.Group
	g.SetLimit(heldAtOnce)
	for i := range n {
		g.Go(func() error {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%heldSources))}}
			c, err := d.DialContext(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			conns[i] = &heldConn{c, bufio.NewReaderSize(c, 2<<10)}
			if _, err := c.Write(request(i)); err != nil || ready == nil {
				return err
			}
			return ready(conns[i])
		})
	}
	return conns, g.Wait()
}

func closeAll(conns []*heldConn) {
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// resident is what a process has in memory, in bytes.
func (p *process) resident() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading how much memory a process has, which only Linux tells: %w", err)
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0, errors.New("reading how much memory a process has: no figures")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// settled is what a process has in memory once it has returned what it does not
// need, which a Go program does bit by bit.
func (p *process) settled(ctx context.Context) (least int64, err error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := time.Duration(0); i < settleFor; i += time.Second {
		now, err := p.resident()
		if err != nil {
			return 0, err
		}
		if least == 0 || now < least {
			least = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return least, nil
}

// An approver speaks to the approvers' door as a script would.
type approver struct{ base, token string }

func (p *processes) approver() (*approver, error) {
	token, err := os.ReadFile(filepath.Join(p.dir, "state", "approver.token"))
	if err != nil {
		return nil, err
	}
	return &approver{base: "http://" + p.approvers, token: strings.TrimSpace(string(token))}, nil
}

// A pendingCall is what is read of an approval request.
type pendingCall struct {
	ID      string
	Session struct{ ID string }
	Call    struct{ Digest string }
}

func (a *approver) pending(ctx context.Context) (list []pendingCall, err error) {
	return list, a.call(ctx, http.MethodGet, "/v1/approvals?status=pending", nil, &list)
}

func (a *approver) approve(ctx context.Context, c pendingCall) error {
	body, err := json.Marshal(map[string]string{"decision": "approve", "digest": c.Call.Digest})
	if err != nil {
		return err
	}
	return a.call(ctx, http.MethodPost, "/v1/approvals/"+c.ID+"/decision", body, nil)
}

func (a *approver) call(ctx context.Context, method, path string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, resp.Status, b)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(b, into)
}
