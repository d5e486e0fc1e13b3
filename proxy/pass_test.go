package proxy_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
)

func TestAnswersWithoutABodyPass(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		w.Header().Set("Etag", `"1"`)
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(204)
		case "/304":
			w.WriteHeader(304)
		case "/hints":
			w.Header().Set("Link", "</x>; rel=preload")
			w.WriteHeader(103)
			w.WriteHeader(200)
			_, _ = io.WriteString(w, "whole")
		default:
			w.Header().Set("Content-Length", "5")
			_, _ = io.WriteString(w, "whole")
		}
	}))
	tests := []struct {
		method, path string
		status       int
		length, body string
	}{
		{"HEAD", "/x", 200, "5", ""},
		{"GET", "/x", 200, "5", "whole"},
		{"GET", "/204", 204, "", ""},
		{"GET", "/304", 304, "", ""},
		{"GET", "/hints", 200, "5", "whole"},
		{"HEAD", "/304", 304, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, g.URL+"/up/test"+tt.path, nil)
			proxytest.Must(t, err)
			resp, err := g.Client.Do(req)
			proxytest.Must(t, err)
			defer resp.Body.Close()
			if got := proxytest.ReadAll(t, resp.Body); resp.StatusCode != tt.status || got != tt.body || resp.Header.Get("Content-Length") != tt.length {
				t.Errorf("status %d, length %q, body %q", resp.StatusCode, resp.Header.Get("Content-Length"), got)
			}
			if ct, ok := resp.Header["Content-Type"]; ok {
				t.Errorf("a type was guessed: %q", ct)
			}
			if resp.Header.Get("Etag") != `"1"` {
				t.Errorf("headers: %v", resp.Header)
			}
		})
	}
}

func TestTrailersPass(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = fmt.Fprintf(w, "%s %s %s", body, r.Trailer.Get("Sum"), r.Header.Get("Te"))
		w.Header().Set("Grpc-Status", "0")
	}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/up/test/x", unsized{strings.NewReader("sent")})
	proxytest.Must(t, err)
	req.Header.Set("Te", "trailers, deflate")
	req.Trailer = http.Header{"Sum": {"7"}}
	resp, err := g.Client.Do(req)
	proxytest.Must(t, err)
	defer resp.Body.Close()
	if got := proxytest.ReadAll(t, resp.Body); got != "sent 7 trailers" {
		t.Errorf("the upstream saw %q", got)
	}
	if got := resp.Trailer.Get("Grpc-Status"); got != "0" {
		t.Errorf("trailers: %v", resp.Trailer)
	}
}

func TestStreamsOfAnyFormatFlow(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"application/x-ndjson", "text/event-stream", "application/octet-stream", ""} {
		t.Run(contentType, func(t *testing.T) {
			more := make(chan struct{})
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", contentType)
				_, _ = io.WriteString(w, "one\n")
				_ = http.NewResponseController(w).Flush()
				<-more
				_, _ = io.WriteString(w, "two\n")
			}))
			resp, err := g.Client.Get(g.URL + "/up/test/x")
			proxytest.Must(t, err)
			defer resp.Body.Close()
			r := bufio.NewReader(resp.Body)
			proxytest.Until(t, r, "one")
			close(more)
			if rest := proxytest.ReadAll(t, r); rest != "two\n" {
				t.Errorf("got %q", rest)
			}
		})
	}
}

// Both sides may speak at once, as gRPC does.
func TestABodyOfUnknownLengthIsHalfOfAConversation(t *testing.T) {
	t.Parallel()
	g, up := proxytest.NewTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		br := bufio.NewReader(r.Body)
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, "heard "+line)
			_ = rc.Flush()
		}
	}), func(c *proxy.Config) { // it may be dialled, and is no host that serves models: there the body is looked into first
		c.MCP["other"] = c.Upstreams["test"].JoinPath("other")
		delete(c.Upstreams, "test")
	})
	client := g.Proxied()
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	pr, pw := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, up+"/talk", pr)
	proxytest.Must(t, err)
	resp, err := client.Do(req)
	proxytest.Must(t, err)
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	for i := range 3 {
		_, err := fmt.Fprintf(pw, "%d\n", i)
		proxytest.Must(t, err)
		if got := proxytest.Until(t, r, "\n"); got != fmt.Sprintf("heard %d\n", i) {
			t.Fatalf("got %q", got)
		}
	}
	proxytest.Must(t, pw.Close())
	if rest := proxytest.ReadAll(t, r); rest != "" {
		t.Errorf("got %q", rest)
	}
}

