package desktop

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

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
