package secrets

// A keywordFinder finds many keywords in one pass over a text, without regard
// to the case of ASCII letters (Aho and Corasick, "Efficient string matching",
// 1975). It never changes once it is made.
type keywordFinder struct {
	class [256]uint8 // of each byte; 0 is every byte that no keyword has
	width int        // how many classes there are
	next  []int32    // the state after each state and class
	ends  [][]int32  // by state, the keywords that end in it
}

// newKeywordFinder makes a finder of keywords, which are in lower case.
func newKeywordFinder(keywords []string) *keywordFinder {
	f := &keywordFinder{width: 1}
	for _, k := range keywords {
		for i := range len(k) {
			if c := k[i]; f.class[c] == 0 {
				f.class[c] = uint8(f.width)
				if c >= 'a' && c <= 'z' {
					f.class[c-'a'+'A'] = uint8(f.width)
				}
				f.width++
			}
		}
	}
	f.grow()
	for n, k := range keywords {
		state := int32(0)
		for i := range len(k) {
			at := int(state)*f.width + int(f.class[k[i]])
			if f.next[at] == 0 {
				f.next[at] = f.grow()
			}
			state = f.next[at]
		}
		f.ends[state] = append(f.ends[state], int32(n))
	}
	f.link()
	return f
}

// grow adds a state.
func (f *keywordFinder) grow() int32 {
	f.next = append(f.next, make([]int32, f.width)...)
	f.ends = append(f.ends, nil)
	return int32(len(f.ends) - 1)
}

// link completes the states, the nearest to the start first: where a keyword
// ends, the longest part of it that begins another goes on.
func (f *keywordFinder) link() {
	fall := make([]int32, len(f.ends))
	var queue []int32
	for _, s := range f.next[:f.width] {
		if s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		f.ends[state] = append(f.ends[state], f.ends[fall[state]]...)
		for c := range f.width {
			at, behind := int(state)*f.width+c, f.next[int(fall[state])*f.width+c]
			if s := f.next[at]; s != 0 {
				fall[s] = behind
				queue = append(queue, s)
				continue
			}
			f.next[at] = behind
		}
	}
}

// each calls found with the index of every keyword and where it ends, in the
// order in which they end.
func (f *keywordFinder) each(s string, found func(keyword, end int)) {
	state := int32(0)
	for i := range len(s) {
		state = f.next[int(state)*f.width+int(f.class[s[i]])]
		for _, k := range f.ends[state] {
			found(int(k), i+1)
		}
	}
}