func TestAnUpstreamThatAnswersBeforeItHasReadTheRequest(t *testing.T) {
	t.Parallel()
	const answer = "too much"
	sizes := []int{1, 64 << 10, 1 << 20, 4 << 20}
	for _, size := range sizes {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, chunked %t", size, chunked), func(t *testing.T) {
				g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusRequestEntityTooLarge)
					_, _ = io.WriteString(w, answer)
				}))
				var body io.Reader = bytes.NewReader(make([]byte, size))
				if chunked {
					body = unsized{body}
				}
				resp, err := g.Client.Post(g.URL+"/up/test/x", "application/octet-stream", body)
				if err != nil {
					if size > 256<<10 { // the client itself may not have come to reading it
						t.Skip("the client's own connection broke while it wrote: ", err)
					}
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if got := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 413 || got != answer {
					t.Errorf("status %d: %q", resp.StatusCode, got)
				}
			})
		}
	}
}

// What 16 clients send at once comes back whole, to the one that sent it.
func TestPlainForwardingNeitherCutsNorMixes(t *testing.T) {
	t.Parallel()
	requests := bodies(t, 30_000, 5_000, 2_000)
	up := proxytest.NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	g := proxytest.NewTo(t, map[string]string{"test": up}, nil)
	all := noise()
	hammer(t, g, requests, func(rnd *rand.Rand) (string, string, []byte) {
		return "/up/test/echo", "application/octet-stream", randomBody(rnd, all)
	})
}

// bodies is how many are sent: with HOLDGATE_WHOLE, else, and with -short. Two
// thousand have each power of two up to 256 KiB for their length a hundred times.
func bodies(t *testing.T, whole, usual, short int) int {
	n := usual
	switch {
	case os.Getenv("HOLDGATE_WHOLE") != "":
		n = whole
	case testing.Short():
		n = short
	}
	t.Logf("%d bodies", n)
	return n
}

// Model requests are read whole, judged and logged; the same must hold.
func TestGatedForwardingNeitherCutsNorMixes(t *testing.T) {
	t.Parallel()
	requests := bodies(t, 10_000, 2_000, 500)
	up := proxytest.NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sum := sha256.Sum256(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"%s"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`, hex.EncodeToString(sum[:]))
	}))
	g := proxytest.NewTo(t, map[string]string{"test": up}, nil)
	all := noise()
	hammer(t, g, requests, func(rnd *rand.Rand) (string, string, []byte) {
		word := hex.EncodeToString(randomBody(rnd, all))
		return proxytest.Messages, "application/json", fmt.Appendf(nil, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"%s"}]}`, word[:min(len(word), 64<<10)])
	})
}

const maxRandomBody = 256 << 10

// noise is bytes of which every body is a piece.
func noise() []byte {
	b := make([]byte, 2*maxRandomBody)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b) // never fails
	return b
}

// randomBody has 1 byte to 256 KiB, mostly few.
func randomBody(rnd *rand.Rand, noise []byte) []byte {
	from := rnd.IntN(maxRandomBody)
	return noise[from : from+1+rnd.IntN(1<<rnd.IntN(19))]
}

// hammer sends requests from 16 connections. An answer must have the body that
// was sent, or its SHA-256 in it.
func hammer(t *testing.T, g *proxytest.Sidecar, requests int, next func(*rand.Rand) (path, typ string, body []byte)) {
	t.Helper()
	const clients = 16
	start := time.Now()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}}
	t.Cleanup(client.CloseIdleConnections)
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 7))
			for range requests / clients {
				path, typ, body := next(rnd)
				if err := echoed(client, g.URL+path, typ, body); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d requests in %v", requests, time.Since(start))
}

func echoed(client *http.Client, url, typ string, body []byte) error {
	var r io.Reader = bytes.NewReader(body)
	if len(body)%3 == 0 {
		r = unsized{r}
	}
	resp, err := client.Post(url, typ, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading %d bytes back: %w", len(body), err)
	}
	sum := sha256.Sum256(body)
	if resp.StatusCode != 200 || (!bytes.Equal(got, body) && !bytes.Contains(got, []byte(hex.EncodeToString(sum[:])))) {
		return fmt.Errorf("status %d: sent %d bytes, got %d others back: %.300q", resp.StatusCode, len(body), len(got), got)
	}
	return nil
}

func TestAHeldPlainRequestIsNotSentBeforeItIsApproved(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `done`), proxytest.WithBudget(50*time.Millisecond))
	resp := g.Post(t.Context(), "/up/test/gated", "body")
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || len(seen.All()) != 0 {
		t.Fatalf("status %d, sent on %d times", resp.StatusCode, len(seen.All()))
	}
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	if resp := g.Post(t.Context(), "/up/test/gated", "other"); resp.StatusCode != 503 || len(seen.All()) != 0 {
		t.Errorf("an approval let another body go: status %d", resp.StatusCode)
	}
	status := insisting(func() int { return g.Post(t.Context(), "/up/test/gated", "body").StatusCode })
	if status != 200 || len(seen.All()) != 1 || seen.All()[0] != "body" {
		t.Errorf("status %d, the upstream got %q", status, seen.All())
	}
	if resp := g.Post(t.Context(), "/up/test/gated", "body"); resp.StatusCode != 503 || len(seen.All()) != 1 {
		t.Errorf("an approval was used twice: status %d", resp.StatusCode)
	}
}

