// Package environ reads the trace that a process was started in, from the variables that
// OpenTelemetry has for it. It imports next to nothing, for hooks have to start fast.
package environ

import "strings"

// maxState bounds a tracestate, in bytes: what everybody has to pass on by W3C Trace Context.
const maxState = 512

// Tell tells set the headers of W3C Trace Context that TRACEPARENT and TRACESTATE stand for.
// It tells nothing where there is no trace, or none that can be read.
func Tell(getenv func(string) string, set func(name, value string)) {
	parent := getenv("TRACEPARENT")
	if !isParent(parent) {
		return
	}
	set("Traceparent", parent)
	if state := getenv("TRACESTATE"); state != "" && len(state) <= maxState && !strings.ContainsFunc(state, func(c rune) bool { return c < ' ' || c > '~' }) {
		set("Tracestate", state)
	}
}

// isParent reports whether a text has the form of a traceparent of version 00:
// 00, a trace's id, a span's, and flags, in lower-case hexadecimal.
func isParent(s string) bool {
	fields := strings.Split(s, "-")
	if len(fields) != 4 || fields[0] != "00" {
		return false
	}
	for i, length := range []int{2, 32, 16, 2} {
		if len(fields[i]) != length || strings.Trim(fields[i], "0123456789abcdef") != "" {
			return false
		}
	}
	return true
}
