package proxy

import (
	"fmt"
	"io"
	"sync"
)

// burstRoom is how many bytes may have been read and not yet sent.
const burstRoom = 64 << 10

// A burst reads ahead of whoever writes: what comes while a write is under way
// goes out with the next one, and what comes alone goes out at once. An
// upstream that sends an event at a time, in a TLS record each, would otherwise
// cost a write for each.
type burst struct {
	mu         sync.Mutex
	more, room sync.Cond
	come       []byte // read and not yet taken
	err        error  // what ended the reading
	over       bool   // nobody takes what comes
	done       sync.WaitGroup
}

// readBurst begins to read src. The caller ends it with stop.
func readBurst(src io.Reader) *burst {
	b := &burst{}
	b.more.L, b.room.L = &b.mu, &b.mu
	b.done.Go(func() { b.read(src) })
	return b
}

func (b *burst) read(src io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := readSafely(src, buf)
		b.mu.Lock()
		for len(b.come) > burstRoom && !b.over {
			b.room.Wait()
		}
		b.come, b.err = append(b.come, buf[:n]...), err
		b.more.Signal()
		end := err != nil || b.over
		b.mu.Unlock()
		if end {
			return
		}
	}
}

// next waits for bytes and returns all that have come, or what ended the
// reading once all has been taken. spare is a slice that is no longer needed.
func (b *burst) next(spare []byte) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.come) == 0 && b.err == nil {
		b.more.Wait()
	}
	if len(b.come) == 0 {
		return nil, b.err
	}
	come := b.come
	b.come = spare[:0]
	b.room.Signal()
	return come, nil
}

// stop waits until nothing is read any longer. Where the reading has not ended
// by itself, cut must make it.
func (b *burst) stop(cut func()) {
	b.mu.Lock()
	b.over = true
	ended := b.err != nil
	b.room.Signal()
	b.mu.Unlock()
	if !ended {
		cut()
	}
	b.done.Wait()
}

// readSafely makes an error of a decoder's panic, which in a goroutine would
// end the process.
func readSafely(src io.Reader, buf []byte) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			n, err = 0, fmt.Errorf("reading failed inside Holdgate: %v", p)
		}
	}()
	return src.Read(buf)
}
