package keepalive

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

func TestABurstIsTakenAsItCame(t *testing.T) {
	want := strings.Repeat("event: ping\ndata: {}\n\n", 10_000)
	for name, src := range map[string]io.Reader{
		"all at once":                 strings.NewReader(want),
		"a byte at a time":            iotest.OneByteReader(strings.NewReader(want)),
		"the end with the last":       iotest.DataErrReader(strings.NewReader(want)),
		"more than there is room for": io.MultiReader(strings.NewReader(want[:burstSize]), strings.NewReader(want[burstSize:])),
	} {
		t.Run(name, func(t *testing.T) {
			b := ReadBurst(src, NewMemory())
			defer b.Stop(func() { t.Error("the reading had to be cut") })
			var got []byte
			for {
				buf, err := b.Next()
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Error(err)
					}
					break
				}
				if len(buf) == 0 {
					t.Fatal("nothing had come, and it was returned")
				}
				got = append(got, buf...)
			}
			if string(got) != want {
				t.Errorf("got %d bytes, want %d, or others", len(got), len(want))
			}
		})
	}
}

func TestWhatComesWhileNobodyTakesItIsTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		b := ReadBurst(r, NewMemory())
		defer b.Stop(func() { _ = r.Close() })
		for _, burst := range [][]string{{"a"}, {"b", "c", "d"}, {"e"}} {
			for _, s := range burst {
				_, _ = io.WriteString(w, s)
			}
			synctest.Wait()
			if got, err := b.Next(); string(got) != strings.Join(burst, "") || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, burst)
			}
		}
	})
}

func TestABurstReadsNoFurtherAheadThanItHasRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read int
		src := readerFunc(func(p []byte) (int, error) { read += len(p); return len(p), nil })
		b := ReadBurst(src, NewMemory())
		synctest.Wait()
		if most := burstSize + 3*(16<<10); read > most {
			t.Errorf("%d bytes were read, and nobody took one", read)
		}
		before := read
		if _, err := b.Next(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if read == before {
			t.Error("nothing is read once there is room")
		}
		b.Stop(func() {})
	})
}

func TestABurstWhoseReadingIsCutEnds(t *testing.T) {
	r, _ := io.Pipe()
	ReadBurst(r, NewMemory()).Stop(func() { _ = r.CloseWithError(errors.New("cut")) })
}

func TestAPanicOfADecoderIsAnError(t *testing.T) {
	b := ReadBurst(readerFunc(func([]byte) (int, error) { panic("broken table") }), NewMemory())
	defer b.Stop(func() {})
	if _, err := b.Next(); err == nil || !strings.Contains(err.Error(), "broken table") {
		t.Errorf("got %v", err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
