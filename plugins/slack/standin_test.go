package slack

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

const (
	botToken      = "xoxb-1-of-a-stand-in"
	appToken      = "xapp-1-of-a-stand-in"
	signingSecret = "8f742231b10e8888abcd99yyyzzz85a5"
	channel       = "C0123456789"
	ann, bob, eve = "U0000000ANN", "U0000000BOB", "U0000000EVE"
	self          = "B0000000001"
)

// patient is how long tests wait for what is to happen.
const patient = 3 * time.Minute

// A post is a message in the stand-in's channel.
type post struct {
	TS       string          `json:"ts"`
	Thread   string          `json:"thread_ts,omitempty"`
	BotID    string          `json:"bot_id"`
	Text     string          `json:"text"`
	Blocks   json.RawMessage `json:"blocks,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`

	clientID string
	edits    int
	user     string // of an ephemeral one
}

// A standIn speaks Slack's Web API and Socket Mode, with Slack's limits.
type standIn struct {
	*httptest.Server
	t *testing.T

	mu         sync.Mutex
	changed    chan struct{}
	posts      []*post
	ephemerals []*post
	views      []json.RawMessage
	triggers   map[string]bool // that can still open a dialog
	calls      map[string]int
	down       bool           // the whole place answers 503
	limited    map[string]int // how often a method answers 429
	lose       map[string]int // how often a method works, and its answer is lost
	refuse     map[string]string
	odd        map[string][]http.HandlerFunc // answer a method instead, one after the other; nothing is done
	tight      int                           // how many bytes of blocks a message may have, if set
	conns      []*websocket.Conn
	acks       map[string]json.RawMessage
	n          int
}

func newStandIn(t *testing.T) *standIn {
	t.Helper()
	s := &standIn{
		t: t, changed: make(chan struct{}), triggers: map[string]bool{}, calls: map[string]int{}, limited: map[string]int{}, lose: map[string]int{},
		refuse: map[string]string{}, odd: map[string][]http.HandlerFunc{}, acks: map[string]json.RawMessage{},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.Close()
	})
	return s
}

// change does something to the stand-in's state.
func (s *standIn) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait waits until something is so.
func (s *standIn) wait(what string, so func() bool) {
	s.t.Helper()
	late := time.After(patient)
	for {
		s.mu.Lock()
		ok, changed := so(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			s.t.Fatalf("%s: it did not happen", what)
		}
	}
}

func (s *standIn) id() string { s.n++; return fmt.Sprintf("%d.%06d", time.Now().Unix(), s.n) }

