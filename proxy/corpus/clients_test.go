package corpus_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// clients are the official SDKs, all in one process.
type clients struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

// A turn is what an SDK made of an answer.
type turn struct {
	Error  string
	Text   string
	Finish any
	Calls  []sdkCall
	Come   []sdkCall // in a stream of the Responses API, before the last snapshot
}

type sdkCall struct {
	Name string
	Args any
}

// newClients starts the SDKs, or returns nil where they are not installed.
func newClients(t *testing.T) *clients {
	t.Helper()
	dir := os.Getenv("HOLDGATE_CLIENTS")
	if dir == "" {
		t.Log("SKIPPED: HOLDGATE_CLIENTS is not set, so no SDK reads what comes out. `.ci/run` installs them (it needs node and npm) and sets it.")
		return nil
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "corpus.mjs"))
	var said bytes.Buffer // SDKs warn of much that is tried here
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // killed where the test has ended before
		if t.Failed() {
			t.Logf("the SDKs said: %.4000s", said.Bytes())
		}
	})
	return &clients{in: in, out: bufio.NewReader(out)}
}

// read has a client read an answer.
func (c *clients) read(t *testing.T, client string, stream bool, typ string, body []byte) turn {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	ask, err := json.Marshal(map[string]any{"client": client, "stream": stream, "type": typ, "body": body})
	must(t, err)
	_, err = c.in.Write(append(ask, '\n'))
	must(t, err)
	line, err := c.out.ReadBytes('\n')
	must(t, err)
	var said turn
	must(t, json.Unmarshal(line, &said))
	return said
}
