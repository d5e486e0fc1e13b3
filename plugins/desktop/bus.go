package desktop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// perCall bounds each thing that is asked on the bus.
const perCall = 5 * time.Second

// Names on the bus.
const (
	busName = "org.freedesktop.DBus"
	busPath = dbus.ObjectPath("/org/freedesktop/DBus")

	notifications     = "org.freedesktop.Notifications"
	notificationsPath = dbus.ObjectPath("/org/freedesktop/Notifications")

	portal     = "org.freedesktop.portal.Desktop"
	portalPath = dbus.ObjectPath("/org/freedesktop/portal/desktop")
)

// A link is one connection to the bus. It belongs to whoever has the turn, but
// for its signals.
type link struct {
	socket  *boundedConn
	conn    *dbus.Conn
	signals chan *dbus.Signal // closed, or gone is, when the connection ends
}

// A server is the program that shows notifications. It does not change.
type server struct {
	name string // on the bus, its own and not the one that it owns
	can  []string
}

func (s *server) does(what string) bool { return slices.Contains(s.can, what) }

// boundedConn is a socket that waits only so long for the other side to read:
// the library holds a lock while it writes, and needs it to close.
type boundedConn struct{ net.Conn }

func (c *boundedConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(perCall)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	if err != nil {
		_ = c.Close() // half a message cannot be followed by another
	}
	return n, err
}

// socketOf returns the socket of the address of a bus (D-Bus Specification,
// "Server Addresses"); an abstract one begins with @.
func socketOf(address string) (string, error) {
	rest, ok := strings.CutPrefix(address, "unix:")
	if !ok || strings.Contains(rest, ";") {
		return "", errors.New("bus must be one address that begins with unix:, as DBUS_SESSION_BUS_ADDRESS has it")
	}
	for part := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(part, "=")
		value, err := dbus.UnescapeBusAddressValue(value)
		if err != nil || value == "" {
			continue
		}
		switch key {
		case "path":
			return value, nil
		case "abstract":
			return "@" + value, nil
		}
	}
	return "", errors.New("bus names no socket: want unix:path=..., as DBUS_SESSION_BUS_ADDRESS has it")
}

// dial connects to the bus and listens for what concerns notifications.
func dial(ctx context.Context, path string) (_ *link, err error) {
	ctx, cancel := context.WithTimeout(ctx, perCall)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("reaching the session's bus: %w", err)
	}
	l := &link{socket: &boundedConn{raw}, signals: make(chan *dbus.Signal, 16)}
	unwatch := context.AfterFunc(ctx, func() { _ = raw.Close() }) // what follows has no deadline of its own
	defer func() {
		if !unwatch() {
			err = errors.Join(context.Cause(ctx), err)
		}
		if err != nil {
			l.close()
			err = fmt.Errorf("greeting the session's bus: %w", err)
		}
	}()
	if l.conn, err = dbus.NewConn(l.socket, dbus.WithSignalHandler(dbus.NewSequentialSignalHandler())); err != nil {
		return nil, err
	}
	l.conn.Signal(l.signals)
	if err = l.conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err != nil {
		return nil, err
	}
	if err = l.conn.Hello(); err != nil {
		return nil, err
	}
	for _, rule := range []string{
		"type='signal',sender='" + notifications + "',interface='" + notifications + "'",
		"type='signal',sender='" + busName + "',interface='" + busName + "',member='NameOwnerChanged',arg0='" + notifications + "'",
	} {
		if err = l.call(ctx, busName, busPath, busName+".AddMatch", rule).Err; err != nil {
			return nil, err
		}
	}
	return l, nil
}

// close ends the connection: the socket first, so that nothing waits for it.
func (l *link) close() {
	_ = l.socket.Close()
	if l.conn != nil {
		_ = l.conn.Close()
	}
}

// gone is closed once the connection has ended.
func (l *link) gone() <-chan struct{} { return l.conn.Context().Done() }

// call asks something on the bus, for a bounded time.
func (l *link) call(ctx context.Context, name string, path dbus.ObjectPath, method string, args ...any) *dbus.Call {
	ctx, cancel := context.WithTimeout(ctx, perCall)
	defer cancel()
	call := l.conn.Object(name, path).CallWithContext(ctx, method, 0, args...)
	if errors.Is(call.Err, context.DeadlineExceeded) {
		call.Err = fmt.Errorf("%s does not answer: %w", name, call.Err)
	}
	return call
}

// owner finds who shows notifications, and has it started where that can be.
func (l *link) owner(ctx context.Context) (name string, err error) {
	get := func() error {
		return l.call(ctx, busName, busPath, busName+".GetNameOwner", notifications).Store(&name)
	}
	if err = get(); !says(err, busName+".Error.NameHasNoOwner") {
		return name, err
	}
	if err := l.call(ctx, busName, busPath, busName+".StartServiceByName", notifications, uint32(0)).Err; err != nil {
		return "", fmt.Errorf("nothing shows notifications on this desktop: %w", err)
	}
	return name, get()
}

// find asks what shows notifications, and what it can do.
func (l *link) find(ctx context.Context) (*server, error) {
	s := &server{}
	var err error
	if s.name, err = l.owner(ctx); err != nil {
		return nil, err
	}
	if err := l.call(ctx, s.name, notificationsPath, notifications+".GetCapabilities").Store(&s.can); err != nil {
		return nil, fmt.Errorf("asking what the desktop can show: %w", err)
	}
	return s, nil
}

// says reports whether an error is that of the name.
func says(err error, name string) bool {
	e, ok := errors.AsType[dbus.Error](err)
	return ok && e.Name == name
}

// reach returns what shows notifications, after connecting where that is
// needed. It needs the turn.
func (c *Channel) reach(ctx context.Context) (*server, error) {
	if c.link != nil {
		select {
		case <-c.link.gone():
			c.link.close()
			c.link = nil
			c.forget(nil)
		default:
		}
	}
	c.mu.Lock()
	s := c.server
	c.mu.Unlock()
	if c.link != nil && s != nil {
		return s, nil
	}
	if c.link == nil {
		l, err := dial(ctx, c.socket)
		if err != nil {
			return nil, err
		}
		c.link = l
	}
	s, err := c.link.find(ctx)
	if err != nil {
		return nil, err
	}
	c.forget(s)
	return s, nil
}

// forget notes that another program shows notifications now, or none: nothing
// that was on the screen is.
func (c *Channel) forget(now *server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = now
	clear(c.prompts)
	for _, q := range c.open {
		q.id, q.asking = 0, false
	}
}
