package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/client"
)

// A desk is a person at a terminal: a model that gets real messages, and a clock
// that stands still until it is told to go on.
type desk struct {
	t     *testing.T
	s     *sidecar
	api   *client.Client
	m     *model
	clock time.Time
	msgs  chan tea.Msg
	raw   []any // what was written past the screen
}

// sit opens the inbox of the sidecar on a terminal of 80x24, as Run does.
func sit(t *testing.T, s *sidecar) *desk {
	t.Helper()
	d := &desk{t: t, s: s, api: s.client(), msgs: make(chan tea.Msg, 64)}
	ctx, cancel := context.WithCancel(t.Context())
	d.clock = time.Now()
	d.m = newModel(ctx, d.api, func() time.Time { return d.clock }, false)
	d.m.after = func(time.Duration, tea.Msg) tea.Cmd { return nil } // the test says when
	done := make(chan struct{})
	go func() {
		defer close(done)
		follow(ctx, d.api, time.Millisecond, func(m tea.Msg) {
			select {
			case d.msgs <- m:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	d.update(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.until("what waits has come", func() bool { return !d.m.inbox.loading })
	if n := len(d.m.inbox.list); n > 0 {
		d.clock = d.m.inbox.list[n-1].CreatedAt.Add(5 * time.Second)
		d.m.beat = d.clock
	}
	d.pass(minShown)
	return d
}

// update gives the model a message, and the answers of what it asks for.
func (d *desk) update(msg tea.Msg) {
	d.t.Helper()
	_, cmd := d.m.Update(msg)
	d.runCmd(cmd)
}

func (d *desk) runCmd(cmd tea.Cmd) {
	d.t.Helper()
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, tea.QuitMsg:
	case tea.RawMsg:
		d.raw = append(d.raw, msg.Msg)
	case tea.BatchMsg:
		for _, c := range msg {
			d.runCmd(c)
		}
	default:
		d.update(msg)
	}
}

// until takes what the sidecar tells until something is so.
func (d *desk) until(what string, ok func() bool) {
	d.t.Helper()
	timeout := time.After(time.Minute)
	for !ok() {
		select {
		case m := <-d.msgs:
			d.update(m)
		case <-timeout:
			d.t.Fatalf("%s: not within a minute; the screen:\n%s", what, d.m.screen())
		}
	}
}

// pass lets time go by.
func (d *desk) pass(t time.Duration) {
	d.clock = d.clock.Add(t)
	d.m.beat = d.clock
	d.m.countDown()
}

// press presses keys, one after the other at once.
func (d *desk) press(keys ...string) {
	d.t.Helper()
	for _, k := range keys {
		d.update(keyOf(k))
	}
}

// slowly presses keys, each on a screen that has stood.
func (d *desk) slowly(keys ...string) {
	d.t.Helper()
	for _, k := range keys {
		d.pass(minShown)
		d.update(keyOf(k))
	}
}

// write types a text, one key a character.
func (d *desk) write(text string) {
	d.t.Helper()
	for _, r := range text {
		d.update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func keyOf(k string) tea.KeyPressMsg {
	switch k {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "space":
		return tea.KeyPressMsg{Code: ' ', Text: " "}
	case "backspace":
		return tea.KeyPressMsg{Code: tea.KeyBackspace}
	case "tab":
		return tea.KeyPressMsg{Code: tea.KeyTab}
	case "ctrl+u":
		return tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
}

// shows fails where the screen does not show a text.
func (d *desk) shows(want string) {
	d.t.Helper()
	if got := d.m.screen(); !strings.Contains(got, want) {
		d.t.Errorf("the screen does not show %q:\n%s", want, got)
	}
}

func (d *desk) hides(text string) {
	d.t.Helper()
	if got := d.m.screen(); strings.Contains(got, text) {
		d.t.Errorf("the screen shows %q:\n%s", text, got)
	}
}

// status is that of a request as the sidecar has it.
func (d *desk) status(r approvals.Request) holdgate.Status {
	d.t.Helper()
	now, err := d.s.queue.Request(context.Background(), r.ID)
	d.s.check(err)
	return now.Status
}

var timesLeft = regexp.MustCompile(`time left  \d+m\d\ds`)

// claimedLeft is that of a claimed request: how long a claim lasts counts from another clock.
var claimedLeft = regexp.MustCompile(`time left  1h\d\dm\d\ds`)

var clockTimes = regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`)

// golden compares the screen with a file. What is made by chance is replaced.
func (d *desk) golden(name string) {
	d.t.Helper()
	d.pass(minShown)
	got := d.m.screen() + "\n"
	for i, r := range d.m.inbox.list {
		got = strings.ReplaceAll(got, r.ID, fmt.Sprintf("%0*d", len(r.ID), i+1))
	}
	if a := d.m.ask; a != nil {
		got = strings.ReplaceAll(got, a.r.ID, fmt.Sprintf("%0*d", len(a.r.ID), 0))
	}
	d.s.golden(name, got)
}

// golden compares what a screen showed with a file, but for what the place and the time
// make of it.
func (s *sidecar) golden(name, got string) {
	s.t.Helper()
	host, err := os.Hostname()
	s.check(err)
	got = strings.ReplaceAll(got, ", on "+host, ", on HOST")
	got = clockTimes.ReplaceAllString(got, "HH:MM:SS")
	got = claimedLeft.ReplaceAllString(got, "time left  1hMMmSSs")
	got = timesLeft.ReplaceAllString(got, "time left  59mSSs") // how long it took to hold them all
	lines := strings.Split(got, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	got = strings.Join(lines, "\n")
	file := filepath.Join("testdata", name+".golden")
	if *update {
		s.check(os.MkdirAll("testdata", 0o755))
		s.check(os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	s.check(err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// read pages to the request's end.
func (d *desk) read() {
	d.t.Helper()
	for range 20 {
		d.slowly("space")
	}
}
