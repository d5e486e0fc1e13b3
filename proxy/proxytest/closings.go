package proxytest

import (
	"errors"
	"net"
	"sync"
	"time"
)

// closings tells of each accepted connection that is closed.
type closings struct {
	net.Listener
	closed chan<- struct{}
}

func (l *closings) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &closing{Conn: c, closed: l.closed}, nil
}

type closing struct {
	net.Conn
	once   sync.Once
	closed chan<- struct{}
}

func (c *closing) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.closed <- struct{}{} })
	return err
}

func (c *closing) CloseWrite() error {
	if t, ok := c.Conn.(*net.TCPConn); ok {
		return t.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Noticed waits until the server has let a connection go that its client left:
// the handler has returned then.
func (g *Sidecar) Noticed() {
	g.T.Helper()
	select {
	case <-g.Closed:
	case <-time.After(Patience):
		g.T.Fatal("the server did not notice that its client has gone")
	}
}
