package holdgate

import "strings"

// Closest is the known word that was probably meant by one that is not known.
// Empty: none is near.
func Closest(word string, known []string) string {
	best, least := "", 1+len(word)/4
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d <= least {
			best, least = k, d-1
		}
	}
	return best
}

// distance counts the letters to add, drop, change or swap with the next to make
// b of a.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
