package wire

import "math"

// ReadInTwo is [ReadDocument] that reads even small bodies in two places at
// once where it finds a second one; in one only where not.
func ReadInTwo(body []byte, two bool) (*Document, error) {
	if two {
		return readDocument(body, 0)
	}
	return readDocument(body, math.MaxInt)
}
