package wire

import "math"

// ReadInTwo is [ReadDocument] that reads even small bodies in two places at
// once where it finds a second one; in one only where not.
func ReadInTwo(body []byte, two bool) (*Document, error) {
	if two {
		return readDocument(body, 0, math.MaxInt)
	}
	return readDocument(body, math.MaxInt, math.MaxInt)
}

// ReadAlike is [ReadDocument] that looks even in small bodies for elements that
// are alike, and reads them in two places where two is set.
func ReadAlike(body []byte, two bool) (*Document, error) {
	if two {
		return readDocument(body, 0, 0)
	}
	return readDocument(body, math.MaxInt, 0)
}
