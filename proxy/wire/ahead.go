package wire

import (
	"bytes"
	"math"
	"runtime"
)

// aheadFrom is how many bytes must be left of a body for its end to be worth a
// goroutine. A third of that is read in the time that one takes to wake.
const aheadFrom = 192 << 10

// An ahead is the rest of an array, scanned beside what comes before it. Most of
// a large request is one array, the conversation, whose elements look alike. So
// one that lies half way can be found without reading what comes before it: by
// its first key. That is a guess, for the same bytes may lie in a string or
// deeper, and it counts only where the scanner comes to that very place and
// expects an element of an array there: then what is there says the same,
// whatever came before it. Otherwise, and wherever something is wrong, the
// scanner goes through it all by itself.
type ahead struct {
	at, depth int // of the element where it begins
	s         *scanner
	said      said
	done      chan struct{} // closed once end is set
	end       int           // behind the array's closing bracket; 0 where there was an error
}

// mayGoAhead has a large body scanned in two places at once.
func (s *scanner) mayGoAhead(from int) {
	s.aheadFrom, s.watch = from, math.MaxInt
	if len(s.b) > from && runtime.GOMAXPROCS(0) > 1 {
		s.watch = 0
	}
}

// aheadTries is how many arrays are looked into for one that is long.
const aheadTries = 8

// watched is called with the place of an element from s.watch on. It reports
// whether the rest of the array has been scanned, and where that ends.
func (s *scanner) watched(i, depth int) (end int, ok bool) {
	a := s.ahead
	if a == nil {
		s.goAhead(i, depth)
		return 0, false
	}
	s.watch = math.MaxInt
	if i != a.at || depth != a.depth {
		return 0, false
	}
	<-a.done
	if a.end == 0 {
		return 0, false
	}
	s.how |= a.s.how
	for n, w := range a.said {
		s.said[n] |= w
	}
	return a.end, true
}

// goAhead looks for an element like the one at i half way through what will be
// left once a goroutine is awake, and begins there.
func (s *scanner) goAhead(i, depth int) {
	s.watch = math.MaxInt
	rest := len(s.b) - i
	if rest < s.aheadFrom {
		return
	}
	if s.tried++; s.tried < aheadTries {
		s.watch = i + 1
	}
	at := likeElement(s.b, i, i+rest/2+s.aheadFrom/3)
	if at < 0 {
		return
	}
	a := &ahead{at: at, depth: depth, done: make(chan struct{})}
	a.s = &scanner{b: s.b, halves: s.halves, said: &a.said, watch: math.MaxInt}
	if s.alike != nil {
		a.s.alike = new(alike)
	}
	s.ahead, s.watch = a, at
	go a.scan()
	// What was started last waits for its own thread: another one takes it from
	// there only after a sleep, in which a third of the work could be done.
	go func() {}()
}

// likeElement returns the place, from from on, of an object that begins with the
// same key as the one at i and follows on a comma, or -1.
func likeElement(b []byte, i, from int) int {
	const (
		longest  = 64       // bytes, of a key
		farthest = 64 << 10 // bytes, that are searched
	)
	if !bytes.HasPrefix(b[i:], []byte(`{"`)) {
		return -1
	}
	n := bytes.IndexByte(b[i+2:min(i+2+longest, len(b))], '"')
	if n < 0 {
		return -1
	}
	mark := b[i : i+2+n+1]
	b = b[:min(from+farthest, len(b))]
	for range aheadTries {
		n := bytes.Index(b[from:], mark)
		if n < 0 {
			return -1
		}
		at := from + n
		if before := bytes.TrimRight(b[at-min(at, longest):at], " \t\r\n"); bytes.HasSuffix(before, []byte(",")) {
			return at
		}
		from = at + 1
	}
	return -1
}

// scan never brings the process down: what fails here is left to the request's
// own goroutine.
func (a *ahead) scan() {
	defer close(a.done)
	defer func() {
		if recover() != nil {
			a.end = 0
		}
	}()
	if end, err := a.s.elements(a.at, a.depth); err == nil {
		a.end = end
	}
}

// join waits for what was begun.
func (s *scanner) join() {
	if s.ahead != nil {
		<-s.ahead.done
	}
}