func (s *standIn) serve(w http.ResponseWriter, r *http.Request) {
	method := strings.TrimPrefix(r.URL.Path, "/api/")
	if method == "/socket" {
		s.socket(w, r)
		return
	}
	if err := r.ParseForm(); err != nil {
		s.t.Error(err)
	}
	var body map[string]json.RawMessage
	_ = json.NewDecoder(r.Body).Decode(&body) // a form is none
	var answer map[string]any
	status, lost := http.StatusOK, false
	var odd http.HandlerFunc
	s.change(func() {
		s.calls[method]++
		switch {
		case len(s.odd[method]) > 0:
			odd, s.odd[method] = s.odd[method][0], s.odd[method][1:]
		case s.down:
			status = http.StatusServiceUnavailable
		case s.limited[method] > 0:
			s.limited[method]--
			w.Header().Set("Retry-After", "1")
			status = http.StatusTooManyRequests
		case s.refuse[method] != "":
			answer = map[string]any{"error": s.refuse[method]}
		default:
			answer = s.method(method, r.Form, r.Header.Get("Authorization"), body)
			if s.lose[method] > 0 {
				s.lose[method]--
				lost = true
			}
		}
	})
	if odd != nil {
		odd(w, r)
		return
	}
	if lost {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if answer != nil {
		answer["ok"] = answer["error"] == nil
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func wrongCode(code string) map[string]any { return map[string]any{"error": code} }

// method answers one call; the state is locked.
func (s *standIn) method(name string, form url.Values, auth string, body map[string]json.RawMessage) map[string]any {
	token := form.Get("token")
	if token == "" {
		token = strings.TrimPrefix(auth, "Bearer ")
	}
	want := botToken
	if name == "apps.connections.open" {
		want = appToken
	}
	if token != want {
		return wrongCode("invalid_auth")
	}
	if c := form.Get("channel"); c != "" && c != channel {
		return wrongCode("channel_not_found")
	}
	switch name {
	case "auth.test":
		return map[string]any{"team_id": "T1", "user_id": "U0000000BOT", "bot_id": self}
	case "apps.connections.open":
		return map[string]any{"url": "ws" + strings.TrimPrefix(s.URL, "http") + "/api//socket?ticket=" + s.id()}
	case "chat.postMessage", "chat.postEphemeral", "chat.update":
		return s.chat(name, form)
	case "conversations.history", "conversations.replies":
		return s.list(name, form)
	case "views.open":
		var trigger string
		_ = json.Unmarshal(body["trigger_id"], &trigger)
		if !s.triggers[trigger] {
			return wrongCode("expired_trigger_id")
		}
		delete(s.triggers, trigger)
		if err := checkView(body["view"]); err != nil {
			s.t.Errorf("views.open: %v", err)
			return wrongCode("invalid_arguments")
		}
		s.views = append(s.views, body["view"])
		return map[string]any{"view": body["view"]}
	}
	s.t.Errorf("nobody calls %s", name)
	return wrongCode("unknown_method")
}

func (s *standIn) chat(name string, form url.Values) map[string]any {
	p := &post{
		TS: s.id(), Thread: form.Get("thread_ts"), BotID: self, Text: form.Get("text"), Blocks: json.RawMessage(form.Get("blocks")),
		Metadata: json.RawMessage(form.Get("metadata")), clientID: form.Get("client_msg_id"), user: form.Get("user"),
	}
	if len(p.Metadata) == 0 {
		p.Metadata = nil
	}
	if err := checkBlocks(p.Blocks); err != nil {
		return wrongCode(err.Error())
	}
	if s.tight > 0 && len(p.Blocks) > s.tight {
		return wrongCode("msg_blocks_too_long")
	}
	if form.Get("unfurl_links") != "false" || form.Get("unfurl_media") != "false" {
		s.t.Errorf("%s unfurls: %v", name, form)
	}
	switch name {
	case "chat.postEphemeral":
		s.ephemerals = append(s.ephemerals, p)
		return map[string]any{"message_ts": p.TS}
	case "chat.update":
		i := slices.IndexFunc(s.posts, func(o *post) bool { return o.TS == form.Get("ts") })
		if i < 0 {
			return wrongCode("message_not_found")
		}
		if s.posts[i].BotID != self {
			return wrongCode("cant_update_message")
		}
		old := s.posts[i]
		old.Text, old.Blocks, old.Metadata, old.edits = p.Text, p.Blocks, p.Metadata, old.edits+1
		return map[string]any{"channel": channel, "ts": old.TS}
	}
	s.posts = append(s.posts, p)
	return map[string]any{"channel": channel, "ts": p.TS}
}

// list answers with two messages a page.
func (s *standIn) list(name string, form url.Values) map[string]any {
	const perPage = 2
	var all []post
	for _, p := range s.posts {
		switch {
		case name == "conversations.replies" && p.TS != form.Get("ts") && p.Thread != form.Get("ts"):
		case name == "conversations.history" && p.Thread != "":
		default:
			one := *p
			if form.Get("include_all_metadata") != "1" {
				one.Metadata = nil
			}
			all = append(all, one)
		}
	}
	if name == "conversations.history" {
		slices.Reverse(all)
	}
	from, _ := strconv.Atoi(form.Get("cursor"))
	to, next := min(from+perPage, len(all)), ""
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	return map[string]any{"messages": all[min(from, to):to], "has_more": next != "", "response_metadata": map[string]string{"next_cursor": next}}
}

// socket is one connection of Socket Mode.
func (s *standIn) socket(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.mu.Lock()
	_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"hello","num_connections":1,"connection_info":{"app_id":"A1"}}`))
	s.mu.Unlock()
	s.change(func() { s.conns = append(s.conns, conn) })
	for {
		var a struct {
			EnvelopeID string          `json:"envelope_id"`
			Payload    json.RawMessage `json:"payload"`
		}
		if err := conn.ReadJSON(&a); err != nil {
			break
		}
		s.change(func() { s.acks[a.EnvelopeID] = append(json.RawMessage{}, a.Payload...) })
	}
	_ = conn.Close()
	s.change(func() { s.conns = slices.DeleteFunc(s.conns, func(o *websocket.Conn) bool { return o == conn }) })
}

// envelope sends a payload over a connection, and again over another one where
// that ends, as Slack does. It returns what came back with the acknowledgement.
func (s *standIn) envelope(payload []byte) (response json.RawMessage) {
	s.t.Helper()
	for {
		var id string
		var conn *websocket.Conn
		s.wait("a connection", func() bool {
			if len(s.conns) == 0 {
				return false
			}
			conn, id = s.conns[len(s.conns)-1], s.id()
			_ = conn.WriteJSON(map[string]any{"type": "interactive", "envelope_id": id, "payload": json.RawMessage(payload), "accepts_response_payload": true})
			return true
		})
		acked := false
		s.wait("an acknowledgement", func() bool {
			response, acked = s.acks[id]
			return acked || !slices.Contains(s.conns, conn)
		})
		if acked {
			return response
		}
	}
}

// sign returns the headers of a request that Slack has signed.
func sign(secret string, at time.Time, body []byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	m := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(m, "v0:%s:%s", stamp, body)
	h := http.Header{}
	h.Set("X-Slack-Request-Timestamp", stamp)
	h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(m.Sum(nil)))
	h.Set("Content-Type", "application/x-www-form-urlencoded")
	return h
}

// post sends a body to a listener.
func (s *standIn) post(to string, header http.Header, body []byte) (status int, answer []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = header
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patient}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, b.Bytes()
}
