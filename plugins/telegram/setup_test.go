package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

const (
	patience  = 3 * time.Minute
	botToken  = "4242:AAtestTESTtestTESTtestTESTtestTEST"
	bot       = 4242
	ada       = 1001
	bob       = 1002
	eve       = 6666 // is not among users
	groupChat = -100200300
)

// A telegram is the place: a server that speaks the Bot API and holds to its
// limits.
type telegram struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced with each change
	messages []*shown
	alerts   []answerCallback
	updates  []map[string]any
	last     int64 // id of the last update
	read     int64 // the offset that was last asked for
	polls    int
	fail     []func(method string) (int, string) // answers instead, while it returns a code
	odd      map[string][]http.HandlerFunc       // answer a method instead, one after the other; nothing is done
	calls    map[string]int
	blocked  map[int64]bool
}

// A shown is a message as people see it.
type shown struct {
	ID       int64
	Chat     int64    `json:"chat_id"`
	Message  int64    `json:"message_id"`
	Text     string   `json:"text"`
	Entities []entity `json:"entities"`
	Preview  preview  `json:"link_preview_options"`
	Reply    *replyTo `json:"reply_parameters"`
	Markup   struct {
		Rows  [][]key `json:"inline_keyboard"`
		Force bool    `json:"force_reply"`
		Sel   bool    `json:"selective"`
	} `json:"reply_markup"`
	Edits int
}

func newTelegram(t *testing.T) *telegram {
	t.Helper()
	g := &telegram{t: t, changed: make(chan struct{}), last: 500, blocked: make(map[int64]bool), odd: make(map[string][]http.HandlerFunc), calls: make(map[string]int)}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	return g
}

func (g *telegram) serve(w http.ResponseWriter, r *http.Request) {
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+botToken+"/")
	if !ok {
		problem(w, 401, "Unauthorized")
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	g.mu.Lock()
	g.calls[method]++
	if len(g.odd[method]) > 0 {
		answer := g.odd[method][0]
		g.odd[method] = g.odd[method][1:]
		g.mu.Unlock()
		answer(w, r)
		return
	}
	for _, f := range g.fail {
		if code, text := f(method); code != 0 {
			g.mu.Unlock()
			problem(w, code, text)
			return
		}
	}
	g.mu.Unlock()
	switch method {
	case "getChat":
		var of struct {
			Chat int64 `json:"chat_id"`
		}
		if json.Unmarshal(body, &of) != nil || of.Chat != groupChat {
			problem(w, 400, "Bad Request: chat not found")
			return
		}
		result(w, map[string]any{"id": groupChat, "type": "supergroup"})
	case "getUpdates":
		g.poll(w, r, body)
	case "sendMessage", "editMessageText":
		g.message(w, method == "editMessageText", body)
	case "answerCallbackQuery":
		var a answerCallback
		if json.Unmarshal(body, &a) != nil || len([]rune(a.Text)) > 200 {
			problem(w, 400, "Bad Request: MESSAGE_TOO_LONG")
			return
		}
		g.change(func() { g.alerts = append(g.alerts, a) })
		result(w, true)
	default:
		problem(w, 404, "Not Found")
	}
}

func result(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": v})
}

func problem(w http.ResponseWriter, code int, text string) {
	w.WriteHeader(code)
	p := map[string]any{"ok": false, "error_code": code, "description": text}
	if code == 429 {
		p["parameters"] = map[string]any{"retry_after": 1}
	}
	_ = json.NewEncoder(w).Encode(p)
}

func (g *telegram) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	close(g.changed)
	g.changed = make(chan struct{})
}

