package desktop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

const patience = 30 * time.Second

// A bus is a private message bus: the real dbus-daemon.
type bus struct {
	t      *testing.T
	socket string
	conf   string
	stop   func()
}

func newBus(t *testing.T) *bus {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		t.Skip("SKIPPED: no dbus-daemon is here, so nothing of the desktop is tested (Debian has it in the package dbus-daemon)")
	}
	dir, err := os.MkdirTemp("", "bus") // the test's own folder can be too deep for a socket
	if err != nil {
		t.Fatal(err)
	}
	b := &bus{t: t, socket: filepath.Join(dir, "s"), conf: filepath.Join(dir, "conf")}
	conf := `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=` + b.socket + `</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`
	if err := os.WriteFile(b.conf, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()
	t.Cleanup(func() {
		b.stop()
		_ = os.RemoveAll(dir)
	})
	return b
}

// start starts the daemon and returns when it listens; stop ends it.
func (b *bus) start() {
	b.t.Helper()
	_ = os.Remove(b.socket)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "dbus-daemon", "--config-file="+b.conf, "--nofork", "--nopidfile", "--print-address=1")
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		b.t.Fatal(err)
	}
	late := time.AfterFunc(patience, cancel)
	line, err := bufio.NewReader(out).ReadString('\n')
	late.Stop()
	b.stop = sync.OnceFunc(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	if err != nil || !strings.HasPrefix(line, "unix:") {
		b.stop()
		b.t.Fatalf("the bus says %q: %v", line, err)
	}
}

func (b *bus) address() string { return "unix:path=" + b.socket }

// dial connects somebody to the bus, until the test is over.
func (b *bus) dial() *dbus.Conn {
	b.t.Helper()
	conn, err := dbus.Dial(b.address())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	late := time.AfterFunc(patience, func() { _ = conn.Close() })
	defer late.Stop()
	if err := errors.Join(conn.Auth(nil), conn.Hello()); err != nil {
		b.t.Fatal(err)
	}
	return conn
}

// A note is a notification as people see it.
type note struct {
	id       uint32
	app      string
	replaces uint32
	icon     string
	title    string
	body     string
	keys     []string
	labels   []string
	hints    map[string]dbus.Variant
	expire   int32
	times    int // how often it was shown or replaced
}

// key is the key of the button whose label begins so, or nothing.
func (n note) key(label string) string {
	for i, l := range n.labels {
		if strings.HasPrefix(l, label) {
			return n.keys[i]
		}
	}
	return ""
}

func (n note) urgency() byte { b, _ := n.hints["urgency"].Value().(byte); return b }

// A desk is a desktop: what shows notifications, and a person before it.
type desk struct {
	t    *testing.T
	conn *dbus.Conn
	can  []string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced with each change
	last    uint32
	notes   map[uint32]note // on the screen
	past    []note          // all that ever was
	opened  []string        // pages
	hang    chan struct{}   // Notify waits for it where it is set
}

// usual is what most desktops can do, and typing what KDE's can besides.
var (
	usual  = []string{"actions", "body", "body-markup", "persistence"}
	typing = append(slices.Clone(usual), keyReply)
)

// newDesk puts a desktop on the bus.
func newDesk(b *bus, can ...string) *desk {
	b.t.Helper()
	if can == nil {
		can = usual
	}
	d := &desk{t: b.t, conn: b.dial(), can: can, changed: make(chan struct{}), notes: make(map[uint32]note), last: 40}
	for path, of := range map[dbus.ObjectPath]struct {
		methods map[string]any
		name    string
	}{
		notificationsPath: {map[string]any{"GetCapabilities": d.capabilities, "Notify": d.notify, "CloseNotification": d.remove}, notifications},
		portalPath:        {map[string]any{"OpenURI": d.open}, "org.freedesktop.portal.OpenURI"},
	} {
		if err := d.conn.ExportMethodTable(of.methods, path, of.name); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, name := range []string{notifications, portal} {
		d.own(name, 0)
	}
	return d
}

func (d *desk) own(name string, flags uint32) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	var got uint32
	if err := d.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.RequestName", 0, name, flags).Store(&got); err != nil || got != 1 {
		d.t.Fatalf("owning %s: %d, %v", name, got, err)
	}
}

func (d *desk) capabilities() ([]string, *dbus.Error) { return d.can, nil }

func (d *desk) notify(app string, replaces uint32, icon, title, body string, actions []string, hints map[string]dbus.Variant, expire int32) (uint32, *dbus.Error) {
	d.mu.Lock()
	hang := d.hang
	d.mu.Unlock()
	if hang != nil {
		<-hang
	}
	n := note{app: app, replaces: replaces, icon: icon, title: title, body: body, hints: hints, expire: expire, id: replaces}
	if len(actions)%2 != 0 {
		return 0, dbus.NewError("org.example.Odd", []any{"actions are pairs"})
	}
	for i := 0; i < len(actions); i += 2 {
		n.keys, n.labels = append(n.keys, actions[i]), append(n.labels, actions[i+1])
	}
	d.change(func() {
		if n.id == 0 {
			d.last++
			n.id = d.last
		}
		n.times = d.notes[n.id].times + 1
		d.notes[n.id] = n
		d.past = append(d.past, n)
	})
	return n.id, nil
}

func (d *desk) remove(id uint32) *dbus.Error {
	if d.off(id) {
		d.emit("NotificationClosed", id, uint32(3))
	}
	return nil
}

func (d *desk) open(_, uri string, _ map[string]dbus.Variant) (dbus.ObjectPath, *dbus.Error) {
	d.change(func() { d.opened = append(d.opened, uri) })
	return "/org/freedesktop/portal/desktop/request/x", nil
}

