package e2e_test

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

const askingRule = `package holdgate.custom.release

decisions contains {"action": "hold", "rule": "release.ask", "reason": "A release.", "risk": "low"} if {
	some c in input.facts.commands
	c.program == "deployctl"
}
`

// An askingPlace is where one channel asks. approve waits until the command is asked
// about there, calls decided, and approves it as a person would.
type askingPlace struct {
	config  string // of the channel, in YAML's JSON
	approve func(command string, decided func())
}

// An approval that is given in a channel's own place lets the call reach the
// client, through the real program. How long that takes from the person's deed
// to the call's first byte is logged; HOLDGATE_FIGURES is how many calls each
// channel is measured with, 1 by default.
func TestAnApprovalInThePlaceReachesTheClient(t *testing.T) {
	t.Parallel()
	rounds, _ := strconv.Atoi(os.Getenv("HOLDGATE_FIGURES"))
	for name, open := range map[string]func(*testing.T) askingPlace{"webhook": webhookPlace, "terminal": terminalPlace, "exec": execPlace, "telegram": telegramPlace, "slack": slackPlace, "email": emailPlace} {
		t.Run(name, func(t *testing.T) {
			if rounds == 0 {
				t.Parallel()
			}
			at := open(t)
			p := newProvider(t)
			config := write(t, "holdgate.yaml", "plugins:\n  "+name+":\n    config: "+at.config+"\n")
			s := serve(t, nil, "--upstream", "anthropic="+p.URL, "--policy", write(t, "release.rego", askingRule), "--config", config)
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(s.log())
				}
			})
			var took []time.Duration
			for i := range max(rounds, 1) {
				took = append(took, s.approvedAt(at, fmt.Sprintf("deployctl release-%d", i)))
			}
			slices.Sort(took)
			t.Logf("%s: from the deed to the first byte of the call: p50 %v, p99 %v of %d", name, took[len(took)/2], took[(len(took)*99-1)/100], len(took))
		})
	}
}

// approvedAt has a call asked about and approved in the place, and returns how
// long the client then waited for it.
func (s *sidecar) approvedAt(at askingPlace, command string) time.Duration {
	s.t.Helper()
	resp, err := http.Post(s.base("anthropic")+"/v1/messages", "application/json", bytes.NewReader(turn("run: "+command, agentKind{stream: true})))
	if err != nil {
		s.t.Fatal(err)
	}
	arrived := make(chan time.Time, 1)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer resp.Body.Close()
	reading.Go(func() {
		defer close(arrived)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if strings.Contains(lines.Text(), `"tool_use"`) {
				arrived <- time.Now()
				_, _ = io.Copy(io.Discard, resp.Body)
				return
			}
		}
	})
	var began time.Time
	at.approve(command, func() { began = time.Now() })
	select {
	case end, ok := <-arrived:
		if !ok {
			s.t.Fatalf("the answer has no call:\n%s", s.log())
		}
		return end.Sub(began)
	case <-time.After(patience):
		s.t.Fatalf("the approved call does not arrive:\n%s", s.log())
		return 0
	}
}

// next waits for something to come.
func next[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("not within %v: %s", patience, what)
		panic("unreachable")
	}
}

func webhookPlace(t *testing.T) askingPlace {
	const shared = "a secret of some length"
	type event struct {
		Type string
		Data struct {
			ID, Nonce, Digest string
			AnswerURL         string `json:"answer_url"`
		}
	}
	events := make(chan event, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e event
		if json.NewDecoder(r.Body).Decode(&e) == nil && strings.HasSuffix(e.Type, ".requested") {
			events <- e
		}
	}))
	t.Cleanup(srv.Close)
	return askingPlace{
		config: fmt.Sprintf(`{"url": %q, "secret_file": %q, "listen": "127.0.0.1:0"}`, srv.URL, write(t, "secret", shared)),
		approve: func(_ string, decided func()) {
			d := next(t, "an event", events).Data
			answer, err := json.Marshal(map[string]string{"id": d.ID, "nonce": d.Nonce, "digest": d.Digest, "decision": "approve", "by": "ann"})
			if err != nil {
				t.Fatal(err)
			}
			now := strconv.FormatInt(time.Now().Unix(), 10)
			mac := hmac.New(sha256.New, []byte(shared))
			fmt.Fprintf(mac, "%s.%s", now, answer)
			req, err := http.NewRequest(http.MethodPost, d.AnswerURL, bytes.NewReader(answer))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Holdgate-Signature", "t="+now+",v1="+hex.EncodeToString(mac.Sum(nil)))
			decided()
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if text := body(t, resp); resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", resp.Status, text)
			}
		},
	}
}

