package outcome

import (
	"slices"
	"strings"
)

// Acts reports whether a name says that something is done that should be
// looked at: what the project's own code is asked for is not read.
func Acts(name string) bool {
	parts := strings.FieldsFunc(strings.ToLower(camel(name)), func(r rune) bool { return r == '_' })
	for i, part := range parts {
		if part == "format" && i+1 < len(parts) && !slices.Contains([]string{"disk", "drive", "volume", "partition"}, parts[i+1]) {
			continue
		}
		if slices.Contains(actingVerbs, part) && !(i > 0 && slices.Contains(lookingVerbs, parts[0]) && slices.Contains(alsoNouns, part)) {
			return true
		}
	}
	return false
}

var (
	actingVerbs = strings.Fields("delete drop remove destroy purge truncate flush reset wipe send publish deploy pay charge refund exec execute system popen spawn eval command post put patch migrate migration downgrade upgrade kill push upload release cancel revoke rotate rename move write save commit unlink rmtree format grant sql query shell subprocess os sys secret secrets token password credentials env environ settings call clear erase seed import")
	// alsoNouns are those of them that are things, too: get_post looks at one.
	alsoNouns = strings.Fields("post patch query command call settings env environ format import seed grant")
	// lookingVerbs begin names of functions that look at what the rest names.
	lookingVerbs = strings.Fields("get list find parse format render count is has to from build make compute calculate show load read describe validate check normalize")
)

// camel puts an underscore before each capital letter.
func camel(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return b.String()
}
