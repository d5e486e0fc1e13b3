package e2e_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"
)

// A browser that has an HTTP/2 connection to a host opens its WebSockets there
// where that is offered (RFC 8441). It is not: the browser falls back to HTTP/1.1,
// on a tunnel of its own, and policy and the log see the WebSocket as any other.
func TestABrowsersWebSocketFallsBackToHTTP1(t *testing.T) {
	clientsDir(t)
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: no browser opens a WebSocket: chromium is not here (apt-get install chromium)")
	}
	t.Parallel()
	origin, caFile, loaded, told := browsed(t)
	s := serve(t, []string{"SSL_CERT_FILE=" + caFile}, "--policy", write(t, "all.rego", allowAll), "--mcp", "named="+origin+"/mcp")
	home := t.TempDir()
	p := start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run",
			"--ignore-certificate-errors", "--user-data-dir="+filepath.Join(home, "profile"), "--remote-debugging-port=0",
			"--proxy-server=http://"+s.agents, "--proxy-bypass-list=<-loopback>", origin+"/page")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
		return cmd
	})
	select {
	case <-loaded:
	case <-p.ended:
		t.Skipf("SKIPPED: no browser opens a WebSocket: chromium does not run here: %v", p.end())
	case <-time.After(patience):
		t.Skip("SKIPPED: no browser opens a WebSocket: chromium loads no page here")
	}
	select {
	case got := <-told:
		if got != "by h2: hello" {
			t.Errorf("the browser says %q", got)
		}
	case <-time.After(patience):
		t.Error("the browser tells of no WebSocket")
	}
	until(t, "the log to say that a WebSocket was opened", func() bool {
		return strings.Contains(s.must("audit", "export"), "the connection becomes a WebSocket")
	})
}

// browsed is a host of a page whose script opens a WebSocket and tells the host
// what came of it.
func browsed(t *testing.T) (origin, caFile string, loaded, told chan string) {
	t.Helper()
	loaded, told = make(chan string, 10), make(chan string, 10)
	mux := http.NewServeMux()
	mux.Handle("/echo", websocket.Handler(func(c *websocket.Conn) {
		var words string
		for websocket.Message.Receive(c, &words) == nil && websocket.Message.Send(c, words) == nil {
		}
	}))
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, browserPage)
		loaded <- ""
	})
	mux.HandleFunc("POST /told", func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		told <- string(b)
		if err != nil {
			t.Error(err)
		}
	})
	cert, ca := certificate(t, "localhost")
	up := httptest.NewUnstartedServer(mux)
	up.EnableHTTP2 = true
	up.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	up.StartTLS()
	t.Cleanup(up.Close)
	return strings.Replace(up.URL, "127.0.0.1", "localhost", 1), write(t, "ca.pem", string(ca)), loaded, told
}

const browserPage = `<!doctype html><body><script>
const by = performance.getEntriesByType("navigation")[0].nextHopProtocol;
const tell = (text) => fetch("/told", {method: "POST", body: "by " + by + ": " + text});
const s = new WebSocket(location.origin.replace("https", "wss") + "/echo");
s.onopen = () => s.send("hello");
s.onmessage = (e) => tell(e.data);
s.onerror = () => tell("failed");
</script>`