// poll holds a request until there is an update, as long as it asks for.
func (g *telegram) poll(w http.ResponseWriter, r *http.Request, body []byte) {
	var in getUpdates
	if err := json.Unmarshal(body, &in); err != nil {
		problem(w, 400, err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(in.Timeout)*time.Second)
	defer cancel()
	g.change(func() { g.read, g.polls = in.Offset, g.polls+1 })
	for {
		g.mu.Lock()
		g.updates = slices.DeleteFunc(g.updates, func(u map[string]any) bool { return in.Offset > 0 && u["update_id"].(int64) < in.Offset })
		waiting, changed := slices.Clone(g.updates), g.changed
		g.mu.Unlock()
		if len(waiting) > 0 {
			result(w, waiting)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			result(w, []any{})
			return
		}
	}
}

// message sends or edits one, within the limits of the place.
func (g *telegram) message(w http.ResponseWriter, edit bool, body []byte) {
	var s shown
	if err := json.Unmarshal(body, &s); err != nil {
		problem(w, 400, err.Error())
		return
	}
	size := len(utf16.Encode([]rune(s.Text)))
	for _, e := range s.Entities {
		if e.Offset < 0 || e.Length < 1 || e.Offset+e.Length > size {
			problem(w, 400, "Bad Request: ENTITY_BOUNDS_INVALID")
			return
		}
	}
	for _, row := range s.Markup.Rows {
		for _, k := range row {
			if k.Text == "" || len(k.Data) < 1 || len(k.Data) > 64 {
				problem(w, 400, "Bad Request: BUTTON_DATA_INVALID")
				return
			}
		}
	}
	if size == 0 || size > 4096 || strings.TrimSpace(s.Text) != s.Text {
		problem(w, 400, "Bad Request: message is too long")
		return
	}
	g.put(w, edit, s)
}

func (g *telegram) put(w http.ResponseWriter, edit bool, s shown) {
	code, text := 0, ""
	g.change(func() {
		i := slices.IndexFunc(g.messages, func(m *shown) bool { return m.Chat == s.Chat && m.ID == s.Message })
		switch {
		case s.Chat != groupChat && s.Chat != ada && s.Chat != bob, g.blocked[s.Chat]:
			code, text = 403, "Forbidden: bot can't initiate conversation with a user"
		case !edit:
			s.ID = int64(len(g.messages) + 1)
			g.messages = append(g.messages, &s)
		case i < 0:
			code, text = 400, "Bad Request: message to edit not found"
		default:
			s.ID, s.Edits = s.Message, g.messages[i].Edits+1
			g.messages[i] = &s
		}
	})
	if code != 0 {
		problem(w, code, text)
		return
	}
	result(w, map[string]any{"message_id": s.ID, "date": 1, "chat": map[string]any{"id": s.Chat}, "text": s.Text})
}

// await waits until the place is as it should be.
func (g *telegram) await(what string, ok func() bool) {
	g.t.Helper()
	late := time.After(patience)
	for {
		g.mu.Lock()
		done, changed := ok(), g.changed
		g.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-late:
			g.t.Fatalf("it did not happen: %s\n%s", what, g.dump())
		}
	}
}

// list is what people see.
func (g *telegram) list() (all []shown) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.messages {
		all = append(all, *m)
	}
	return all
}

func (g *telegram) dump() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	raw, _ := json.MarshalIndent(map[string]any{"messages": g.messages, "alerts": g.alerts}, "", "  ")
	return string(raw)
}

// shows waits for the latest message with the text in it.
func (g *telegram) shows(text string) (m shown) {
	g.t.Helper()
	g.await("a message with "+text, func() bool {
		for _, s := range slices.Backward(g.messages) {
			if strings.Contains(s.Text, text) {
				m = *s
				return true
			}
		}
		return false
	})
	return m
}

// alerted waits for words to somebody who pressed, and forgets them.
func (g *telegram) alerted(text string) (a answerCallback) {
	g.t.Helper()
	g.await("an alert with "+text, func() bool {
		i := slices.IndexFunc(g.alerts, func(a answerCallback) bool { return strings.Contains(a.Text, text) })
		if i < 0 {
			return false
		}
		a = g.alerts[i]
		g.alerts = slices.Delete(g.alerts, i, i+1)
		return true
	})
	return a
}

