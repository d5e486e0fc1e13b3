package storetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdgate/holdgate/store"
)

// benchValue is the size of the values that Benchmark puts, in bytes.
const benchValue = 1 << 10

// Benchmark measures durable puts of 1 KiB by 1, 16 and 256 writers, next to
// what the disk allows at the best: a file to which all that wait is appended
// at once, with one fdatasync for it. Both run in turns, on the same disk. The
// metric raw-ratio is the store's rate as a part of the file's.
func Benchmark(b *testing.B, open Open) {
	for _, writers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			f := newFixture(b, open)
			raw := openRaw(b)
			value := make([]byte, benchValue)
			var rawTime, storeTime time.Duration
			var n uint64
			const turns = 4
			b.ResetTimer()
			for range turns {
				share := max(b.N/turns, 1)
				rawTime += perform(writers, share, func() error { return raw.put(value) }, b)
				storeTime += perform(writers, share, func() error {
					key := "bench/" + store.Seq(atomic.AddUint64(&n, 1))
					return f.Update(context.Background(), func(tx store.Tx) error { return tx.Set(key, value) })
				}, b)
			}
			b.ReportMetric(float64(rawTime)/float64(storeTime), "raw-ratio")
			b.ReportMetric(float64(n)/storeTime.Seconds(), "puts/s")
			b.ReportMetric(float64(n)/rawTime.Seconds(), "raw-puts/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// perform shares n operations among writers and returns how long it took.
func perform(writers, n int, op func() error, b *testing.B) time.Duration {
	var left atomic.Int64
	left.Store(int64(n))
	start := time.Now()
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := op(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

// rawLog is a group commit with nothing around it: length, value, length,
// value.
type rawLog struct {
	file *os.File
	mu   sync.Mutex
	buf  []byte
	wait []chan error
	wake chan struct{}
}

func openRaw(b *testing.B) *rawLog {
	b.Helper()
	file, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	l := &rawLog{file: file, wake: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	wg.Go(l.run)
	b.Cleanup(func() {
		close(l.wake)
		wg.Wait()
		file.Close()
	})
	return l
}

func (l *rawLog) put(value []byte) error {
	answer := make(chan error, 1)
	l.mu.Lock()
	l.buf = binary.BigEndian.AppendUint32(l.buf, uint32(len(value)))
	l.buf = append(l.buf, value...)
	l.wait = append(l.wait, answer)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return <-answer
}

func (l *rawLog) run() {
	var buf []byte
	var wait []chan error
	for range l.wake {
		l.mu.Lock()
		buf, l.buf = l.buf, buf[:0]
		wait, l.wait = l.wait, wait[:0]
		l.mu.Unlock()
		_, err := l.file.Write(buf)
		if err == nil && len(buf) > 0 {
			err = unix.Fdatasync(int(l.file.Fd()))
		}
		for _, answer := range wait {
			answer <- err
		}
	}
}
