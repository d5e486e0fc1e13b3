// Package session finds the processes of a session: what a channel has started, however
// many processes lie between.
package session

import (
	"os"
	"strconv"
	"strings"
)

// Members returns the processes of the session that a process leads, or led, and that have
// not ended. One that has left for a session of its own is not among them. Systems other
// than Linux do not list them.
func Members(leader int) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// What stands behind the program's name, which may hold anything: state,
		// parent, group, session.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
		if f := strings.Fields(rest); len(f) > 3 && f[0] != "Z" && f[3] == strconv.Itoa(leader) {
			pids = append(pids, pid)
		}
	}
	return pids
}
