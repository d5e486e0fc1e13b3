package relay

import (
	"os"
	"sync"

	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
)

// An outbox writes lines to the client or to the server. Who puts one in does
// not wait for it to be written, up to a bound: a client that is slow to read
// must not keep the server from being asked, nor the other way round.
type outbox struct {
	file   *os.File
	failed func()

	mu    sync.Mutex
	some  *sync.Cond // there is something to write, or room for more
	buf   []byte
	ended bool
	done  chan struct{}
}

// maxUnread is how much may be kept for who does not read, in bytes; one line
// may go beyond.
const maxUnread = stdio.MaxLine

// newOutbox returns an outbox whose goroutine ends with close. failed is called
// once, where nobody reads any longer.
func newOutbox(file *os.File, failed func()) *outbox {
	o := &outbox{file: file, failed: failed, done: make(chan struct{})}
	o.some = sync.NewCond(&o.mu)
	go o.run()
	return o
}

func (o *outbox) put(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buf) > maxUnread && !o.ended {
		o.some.Wait()
	}
	if !o.ended {
		o.buf = append(append(o.buf, line...), '\n')
		o.some.Broadcast()
	}
}

// closeWhenWritten has the file closed once everything is written.
func (o *outbox) closeWhenWritten() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.some.Broadcast()
}

// close is end, and waits for it.
func (o *outbox) close() {
	o.closeWhenWritten()
	<-o.done
}

func (o *outbox) run() {
	defer close(o.done)
	defer o.file.Close()
	var writing []byte
	for {
		o.mu.Lock()
		for len(o.buf) == 0 && !o.ended {
			o.some.Wait()
		}
		writing, o.buf = o.buf, writing[:0]
		o.some.Broadcast()
		o.mu.Unlock()
		if len(writing) == 0 {
			return
		}
		if _, err := o.file.Write(writing); err != nil {
			o.closeWhenWritten()
			o.failed()
			return
		}
	}
}
