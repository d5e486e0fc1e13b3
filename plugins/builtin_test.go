package plugins_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/emersion/go-smtp"
	"github.com/godbus/dbus/v5"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/plugins"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// TestMain makes the test binary a channel, as the holdgate program is.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugin" && os.Args[2] == "serve" {
		if err := plugins.Serve(os.Args[3]); err != nil {
			slog.Error(err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestTheBuiltInChannelsRunAsProcesses(t *testing.T) {
	ptm, pts, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = ptm.Close(), pts.Close() }()
	if err := pts.Chmod(0o600); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret of some length"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok": true, "bot_id": "B1", "url": "ws://127.0.0.1:1/"}`) // as Slack answers
	}))
	defer srv.Close()
	for name, token := range map[string]string{"bot": "xoxb-of-no-workspace", "app": "xapp-of-no-workspace"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(secret), name), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	mailServer := newMailServer(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("4242:AAtestTESTtestTESTtestTESTtestTEST"), 0o600); err != nil {
		t.Fatal(err)
	}
	bots := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok": true, "result": []}`)) }))
	defer bots.Close()
	configs := map[string]map[string]any{
		"desktop": {"bus": newDesktop(t)},
		"email": {
			"from": "holdgate@example.com", "to": []string{"ann@example.com"}, "smtp": map[string]any{"addr": mailServer, "tls": "none"},
			"folder": filepath.Join(t.TempDir(), "mail"), "key_file": key, "listen": "127.0.0.1:0",
		},
		"exec": {"command": []string{"/bin/cat"}},
		"slack": {
			"channel": "C0123456789", "users": []string{"U0123456789"}, "api_url": srv.URL,
			"bot_token_file": filepath.Join(filepath.Dir(secret), "bot"), "app_token_file": filepath.Join(filepath.Dir(secret), "app"),
		},
		"telegram": {"token_file": token, "chat": 1, "users": []int{1}, "api": bots.URL},
		"terminal": {"tty": pts.Name()},
		"webhook":  {"url": srv.URL, "secret_file": secret, "listen": ":0"},
	}
	for _, name := range plugins.Names() {
		t.Run(name, func(t *testing.T) {
			if name == "desktop" && configs[name]["bus"] == "" {
				t.Skip("SKIPPED: no dbus-daemon is here (Debian has it in the package dbus-daemon)")
			}
			config, err := json.Marshal(configs[name])
			if err != nil {
				t.Fatal(err)
			}
			c := host.Channel{Name: name, Command: []string{os.Args[0], "plugin", "serve", name}, Config: config}
			if err := host.Check(t.Context(), c, nil); err != nil {
				t.Error(err)
			}
			c.Config = []byte(`{"tty": "/dev/tty", "url": "http://elsewhere.example"}`)
			if err := host.Check(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), "configuring it") {
				t.Errorf("Check = %v, want a refusal of the configuration", err)
			}
		})
	}
}

// A check of a webhook sends a test event, and the receiver has to take it. It says what to
// look at where it does not.
func TestACheckOfAWebhookReallyTries(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret of some length"), 0o600); err != nil {
		t.Fatal(err)
	}
	for status, want := range map[int]string{
		http.StatusOK: "", http.StatusAccepted: "",
		http.StatusUnauthorized:        "the receiver does not accept the signature; compare its secret with secret_file",
		http.StatusNotFound:            "nothing takes events at this path; look at url",
		http.StatusFound:               "redirects are not followed; set url to where they lead",
		http.StatusInternalServerError: "the receiver has a fault of its own; look at its log",
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			got := make(chan string, 10)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got <- string(body)
				w.WriteHeader(status)
			}))
			defer srv.Close()
			config, err := json.Marshal(map[string]string{"url": srv.URL, "secret_file": secret})
			if err != nil {
				t.Fatal(err)
			}
			c := host.Channel{Name: "hooks", Command: []string{os.Args[0], "plugin", "serve", "webhook"}, Config: config}
			switch err := host.Check(t.Context(), c, nil, plugins.ToPrograms()...); {
			case want == "" && err != nil:
				t.Error(err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("Check = %v, want %q", err, want)
			}
			if len(got) != 1 {
				t.Fatalf("%d events were sent, want 1", len(got))
			}
			if body := <-got; !strings.Contains(body, `"kind":"test"`) || !strings.Contains(body, "com.github.holdgate.news") {
				t.Errorf("the event does not say that it is a test: %s", body)
			}
		})
	}
}

// newDesktop is a message bus with a desktop that shows nothing, and returns its
// address, or nothing where there is no dbus-daemon.
func newDesktop(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		return ""
	}
	dir := sockettest.Folder(t)
	address := "unix:path=" + filepath.Join(dir, "s")
	cmd := exec.CommandContext(t.Context(), "dbus-daemon", "--session", "--nofork", "--nopidfile", "--address="+address, "--print-address=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		_ = os.RemoveAll(dir)
	})
	late := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the bus says %q: %v", line, err)
	}
	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	const name = "org.freedesktop.Notifications"
	methods := map[string]any{"GetCapabilities": func() ([]string, *dbus.Error) { return []string{"body"}, nil }}
	if err := conn.ExportMethodTable(methods, "/org/freedesktop/Notifications", name); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName(name, 0); err != nil {
		t.Fatal(err)
	}
	return address
}

// noMail is a conversation with a mail server that takes no mail.
type noMail struct{}

func (noMail) Reset()                               {}
func (noMail) Logout() error                        { return nil }
func (noMail) Mail(string, *smtp.MailOptions) error { return errNoMail }
func (noMail) Rcpt(string, *smtp.RcptOptions) error { return errNoMail }
func (noMail) Data(io.Reader) error                 { return errNoMail }

var errNoMail = errors.New("no mail is taken")

// newMailServer is a mail server that takes no mail, and returns its address.
func newMailServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return noMail{}, nil }))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return l.Addr().String()
}

func TestAChannelThatIsNotBuiltInIsAnError(t *testing.T) {
	if err := plugins.Serve("pigeon"); err == nil || !strings.Contains(err.Error(), "slack, telegram, terminal, webhook") {
		t.Errorf("Serve = %v", err)
	}
}

func TestAChannelThatAPersonStartsSaysSo(t *testing.T) {
	out, err := exec.Command(os.Args[0], "plugin", "serve", "terminal").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "plugin") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestAChannelEndsWhenHoldgateIsKilled(t *testing.T) {
	cmd := exec.Command(os.Args[0], "plugin", "serve", "terminal")
	h := sdk.Handshake()
	cmd.Env = []string{h.MagicCookieKey + "=" + h.MagicCookieValue, "PLUGIN_PROTOCOL_VERSIONS=1", "PLUGIN_UNIX_SOCKET_DIR=" + t.TempDir()}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "1|1|unix|") {
		t.Errorf("it says %q, %v", line, err)
	}
	if err := in.Close(); err != nil { // as the kernel does for one that was killed
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended by %v", err)
	}
}