func terminalPlace(t *testing.T) askingPlace {
	ptm, pts, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pts.Chmod(0o600); err != nil {
		t.Fatal(err)
	}
	screen := make(chan string, 1000)
	var reading sync.WaitGroup
	reading.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := ptm.Read(buf)
			if err != nil {
				return
			}
			screen <- string(buf[:n])
		}
	})
	t.Cleanup(func() {
		_ = pts.Close() // the last one: the sidecar has ended
		reading.Wait()
		_ = ptm.Close()
	})
	return askingPlace{
		config: fmt.Sprintf(`{"tty": %q, "user": "ann", "colour": "never"}`, pts.Name()),
		approve: func(command string, decided func()) {
			for seen := ""; !strings.Contains(seen, command) || !strings.HasSuffix(seen, " > "); {
				seen += next(t, "the question on the terminal", screen)
			}
			decided()
			if _, err := ptm.WriteString("approve\n"); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func execPlace(t *testing.T) askingPlace {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	command, err := json.Marshal([]string{"/bin/sh", "-c", "read request; echo; exec head -n 1 " + fifo})
	if err != nil {
		t.Fatal(err)
	}
	return askingPlace{
		config: fmt.Sprintf(`{"command": %s, "answers": ["approve"], "user": "ann"}`, command),
		approve: func(_ string, decided func()) {
			var f *os.File
			until(t, "the command", func() bool { // it reads the fifo
				f, err = os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
				return err == nil
			})
			defer f.Close()
			decided()
			if _, err := io.WriteString(f, `{"decision": "approve"}`+"\n"); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func telegramPlace(t *testing.T) askingPlace {
	type message struct {
		id     int64
		Text   string
		Markup struct {
			Rows [][]struct {
				Text string
				Data string `json:"callback_data"`
			} `json:"inline_keyboard"`
		} `json:"reply_markup"`
	}
	messages, updates, over := make(chan message, 100), make(chan string), make(chan struct{})
	reply := func(w http.ResponseWriter, result string) {
		_, _ = io.WriteString(w, `{"ok": true, "result": `+result+`}`)
	}
	var last atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch method := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; method {
		case "getUpdates":
			select {
			case u := <-updates:
				reply(w, "["+u+"]")
			case <-r.Context().Done():
			case <-over:
			}
		case "sendMessage":
			var m message
			if json.NewDecoder(r.Body).Decode(&m) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			m.id = last.Add(1)
			reply(w, fmt.Sprintf(`{"message_id": %d, "chat": {"id": 1001}}`, m.id))
			messages <- m
		default:
			reply(w, "true")
		}
	}))
	t.Cleanup(func() { close(over); srv.Close() })
	n := 0
	return askingPlace{
		config: fmt.Sprintf(`{"token_file": %q, "chat": 1001, "users": [1001], "api": %q}`, write(t, "token", "4242:AAtestTESTtestTESTtestTESTtestTEST"), srv.URL),
		approve: func(command string, decided func()) {
			m := next(t, "a message", messages)
			for !strings.Contains(m.Text, command) {
				m = next(t, "a message", messages)
			}
			for _, row := range m.Markup.Rows {
				for _, b := range row {
					if b.Text != "Approve" {
						continue
					}
					n++
					u := fmt.Sprintf(`{"update_id": %d, "callback_query": {"id": "%d", "from": {"id": 1001}, "data": %q, "message": {"message_id": %d, "chat": {"id": 1001}}}}`, 500+n, n, b.Data, m.id)
					decided()
					select {
					case updates <- u:
					case <-time.After(patience):
						t.Fatal("nobody reads updates")
					}
					return
				}
			}
			t.Fatalf("there is no button to approve: %+v", m)
		},
	}
}
