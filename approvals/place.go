package approvals

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
)

// maxTask is how many characters of what the user has asked for are shown.
const maxTask = 200

// placeOf says where a call happens, for whom and for what, safe to show. The folder is known
// only of agents on this machine. Where policy redacts parts of the call the task is
// left out, for the user may have named them.
func placeOf(c holdgate.Call, d holdgate.Decision, task string) briefing.Place {
	if len(d.Redact) > 0 {
		task = ""
	}
	p := briefing.Place{Person: holdgate.Visible(c.Agent.Starter), Task: quotedTask(task)}
	if d.Facts == nil || d.Facts.Dir == "" {
		return p
	}
	p.Folder, p.Branch = holdgate.Visible(d.Facts.Dir), holdgate.Visible(branch(d.Facts.Dir))
	if host, err := os.Hostname(); err == nil {
		p.Host = holdgate.Visible(host)
	}
	return p
}

// quotedTask is the beginning of a text, on one line and in quotes.
func quotedTask(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return ""
	}
	if utf8.RuneCountInString(s) > maxTask {
		s = string([]rune(s)[:maxTask-1]) + "…"
	}
	return "“" + holdgate.Visible(s) + "”"
}

// branch is what git has checked out in the folder or in one above it, or nothing.
// The agent may write those files: their beginnings are read, and only where they
// are files.
func branch(dir string) string {
	for range 32 {
		git := filepath.Join(dir, ".git")
		if link, ok := strings.CutPrefix(firstLine(git), "gitdir: "); ok { // a working tree beside the repository
			if git = link; !filepath.IsAbs(git) {
				git = filepath.Join(dir, git)
			}
		}
		if head := firstLine(filepath.Join(git, "HEAD")); head != "" {
			if name, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
				return name[:min(len(name), maxTask)]
			}
			if len(head) < 40 || strings.Trim(head, "0123456789abcdef") != "" {
				return "" // no commit, and perhaps a secret that it was made to point to
			}
			return head[:12]
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
	return ""
}

// firstLine is the first line of a small file, or nothing. It does not wait for
// what is no file.
func firstLine(file string) string {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	body, err := io.ReadAll(io.LimitReader(f, 512))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(body), "\n")
	return strings.TrimSpace(line)
}
