package sessions

import (
	"fmt"
	"strings"
)

// maxResults is how many results of tools say how a session's work goes of late.
const maxResults = 20

// Results are how the latest tools of a session ended, the latest last: a '+' is
// one that did what it was asked, a '-' one whose result is an error.
type Results string

// And is the results with one more.
func (r Results) And(well bool) Results {
	if well {
		return r.Plus("+")
	}
	return r.Plus("-")
}

// Plus is the latest of both, where o are later.
func (r Results) Plus(o Results) Results {
	all := r + o
	return all[max(0, len(all)-maxResults):]
}

// Ended says how many tools ended well, and how many did not.
type Ended struct {
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
}

// Count says how many there are of each.
func (r Results) Count() Ended {
	return Ended{strings.Count(string(r), "+"), strings.Count(string(r), "-")}
}

// String says it in words; empty where there are none.
func (e Ended) String() string {
	switch all := e.Succeeded + e.Failed; {
	case all == 0:
		return ""
	case e.Failed == 0:
		return fmt.Sprintf("none of the latest %d results was an error", all)
	default:
		return fmt.Sprintf("%d of the latest %d results were errors", e.Failed, all)
	}
}
