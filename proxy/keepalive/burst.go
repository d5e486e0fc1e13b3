package keepalive

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// burstSize is how many bytes may have been read and not yet sent.
const burstSize = 64 << 10

// A Memory is what one streamed answer is read into. It is used again for
// another, unless something of the answer is kept.
type Memory struct {
	Raw bytes.Buffer // the whole answer, should it have to be kept

	read        []byte
	come, taken []byte // take turns
}

// mostMemory is how much of it is kept for another answer, in bytes.
const mostMemory = 1 << 20

var memories = sync.Pool{New: func() any { return &Memory{read: make([]byte, 16<<10)} }}

// NewMemory returns memory that nobody else uses.
func NewMemory() *Memory { return memories.Get().(*Memory) }

// Give hands the memory back. Nobody may use it any longer.
func (m *Memory) Give() {
	if cap(m.come)+cap(m.taken)+m.Raw.Cap() > mostMemory {
		return
	}
	m.Raw.Reset()
	memories.Put(m)
}

// A Burst reads ahead of whoever writes: what comes while a write is under way
// goes out with the next one, and what comes alone goes out at once. An
// upstream that sends an event at a time, in a TLS record each, would otherwise
// cost a write for each.
type Burst struct {
	mu            sync.Mutex
	more, notFull sync.Cond
	mem           *Memory // come is what was read and not yet taken
	err           error   // what ended the reading
	over          bool    // nobody takes what comes
	done          sync.WaitGroup
}

// ReadBurst begins to read src. The caller ends it with stop, and may use the
// memory's raw meanwhile.
func ReadBurst(src io.Reader, mem *Memory) *Burst {
	b := &Burst{mem: mem}
	mem.come, mem.taken = mem.come[:0], mem.taken[:0]
	b.more.L, b.notFull.L = &b.mu, &b.mu
	b.done.Go(func() { b.read(src) })
	return b
}

func (b *Burst) read(src io.Reader) {
	buf := b.mem.read
	for {
		n, err := readSafely(src, buf)
		b.mu.Lock()
		for len(b.mem.come) > burstSize && !b.over {
			b.notFull.Wait()
		}
		b.mem.come, b.err = append(b.mem.come, buf[:n]...), err
		b.more.Signal()
		end := err != nil || b.over
		b.mu.Unlock()
		if end {
			return
		}
	}
}

// Next waits for bytes and returns all that have come, or what ended the
// reading once all has been taken. They are there until the next call.
func (b *Burst) Next() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.mem
	for len(m.come) == 0 && b.err == nil {
		b.more.Wait()
	}
	if len(m.come) == 0 {
		return nil, b.err
	}
	m.come, m.taken = m.taken[:0], m.come
	b.notFull.Signal()
	return m.taken, nil
}

// Stop waits until nothing is read any longer. Where the reading has not ended
// by itself, cut must make it.
func (b *Burst) Stop(cut func()) {
	b.mu.Lock()
	b.over = true
	ended := b.err != nil
	b.notFull.Signal()
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