// What a held request carries is on the page, or is counted where it is not: two that
// differ in it alone must not look the same.
func TestThePageOfAHeldRequestShowsItsBody(t *testing.T) {
	t.Parallel()
	const token = "ghp_1234567890abcdefghijklmnopqrstuvwxyz"
	long := strings.Repeat("a long line ", 200)
	for name, c := range map[string]struct {
		query, body  string
		shown, lacks string
		whole        bool
		redacted     int
	}{
		"a text":                {"", `{"amount":900000}`, `{"amount":900000}`, "\x00", true, 0},
		"a credential":          {"", `{"token":"` + token + `"}`, `"token"`, token, true, 1},
		"a long line":           {"", long + "END", "END", "not shown", true, 0},
		"no text":               {"", "\xff\xfe\x00", "SHA-256 of the whole body", "\xff", false, 0},
		"many lines":            {"", strings.Repeat("line\n", 400) + "END", "END", "not shown", true, 0},
		"more than is shown":    {"", strings.Repeat("x ", 40<<10), "SHA-256 of the whole body", "\x00", false, 0},
		"a credential at a cut": {"", strings.Repeat("x ", (48<<10)/2-8) + token, "x x", token[:8], true, 1},
		"a key in a form":       {"", "a=1&key=-----BEGIN+RSA+PRIVATE+KEY-----%0AMIIEow%0A-----END+RSA+PRIVATE+KEY-----", "characters or bytes", "MIIEow", false, 1},
		"a password in a form":  {"", "off=100%&url=postgres%3A%2F%2Fu%3Apw12345%40h", "characters or bytes", "pw12345", false, 1},
		"two, one in a form":    {"", "t=" + token + "&url=postgres%3A%2F%2Fu%3Apw12345%40h", "characters or bytes", "pw12345", false, 1},
		"slashes of JSON":       {"", `{"url":"postgres:\/\/u:pw12345@h"}`, "characters or bytes", "pw12345", false, 1},
		"letters of JSON":       {"", `{"t":"\u0067hp_` + token[4:] + `"}`, "characters or bytes", token[4:], false, 1},
		"a form":                {"", "a=1+2&b=%C3%BC&t=" + token, "a=1+2&b=%C3%BC&t=", token, true, 1},
		"a hidden query":        {"?t=" + token, `{"amount":900000}`, `{"amount":900000}`, token, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen proxytest.Counter
			g := proxytest.New(t, proxytest.Answer(&seen, 200, `done`), proxytest.WithBudget(50*time.Millisecond))
			g.Post(t.Context(), "/up/test/gated"+c.query, c.body)
			b := g.Pending(1)[0].Briefing
			page := strings.Join(b.Details, "\n")
			if c.redacted > 0 && strings.Contains(page, "SHA-256") {
				t.Errorf("a guess at the credential could be tried on the sum:\n%.2000s", page)
			}
			if !strings.Contains(page, c.shown) || strings.Contains(page, c.lacks) {
				t.Errorf("want %.100q and not %.100q in the page:\n%.2000s", c.shown, c.lacks, page)
			}
			if b.Whole != c.whole || b.Counts.Redacted != c.redacted {
				t.Errorf("whole is %v, counts are %+v", b.Whole, b.Counts)
			}
		})
	}
}

// A body that policy hides is counted as what is not shown.
func TestABodyThatPolicyHidesIsNotShown(t *testing.T) {
	t.Parallel()
	for pointer, hides := range map[string]bool{"/http/body": true, "/http/body/amount": true, "/http": true, "/http/path": false, "/http/query": false} {
		t.Run(pointer, func(t *testing.T) {
			t.Parallel()
			var seen proxytest.Counter
			rules := fmt.Sprintf("package holdgate\n\nimport rego.v1\n\ndecision := {\"action\": \"hold\", \"rule\": \"test.hides\", \"redact\": [%q]}\n", pointer)
			g := proxytest.New(t, proxytest.Answer(&seen, 200, `done`), proxytest.WithBudget(50*time.Millisecond), proxytest.WithPolicy(t, rules))
			g.Post(t.Context(), "/up/test/pay?q=1", `{"amount":900000}`)
			b := g.Pending(1)[0].Briefing
			if page := strings.Join(b.Details, "\n"); strings.Contains(page, "900000") == hides || strings.Contains(page, "characters or bytes") != hides || b.Whole == hides {
				t.Errorf("whole is %v:\n%s", b.Whole, page)
			}
		})
	}
}
