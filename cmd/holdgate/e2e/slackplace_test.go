package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// slackPlace is a workspace that speaks as much of Slack's Web API and Socket
// Mode as it takes to press a button.
func slackPlace(t *testing.T) askingPlace {
	type button struct {
		ActionID string `json:"action_id"`
		Value    string
	}
	type message struct {
		ts, blocks string
	}
	const channel, user = "C0123456789", "U0123456789"
	messages, conns := make(chan message, 100), make(chan *websocket.Conn, 10)
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		if method == "socket" {
			conn, err := upgrader.Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"hello","num_connections":1,"connection_info":{"app_id":"A1"}}`))
			conns <- conn
			for err == nil { // acknowledgements, and then the end
				_, _, err = conn.ReadMessage()
			}
			_ = conn.Close()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		ts := fmt.Sprintf("%d.000001", time.Now().UnixNano())
		if method == "chat.postMessage" {
			messages <- message{ts, r.FormValue("blocks")}
		}
		_, _ = io.WriteString(w, `{"ok": true, "bot_id": "B1", "user_id": "U1", "messages": [], "channel": "`+channel+`", "ts": "`+ts+`", "url": "ws`+strings.TrimPrefix(srv.URL, "http")+`/socket"}`)
	}))
	t.Cleanup(srv.Close)
	n := 0
	var conn *websocket.Conn
	return askingPlace{
		config: fmt.Sprintf(`{"channel": %q, "users": [%q], "api_url": %q, "bot_token_file": %q, "app_token_file": %q}`,
			channel, user, srv.URL, write(t, "bot", "xoxb-of-no-workspace"), write(t, "app", "xapp-of-no-workspace")),
		approve: func(command string, decided func()) {
			m := next(t, "a message", messages)
			for !strings.Contains(m.blocks, command) {
				m = next(t, "a message", messages)
			}
			var blocks []struct{ Elements []button }
			_ = json.Unmarshal([]byte(m.blocks), &blocks) // other blocks have other elements
			for _, b := range blocks {
				for _, e := range b.Elements {
					if e.ActionID != "holdgate:approve" {
						continue
					}
					if conn == nil {
						conn = next(t, "a connection", conns)
					}
					n++
					press := fmt.Sprintf(`{"type": "interactive", "envelope_id": "e%d", "accepts_response_payload": true, "payload": {"type": "block_actions", "user": {"id": %q},
						"trigger_id": "t%d", "channel": {"id": %q}, "message": {"ts": %q}, "actions": [{"type": "button", "action_id": %q, "block_id": "b", "value": %q}]}}`,
						n, user, n, channel, m.ts, e.ActionID, e.Value)
					decided()
					if err := conn.WriteMessage(websocket.TextMessage, []byte(press)); err != nil {
						t.Fatal(err)
					}
					return
				}
			}
			t.Fatalf("there is no button to approve: %s", m.blocks)
		},
	}
}
