package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

func tokenFile(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(content+"\n"), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func config(t *testing.T, s *standIn, signed bool) Config {
	t.Helper()
	conf := Config{Channel: channel, Users: []string{ann, bob}, BotTokenFile: tokenFile(t, botToken, 0o600), APIURL: s.URL + "/api"}
	if signed {
		conf.SigningSecretFile, conf.Listen = tokenFile(t, signingSecret, 0o600), ":0"
	} else {
		conf.AppTokenFile = tokenFile(t, appToken, 0o600)
	}
	return conf
}

// A rig is a channel at the stand-in, with the test in Holdgate's place.
type rig struct {
	*standIn
	c      *Channel
	stop   func()
	signed bool

	answers []sdk.Answer                     // that were given; of the stand-in's state
	says    func(sdk.Answer) (string, error) // what Holdgate says to them
	slow    chan struct{}                    // if set, it says nothing before this is closed
}

// modes are the ways in which answers come in.
var modes = map[string]bool{"socket mode": false, "signed requests": true}

func newRig(t *testing.T, signed bool) *rig {
	t.Helper()
	r := &rig{standIn: newStandIn(t), signed: signed, says: func(sdk.Answer) (string, error) { return "approved", nil }}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

// start starts a channel, as after a restart.
func (r *rig) start() {
	t := r.t
	t.Helper()
	r.c = New(slog.New(slog.DiscardHandler))
	r.c.pause = 10 * time.Millisecond
	raw, err := json.Marshal(config(t, r.standIn, r.signed))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.c.Configure(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- r.c.Answers(ctx, func(_ context.Context, a sdk.Answer) (status string, err error) {
			if a.Decision != sdk.Seen && r.slow != nil {
				<-r.slow
			}
			r.change(func() {
				r.answers = append(r.answers, a)
				status, err = r.says(a)
			})
			return status, err
		})
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(patient):
			t.Error("Answers does not end")
		}
		r.c.http.CloseIdleConnections()
	})
}

func (r *rig) notify(n sdk.Notice) {
	r.t.Helper()
	if err := r.c.Notify(r.t.Context(), n); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) update(n sdk.Notice) {
	r.t.Helper()
	if err := r.c.Update(r.t.Context(), n); err != nil {
		r.t.Fatal(err)
	}
}

// messages are the posts about a request.
func (r *rig) messages(id string) (found []*post) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.posts {
		if strings.Contains(string(p.Metadata), kindRequest) && strings.Contains(string(p.Metadata), `"`+id+`"`) {
			found = append(found, p)
		}
	}
	return found
}

// message is the one post about a request.
func (r *rig) message(id string) *post {
	r.t.Helper()
	found := r.messages(id)
	if len(found) != 1 {
		r.t.Fatalf("%d messages about %s", len(found), id)
	}
	return found[0]
}

// buttons are the names of a message's buttons.
func (p *post) buttons() (names []string) {
	for _, e := range p.elements() {
		names = append(names, strings.TrimPrefix(e.ActionID, actionPrefix))
	}
	return names
}

func (p *post) elements() (all []element) {
	for _, b := range parseBlocks(p.Blocks) {
		if b.Type == "actions" {
			all = append(all, b.Elements...)
		}
	}
	return all
}

// press presses a button of a message, and returns the trigger.
func (r *rig) press(user string, p *post, name string) {
	r.t.Helper()
	r.deliver(r.pressing(user, p, name))
}

// pressing is the payload of a press.
func (r *rig) pressing(user string, p *post, name string) []byte {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(p.elements(), func(e element) bool { return e.ActionID == actionPrefix+name })
	if i < 0 {
		r.t.Fatalf("there is no button %s among %v", name, p.buttons())
	}
	trigger := "trigger-" + r.id()
	r.triggers[trigger] = true
	raw, err := json.Marshal(map[string]any{
		"type": "block_actions", "user": map[string]string{"id": user, "team_id": "T1"}, "team": map[string]string{"id": "T1"}, "api_app_id": "A1", "trigger_id": trigger,
		"container": map[string]any{"type": "message", "message_ts": p.TS, "channel_id": channel, "thread_ts": p.Thread}, "channel": map[string]string{"id": channel},
		"message": map[string]any{"ts": p.TS, "thread_ts": p.Thread, "bot_id": p.BotID, "text": p.Text},
		"actions": []map[string]any{{"type": "button", "action_id": actionPrefix + name, "block_id": "b", "value": p.elements()[i].Value, "action_ts": r.id()}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return raw
}

// deliver brings a payload to the channel, and returns its answer.
func (r *rig) deliver(payload []byte) []byte {
	r.t.Helper()
	if !r.signed {
		return r.envelope(payload)
	}
	body := []byte(url.Values{"payload": {string(payload)}}.Encode())
	status, answer := r.post("http://"+r.c.listener.Addr().String()+"/slack", sign(signingSecret, time.Now(), body), body)
	if status != http.StatusOK {
		r.t.Fatalf("status %d: %s", status, answer)
	}
	return answer
}

// view waits for the dialog number n.
func (r *rig) view(n int) (v struct {
	PrivateMetadata string `json:"private_metadata"`
	CallbackID      string `json:"callback_id"`
	Blocks          []block
}) {
	r.t.Helper()
	r.wait("a dialog", func() bool { return len(r.views) > n })
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := json.Unmarshal(r.views[n], &v); err != nil {
		r.t.Fatal(err)
	}
	return v
}

// submit sends the dialog number n, and returns what it shows then.
func (r *rig) submit(user string, n int, fields map[string]string) (errors map[string]string) {
	r.t.Helper()
	v := r.view(n)
	values := map[string]any{}
	for k, s := range fields {
		values[k] = map[string]any{k: map[string]string{"type": "plain_text_input", "value": s}}
	}
	r.mu.Lock()
	id := r.id()
	r.mu.Unlock()
	raw, err := json.Marshal(map[string]any{
		"type": "view_submission", "user": map[string]string{"id": user}, "team": map[string]string{"id": "T1"}, "trigger_id": id,
		"view": map[string]any{"id": "V1", "type": "modal", "callback_id": v.CallbackID, "private_metadata": v.PrivateMetadata, "state": map[string]any{"values": values}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	var said struct {
		Action string `json:"response_action"`
		Errors map[string]string
	}
	if answer := r.deliver(raw); len(answer) > 0 && string(answer) != "null" {
		if err := json.Unmarshal(answer, &said); err != nil || said.Action != "errors" {
			r.t.Fatalf("a dialog was answered with %s (%v)", answer, err)
		}
	}
	return said.Errors
}

// given waits for n answers that decide something, and returns them.
func (r *rig) given(n int) []sdk.Answer {
	r.t.Helper()
	count := func() (decided []sdk.Answer) {
		for _, a := range r.answers {
			if a.Decision != sdk.Seen {
				decided = append(decided, a)
			}
		}
		return decided
	}
	r.wait(fmt.Sprintf("%d answers", n), func() bool { return len(count()) >= n })
	r.mu.Lock()
	defer r.mu.Unlock()
	return count()
}

// told waits for something that a person alone is told.
func (r *rig) told(user, text string) {
	r.t.Helper()
	r.wait(cmp.Or(text, "an ephemeral message"), func() bool {
		return slices.ContainsFunc(r.ephemerals, func(p *post) bool { return p.user == user && strings.Contains(string(p.Blocks), text) })
	})
}
