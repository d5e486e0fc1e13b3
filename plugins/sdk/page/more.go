package page

import "strconv"

// MoreWait says how many requests wait besides the one that is shown: "1 more waits".
func MoreWait(n int) string {
	if n == 1 {
		return "1 more waits"
	}
	return strconv.Itoa(n) + " more wait"
}
