package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdgate/holdgate/approvals/client"
)

// listening are the state folders of this user's sidecars that run on this machine, as
// Linux tells of sockets that somebody listens at; elsewhere there are none. An agent
// could have opened one: they are for a person to choose from, never to be used unasked.
func listening(table string) (folders []string) {
	text, err := os.ReadFile(table)
	if err != nil {
		return nil
	}
	const accepts = "00010000" // the kernel's flag of a socket that listens
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 8 || f[3] != accepts || filepath.Base(f[7]) != client.SocketName || !filepath.IsAbs(f[7]) {
			continue
		}
		folder := filepath.Dir(f[7])
		if !readable(filepath.Join(folder, client.TokenName)) || slices.Contains(folders, folder) {
			continue // who may not read the token has no use for the sidecar
		}
		folders = append(folders, folder)
	}
	return folders
}

// readable reports whether there is a file that this user may read. An agent could have put a
// pipe in its place, on which others wait.
func readable(path string) bool {
	if at, err := os.Lstat(path); err != nil || !at.Mode().IsRegular() {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// others says how to name sidecars that run with other state folders, or nothing.
func others() string {
	const most = 3
	folders := listening("/proc/net/unix")
	var names []string
	for _, f := range folders[:min(len(folders), most)] {
		names = append(names, "--state-dir "+ShellWord(f))
	}
	switch n := len(folders) - len(names); {
	case len(names) == 0:
		return ""
	case n > 0:
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return "; what runs now: " + strings.Join(names, ", ")
}
