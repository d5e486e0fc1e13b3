package wire

import "github.com/go-json-experiment/json/jsontext"

// RewriteMembers returns a copy of an object in which edit decides what
// becomes of every member: the value that it returns takes the place of the
// member's own, and nil leaves the member out. All other bytes stay, blanks
// too. The object is as for [Members]; for what is no object, or a broken one,
// the result is nil, so that nothing goes on which was to be changed.
func RewriteMembers(object []byte, edit func(Member) []byte) []byte {
	out := make([]byte, 0, len(object)+64)
	end, first := 0, true
	for m, err := range Members(object) {
		if err != nil {
			return nil
		}
		if value := edit(m); value != nil {
			if first && end > 0 { // what stood before it has gone, and its comma goes too
				out = append(out, object[m.Start:m.ValueStart]...)
			} else {
				out = append(out, object[end:m.ValueStart]...)
			}
			out = append(out, value...)
			first = false
		} else if end == 0 {
			out = append(out, object[:m.Start]...)
		}
		end = m.End
	}
	return append(out, object[end:]...)
}

// ReplaceElements returns an array with other elements in the place of some, by
// their numbers from 0.
func ReplaceElements(array []byte, others map[int][]byte) []byte {
	return RewriteElements(array, func(n int, value []byte) []byte {
		if other := others[n]; other != nil {
			return other
		}
		return value
	})
}

// RewriteElements does for the elements of an array what [RewriteMembers]
// does for the members of an object. Edit is given the element's number, from
// 0, and its value.
func RewriteElements(array []byte, edit func(n int, value []byte) []byte) []byte {
	out := make([]byte, 0, len(array)+64)
	end, first, n := 0, true, 0
	for e, err := range Elements(array) {
		if err != nil {
			return nil
		}
		if value := edit(n, e.Value); value != nil {
			if !first || end == 0 {
				out = append(out, array[end:e.Start]...)
			}
			out = append(out, value...)
			first = false
		} else if end == 0 {
			out = append(out, array[:e.Start]...)
		}
		end = e.End
		n++
	}
	return append(out, array[end:]...)
}

// AppendMember returns the object with one more member at its end. The object
// must be one, without blanks behind it, and have no member of that name.
func AppendMember(object []byte, name string, value []byte) []byte {
	empty := true
	for range Members(object) {
		empty = false
		break
	}
	out := append(make([]byte, 0, len(object)+len(name)+len(value)+8), object[:len(object)-1]...)
	if !empty {
		out = append(out, ',')
	}
	out = AppendText(out, name)
	out = append(out, ':')
	out = append(out, value...)
	return append(out, '}')
}

// AppendText appends a text as a JSON string. What is no UTF-8 in it becomes
// the replacement character.
func AppendText(dst []byte, text string) []byte {
	out, err := jsontext.AppendQuote(dst, text)
	_ = err // it speaks of invalid UTF-8 only, which is replaced all the same
	return out
}