func (d *desk) off(id uint32) (was bool) {
	d.change(func() {
		_, was = d.notes[id]
		delete(d.notes, id)
	})
	return was
}

func (d *desk) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *desk) emit(signal string, values ...any) {
	if err := d.conn.Emit(notificationsPath, notifications+"."+signal, values...); err != nil {
		d.t.Errorf("%s: %v", signal, err)
	}
}

// until waits until the desktop is as it should be.
func (d *desk) until(what string, is func() bool) {
	d.t.Helper()
	late := time.After(patience)
	for {
		d.mu.Lock()
		ok, changed := is(), d.changed
		d.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			d.t.Fatalf("not within %v: %s\n%s", patience, what, d.screen())
		}
	}
}

func (d *desk) screen() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(d.notes)) {
		n := d.notes[id]
		fmt.Fprintf(&b, "%d: %s\n%s\n%q\n", id, n.title, n.body, n.labels)
	}
	return b.String()
}

// shows waits for a notification with the text in it.
func (d *desk) shows(text string) (found note) {
	d.t.Helper()
	d.until("shows "+text, func() bool {
		for _, n := range d.notes {
			if strings.Contains(n.title+"\n"+n.body, text) {
				found = n
				return true
			}
		}
		return false
	})
	return found
}

// empty waits until nothing with the text is on the screen.
func (d *desk) empty(text string) {
	d.t.Helper()
	d.until("no longer shows "+text, func() bool {
		for _, n := range d.notes {
			if strings.Contains(n.title+"\n"+n.body, text) {
				return false
			}
		}
		return true
	})
}

// press presses the button of a notification, which closes it.
func (d *desk) press(n note, label string) {
	d.t.Helper()
	k := n.key(label)
	if k == "" {
		d.t.Fatalf("there is no button %q: %q", label, n.labels)
	}
	d.invoke(n.id, k)
}

func (d *desk) invoke(id uint32, key string) {
	d.emit("ActionInvoked", id, key)
	if d.off(id) {
		d.emit("NotificationClosed", id, uint32(2))
	}
}

// types types into a notification, which closes it.
func (d *desk) types(n note, text string) {
	d.emit("NotificationReplied", n.id, text)
	if d.off(n.id) {
		d.emit("NotificationClosed", n.id, uint32(2))
	}
}

// puts away a notification.
func (d *desk) dismiss(n note) {
	if d.off(n.id) {
		d.emit("NotificationClosed", n.id, uint32(2))
	}
}

// A rig is a channel that asks at a desk, and what it was answered.
type rig struct {
	*desk
	bus     *bus
	channel *Channel
	log     *strings.Builder
	answers chan sdk.Answer
	refuse  chan error // what Holdgate says to the next answers; nil: they count
	status  string
	stop    func()
}

func config(b *bus, edit ...func(*Config)) []byte {
	c := Config{Bus: b.address(), User: "ada", Approve: always, Page: "http://127.0.0.1:7301/r/{id}", Buttons: 8, Lines: 12}
	for _, e := range edit {
		e(&c)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return raw
}

// sit starts a bus, a desktop and a channel. All are ended with the test.
func sit(t *testing.T, can []string, edit ...func(*Config)) *rig {
	t.Helper()
	b := newBus(t)
	r := &rig{bus: b, desk: newDesk(b, can...), answers: make(chan sdk.Answer, 100), refuse: make(chan error, 10), status: "approved"}
	r.start(edit...)
	return r
}

// start starts the channel, after the one before has ended.
func (r *rig) start(edit ...func(*Config)) {
	r.t.Helper()
	c := New(slog.New(slog.DiscardHandler))
	c.quiet, c.pause, c.maxPause = 0, 5*time.Millisecond, 50*time.Millisecond
	if err := c.Configure(r.t.Context(), config(r.bus, edit...)); err != nil {
		r.t.Fatal(err)
	}
	r.channel = c
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Answers(ctx, r.take) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				r.t.Errorf("Answers = %v", err)
			}
		case <-time.After(patience):
			r.t.Error("Answers goes on after its context has ended")
		}
	})
	r.t.Cleanup(r.stop)
}

func (r *rig) take(_ context.Context, a sdk.Answer) (string, error) {
	r.answers <- a
	select {
	case err := <-r.refuse:
		return sdk.StatusPending, err
	default:
		return r.status, nil
	}
}

func (r *rig) tell(n sdk.Notice) {
	r.t.Helper()
	if err := r.channel.Notify(r.t.Context(), n); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) update(n sdk.Notice) {
	r.t.Helper()
	if err := r.channel.Update(r.t.Context(), n); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) answered() sdk.Answer {
	r.t.Helper()
	select {
	case a := <-r.answers:
		return a
	case <-time.After(patience):
		r.t.Fatalf("nothing was answered\n%s", r.screen())
		return sdk.Answer{}
	}
}

// undecided fails the test where something has been answered by the time that
// all that was done at the desktop has been heard: a button of a request of its
// own comes after it.
func (r *rig) undecided() {
	r.t.Helper()
	n := sdktest.Notice("the-last")
	n.Nonce, n.Summary = "last", "this is the last"
	r.tell(n)
	r.press(r.shows(n.Summary), "Deny")
	if a := r.answered(); a.ID != n.ID {
		r.t.Errorf("answered %+v", a)
	}
}

func asking(id string, edit ...func(*sdk.Notice)) sdk.Notice {
	n := sdktest.Notice(id)
	n.Summary = "Deletes ./build of " + id
	n.Agent.Confinement = "strong"
	for _, e := range edit {
		e(&n)
	}
	return n
}
