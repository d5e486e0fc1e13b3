package wire

// alikeFrom is how long a body is, in bytes, whose elements are looked at for
// being alike. A shorter one is read in the time that this takes to set up.
const alikeFrom = 16 << 10

// An alike knows what the elements of arrays in a document look like. Those of a
// conversation differ in little but what their strings say. So where an element
// has, byte for byte, all that one of the same array's depth had that was read
// before, but for its strings, and where each of these is a string again, then it
// is an element that would be read in the same way: with the same keys at the
// same places. Its strings are all that is left to read of it. What differs in
// anything else is read as if nothing had come before it, errors too.
type alike struct {
	forms [8]form
	last  int // of the form that fitted last
	next  int // of the one whose place is taken next

	texts   [64]valueText // in the elements that are being read, as they came
	n       int           // how many of them there are
	reading int           // how many elements are being read, one in the other

	missed int // how many elements fitted no form, less those that did
}

// missedMost is how many more elements may fit no form than do before nobody
// looks for any more. It bounds what looking costs.
const missedMost = 256

// A form is an object that was read as an element of an array. The zero value
// fits nothing.
type form struct {
	depth      int // of the array
	start, end int
	texts      [12]valueText
	n          int
}

// A valueText is a string that is the value of a member or an element.
type valueText struct {
	start, end int
	key        uint64 // the signature of the member's name
	member     bool
}

// read takes note of a string that was read.
func (a *alike) read(t valueText) {
	if a.reading > 0 && a.n < len(a.texts) {
		a.texts[a.n] = t
		a.n++
	}
}

// begin is told that an element is about to be read. What it returns is for
// [alike.end].
func (a *alike) begin() (mark int) {
	a.reading++
	return a.n
}

// end takes the element that was read for a form of its own.
func (a *alike) end(b []byte, start, end, depth, mark int) {
	own := a.texts[mark:a.n]
	if b[start] == '{' && len(own) > 0 && len(own) <= len(form{}.texts) {
		f := &a.forms[a.next]
		f.depth, f.start, f.end, f.n = depth, start, end, copy(f.texts[:], own)
		a.last, a.next = a.next, (a.next+1)%len(a.forms)
	}
	if a.reading--; a.reading == 0 {
		a.n = 0
	}
}

// fits looks whether the element at i has a form that is known, reads its
// strings, and returns the place behind it.
func (s *scanner) fits(i, depth int) (end int, ok bool) {
	a := s.alike
	for n := range a.forms {
		at := (a.last + n) % len(a.forms)
		if f := &a.forms[at]; f.depth == depth {
			if end, ok = s.fitsForm(f, i); ok {
				a.last = at
				a.missed = max(a.missed-1, 0)
				return end, true
			}
		}
	}
	if a.missed++; a.missed == missedMost {
		s.alike = nil
	}
	return 0, false
}

func (s *scanner) fitsForm(f *form, i int) (end int, ok bool) {
	from, kept := f.start, s.alike.n
	for _, t := range f.texts[:f.n] {
		if i, ok = same(s.b, i, from, t.start); !ok || i >= len(s.b) || s.b[i] != '"' {
			s.alike.n = kept
			return 0, false
		}
		from = t.end
		end, short := 0, t.end-t.start <= longestWord+2
		if short {
			end, ok = same(s.b, i, t.start, t.end)
		}
		if !short || !ok {
			var how written
			var err *JSONError
			if end, how, err = text(s.b, i, s.halves); err != nil {
				s.alike.n = kept
				return 0, false
			}
			s.how |= how
			if t.member {
				s.noteText(t.key, i, end)
			}
		}
		t.start, t.end = i, end
		s.alike.read(t)
		i = end
	}
	if i, ok = same(s.b, i, from, f.end); !ok {
		s.alike.n = kept
	}
	return i, ok
}

// same reports whether b[from:to] stands at i too, and returns the place behind
// it.
func same(b []byte, i, from, to int) (end int, ok bool) {
	end = i + to - from
	return end, end <= len(b) && string(b[i:end]) == string(b[from:to])
}