func (m shown) button(label string) string {
	for _, row := range m.Markup.Rows {
		for _, k := range row {
			if strings.Contains(k.Text, label) {
				return k.Data
			}
		}
	}
	return ""
}

// press presses a message's button; label may be the data itself.
func (g *telegram) press(user int64, m shown, label string) {
	g.t.Helper()
	data := m.button(label)
	if data == "" {
		g.t.Fatalf("there is no button %q in %+v", label, m.Markup.Rows)
	}
	g.callback(user, m.Chat, m.ID, data)
}

func (g *telegram) callback(user, chat, message int64, data string) {
	g.push(map[string]any{"callback_query": map[string]any{
		"id": "cb", "from": map[string]any{"id": user, "is_bot": false, "first_name": "x"}, "data": data, "chat_instance": "1",
		"message": map[string]any{"message_id": message, "date": 1, "chat": map[string]any{"id": chat}},
	}})
}

// write replies to a message.
func (g *telegram) write(user int64, to shown, text string, more ...map[string]any) {
	m := map[string]any{
		"message_id": 90000, "from": map[string]any{"id": user, "is_bot": false}, "chat": map[string]any{"id": to.Chat}, "date": 1, "text": text,
		"reply_to_message": map[string]any{"message_id": to.ID, "from": map[string]any{"id": bot, "is_bot": true}, "chat": map[string]any{"id": to.Chat}},
	}
	for _, fields := range more {
		for k, v := range fields {
			m[k] = v
		}
	}
	g.push(map[string]any{"message": m})
}

func (g *telegram) push(u map[string]any) {
	g.change(func() {
		g.last++
		u["update_id"] = g.last
		g.updates = append(g.updates, u)
	})
}

// A desk is a channel at the place, and what it was answered.
type desk struct {
	*telegram
	channel *Channel
	answers chan sdk.Answer
	says    func(sdk.Answer) (string, error)
	stop    func()
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func config(t *testing.T, g *telegram, stateFile string) string {
	t.Helper()
	raw, err := json.Marshal(Config{TokenFile: write(t, "token", botToken+"\n"), Chat: groupChat, Users: []int64{ada, bob}, API: g.URL, StateFile: stateFile})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func open(t *testing.T) *desk {
	t.Helper()
	return start(t, newTelegram(t), "")
}

// start starts a channel. It is stopped with the test, or before.
func start(t *testing.T, g *telegram, stateFile string) *desk {
	t.Helper()
	d := &desk{telegram: g, channel: New(slog.New(slog.DiscardHandler)), answers: make(chan sdk.Answer, 50)}
	d.says = func(sdk.Answer) (string, error) { return "approved", nil }
	d.channel.minShown, d.channel.pause = 0, time.Millisecond
	if err := d.channel.Configure(t.Context(), []byte(config(t, g, stateFile))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- d.channel.Answers(ctx, func(_ context.Context, a sdk.Answer) (string, error) {
			d.answers <- a
			return d.says(a)
		})
	}()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Answers = %v", err)
		}
		d.channel.api.client.CloseIdleConnections()
	})
	t.Cleanup(d.stop)
	return d
}

func (d *desk) notify(n sdk.Notice) {
	d.t.Helper()
	if err := d.channel.Notify(d.t.Context(), n); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) update(n sdk.Notice) {
	d.t.Helper()
	if err := d.channel.Update(d.t.Context(), n); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) answered() sdk.Answer {
	d.t.Helper()
	select {
	case a := <-d.answers:
		return a
	case <-time.After(patience):
		d.t.Fatalf("nothing was answered\n%s", d.dump())
		return sdk.Answer{}
	}
}

// undecided fails the test where something was answered.
func (d *desk) undecided() {
	d.t.Helper()
	select {
	case a := <-d.answers:
		d.t.Errorf("answered %+v", a)
	default:
	}
}

func asked(edit ...func(*sdk.Notice)) sdk.Notice {
	n := sdktest.Notice("req-1")
	for _, e := range edit {
		e(&n)
	}
	return n
}
