package upstream_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"golang.org/x/net/websocket"

	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/store/audit"
)

// An echo repeats what it gets in one way or another, as endpoints for debugging do.
func echo(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("X-Api-Key") + r.Header.Get("Authorization")
	switch r.URL.Path {
	case "/header":
		w.Header().Set("X-Got", "it was "+key)
		w.WriteHeader(http.StatusNoContent)
	case "/redirect":
		http.Redirect(w, r, "/x?key="+key, http.StatusFound)
	case "/trailer":
		w.Header().Set("Trailer", "X-Got")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Got", key)
	case "/gzip", "/strange":
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		fmt.Fprintf(z, `{"got":"%s"}`, key)
		_ = z.Close()
		w.Header().Set("Content-Encoding", r.URL.Path[1:])
		_, _ = w.Write(b.Bytes())
	case "/error":
		http.Error(w, "unknown key "+key, http.StatusUnauthorized)
	case "/pieces":
		for _, c := range []byte("got " + key + ".") {
			_, _ = w.Write([]byte{c})
			_ = http.NewResponseController(w).Flush()
		}
	case "/noname", "/nohttp":
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, map[string]string{
			"/noname": "HTTP/1.1 200 OK\r\n" + key + "\r\n\r\n",
			"/nohttp": key + "\r\n\r\n",
		}[r.URL.Path])
	case "/encoding":
		_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding"))
	default:
		fmt.Fprintf(w, `{"headers":{"X-Api-Key":"%s"}}`, key)
	}
}

func TestWhatAnUpstreamRepeatsOfACredentialIsWrittenOver(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(up.Close)
	stars := strings.Repeat("*", len(realKey))
	g := proxytest.NewTo(t, map[string]string{"test": up.URL}, nil, proxytest.WithAnnAndBob(t), withKey(up.URL, credential.Spec{}))
	for path, want := range map[string]string{
		"/json": `{"headers":{"X-Api-Key":"` + stars + `"}}`, "/error": "unknown key " + stars + "\n", "/pieces": "got " + stars + ".",
		"/header": "it was " + stars, "/redirect": "/x?key=" + stars, "/trailer": stars, "/gzip": `{"got":"` + stars + `"}`, "/strange": "compressed in a way",
		"/encoding": "identity",
	} {
		for road, at := range map[string]string{"base URL": g.URL + "/up/test", "proxy": up.URL} {
			head, body := askWhole(t, g, road, at+path)
			if strings.Contains(head+body, realKey) || !strings.Contains(head+body, want) {
				t.Errorf("%s by %s: got %s\n%s", path, road, head, body)
			}
		}
	}
	if n := len(g.Entries(audit.TypeFinding)); n != 2*7 {
		t.Errorf("%d findings, want one for each answer that had it", n)
	}
	for _, e := range g.Entries(audit.TypeFinding) {
		if !strings.Contains(e.Note, "repeated the credential test-key") || e.Call.Agent != "ann" {
			t.Errorf("the finding says %+v", e)
		}
	}
}

// An answer that is no HTTP is quoted in what is said of it.
func TestWhatABrokenAnswerRepeatsOfACredentialIsNotQuoted(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(up.Close)
	g := proxytest.NewTo(t, map[string]string{"test": up.URL}, nil, proxytest.WithAnnAndBob(t), withKey(up.URL, credential.Spec{}))
	for _, path := range []string{"/noname", "/nohttp"} {
		if head, body := askWhole(t, g, "base URL", g.URL+"/up/test"+path); strings.Contains(head+body, realKey[:12]) || !strings.Contains(body, "repeats the credential") {
			t.Errorf("%s: got %s\n%s", path, head, body)
		}
	}
	if n := len(g.Entries(audit.TypeFinding)); n != 2 {
		t.Errorf("%d findings, want one for each answer", n)
	}
}

// askWhole asks in ann's name, and returns all of the answer.
func askWhole(t *testing.T, g *proxytest.Sidecar, road, url string) (head, body string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	proxytest.Must(t, err)
	r.Header.Set(caller.TokenHeader, proxytest.AnnsToken)
	r.Header.Set("Accept-Encoding", "gzip, br")
	tr := &http.Transport{DisableKeepAlives: true}
	if road == "proxy" {
		tr.Proxy = http.ProxyURL(proxytest.ParseURL(t, g.URL))
	}
	resp, err := tr.RoundTrip(r)
	proxytest.Must(t, err)
	defer resp.Body.Close()
	body = proxytest.ReadAll(t, resp.Body)
	return fmt.Sprint(resp.Status, resp.Header, resp.Trailer), body
}

