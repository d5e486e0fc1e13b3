package record

import "crypto/rand"

// idLetters has neither vowels, so that ids form no words, nor characters that
// people mistake for one another.
const idLetters = "23456789bcdfghjkmnpqrstvwxyz"

// newID returns an id that people can read and type, with 86 random bits:
// "k7f2m9-xqbtr4-c3vwz8".
func NewID() string {
	const groups, size = 3, 6
	id := make([]byte, 0, groups*size+groups-1)
	var random [32]byte
	for n := 0; n < groups*size; {
		rand.Read(random[:]) // never fails: see crypto/rand
		for _, b := range random {
			if n == groups*size {
				break
			}
			if int(b) >= 256/len(idLetters)*len(idLetters) {
				continue // keeps every letter equally likely
			}
			if n > 0 && n%size == 0 {
				id = append(id, '-')
			}
			id = append(id, idLetters[int(b)%len(idLetters)])
			n++
		}
	}
	return string(id)
}
