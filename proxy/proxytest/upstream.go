package proxytest

import (
	"io"
	"net/http"
	"slices"
	"sync"
)

// A Counter counts what reaches an upstream.
type Counter struct {
	Mu     sync.Mutex
	Bodies []string
}

// Saw reads and keeps the body of a request, and returns it.
func (c *Counter) Saw(r *http.Request) string {
	b, _ := io.ReadAll(r.Body)
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Bodies = append(c.Bodies, string(b))
	return string(b)
}

// All returns the bodies that have come so far.
func (c *Counter) All() []string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return slices.Clone(c.Bodies)
}