// A stream without the credential comes when it is sent: an event that ends as
// the credential begins is the one thing that waits.
func TestAStreamWithoutTheCredentialIsNotKeptBack(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			_, _ = io.WriteString(w, "data: sk-real\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-time.After(proxytest.Patience):
				return
			}
		}
	}))
	t.Cleanup(up.Close)
	g := proxytest.NewTo(t, map[string]string{"test": up.URL}, nil, proxytest.WithAnnAndBob(t), withKey(up.URL, credential.Spec{}))
	r, err := http.NewRequest(http.MethodGet, g.URL+"/up/test/events", nil)
	proxytest.Must(t, err)
	r.Header.Set(caller.TokenHeader, proxytest.AnnsToken)
	resp, err := g.Client.Do(r)
	proxytest.Must(t, err)
	defer resp.Body.Close()
	b := make([]byte, len("data: sk-real\n\n"))
	for range 3 {
		if _, err := io.ReadFull(resp.Body, b); err != nil { // the next is not sent before this one is here
			t.Fatal(err)
		}
		next <- struct{}{}
	}
}

// A model that is told the key, by a provider that repeats it, does not hand it on.
func TestACredentialInAModelsAnswerIsWrittenOver(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []string{proxytest.MessageStart(), proxytest.MessageText("0", "you sent "+r.Header.Get("X-Api-Key")), proxytest.MessageTool("1", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")} {
			_, _ = io.WriteString(w, e)
		}
	}))
	t.Cleanup(up.Close)
	g := proxytest.NewTo(t, map[string]string{"test": up.URL}, nil, proxytest.WithAnnAndBob(t), withKey(up.URL, credential.Spec{}))
	r, err := http.NewRequest(http.MethodPost, g.URL+proxytest.Messages, strings.NewReader(proxytest.AskStream))
	proxytest.Must(t, err)
	r.Header.Set(caller.TokenHeader, proxytest.AnnsToken)
	got := make(chan string, 1)
	go func() {
		resp, err := g.Client.Do(r)
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	g.Decide(g.Pending(1)[0], "approve", "")
	if text := <-got; strings.Contains(text, realKey) || !strings.Contains(text, "you sent "+strings.Repeat("*", len(realKey))) || !strings.Contains(text, "toolu_1") {
		t.Errorf("got %s", text)
	}
}

// What a server says over a WebSocket is searched as well.
func TestACredentialThatAWebSocketRepeatsIsWrittenOver(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(websocket.Handler(func(c *websocket.Conn) {
		_ = websocket.Message.Send(c, "hello "+c.Request().Header.Get("X-Api-Key")+" "+c.Request().Header.Get("Sec-Websocket-Extensions"))
		var words string
		for websocket.Message.Receive(c, &words) == nil && websocket.Message.Send(c, words) == nil {
		}
	}))
	t.Cleanup(up.Close)
	g := proxytest.NewTo(t, nil, map[string]string{"named": up.URL + "/mcp"}, proxytest.WithAnnAndBob(t), withKey(up.URL, credential.Spec{}))
	host := strings.TrimPrefix(up.URL, "http://")
	tunnel, resp := g.Tunnel(host)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: status %d", resp.StatusCode)
	}
	proxytest.Must(t, tunnel.SetDeadline(time.Now().Add(proxytest.Patience)))
	conf, err := websocket.NewConfig("ws://"+host+"/echo", g.URL)
	proxytest.Must(t, err)
	conf.Header.Set(caller.TokenHeader, proxytest.AnnsToken)
	conf.Header.Set("Sec-Websocket-Extensions", "permessage-deflate")
	c, err := websocket.NewClient(conf, tunnel)
	proxytest.Must(t, err)
	var got string
	proxytest.Must(t, websocket.Message.Receive(c, &got))
	if got != "hello "+strings.Repeat("*", len(realKey))+" " {
		t.Errorf("got %q", got)
	}
	says2(t, c, "the other way")
}
