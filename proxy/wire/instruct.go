package wire

// AppendElement puts a value at the end of the array that is an object's member of
// this name. It reports false where there is no such array, or nothing is in it.
func AppendElement(object []byte, name string, value []byte) ([]byte, bool) {
	last := -1
	for _, err := range Elements(Find(object, name)) {
		if err != nil {
			return nil, false
		}
		last++
	}
	if last < 0 {
		return nil, false
	}
	return RewriteMembers(object, func(m Member) []byte {
		if string(m.Name) != name {
			return m.Value
		}
		return RewriteElements(m.Value, func(n int, v []byte) []byte {
			if n != last {
				return v
			}
			out := append([]byte{}, v...)
			return append(append(out, ','), value...)
		})
	}), true
}

// LastElement returns the last value of the array that is an object's member of
// this name, or nil.
func LastElement(object []byte, name string) (last []byte) {
	for e, err := range Elements(Find(object, name)) {
		if err != nil {
			return nil
		}
		last = e.Value
	}
	return last
}
