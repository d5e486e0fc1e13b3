// Package folder says what lies where a call happens: how many files a deletion takes,
// which of them git does not keep, whether a package is new to the project, and which
// branch is checked out.
//
// The agent may write all that is read here. So it is read as a stranger's: bounded in
// size and number, never waited for, and no program runs for it, git least of all, for the
// agent writes its configuration too. And nothing here says that a call is harmless: a
// file that git keeps, or a package that the project names, goes without a word. What
// is not certain is left unsaid.
package folder

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

const (
	maxUp     = 32       // how many folders above one are looked at
	maxFile   = 16 << 20 // bytes of a file that is read whole
	maxBranch = 200      // bytes of a branch's name
)

// Complete adds to a briefing what lies in the folders that the decision's call is about.
// Where policy hides a part of the call nothing is added.
func Complete(b *briefing.Briefing, d holdgate.Decision) {
	f := d.Facts
	if f == nil || d.Hides() || len(f.ParseErrors) > 0 || b.Undo == "" {
		return
	}
	if g := deleted(f); g.files > 0 {
		g.tell(b, f)
	}
	for i, e := range f.Effects[:min(len(f.Effects), len(b.Effects))] {
		if which := unnamed(f, e); which != "" {
			say(b, i, func(says string) string { return inBrackets(says, which) })
		}
	}
}

// say writes an effect anew, and in the summary, which begins with the first and may go on
// with another. What has been cut, or would be, stays as it is.
func say(b *briefing.Briefing, i int, write func(string) string) (said bool) {
	old := b.Effects[i].Says
	says := write(old)
	if says == old || strings.HasSuffix(old, "…") || utf8.RuneCountInString(says) > briefing.MaxSummary {
		return false
	}
	b.Effects[i].Says = says
	sum := b.Summary
	if i > 0 {
		sum = strings.Replace(sum, briefing.Also(old), briefing.Also(says), 1)
	} else if rest, ok := strings.CutPrefix(sum, old); ok {
		sum = says + rest
	}
	if utf8.RuneCountInString(sum) <= briefing.MaxSummary {
		b.Summary = sum
	}
	return true
}

// inBrackets puts words before those in brackets at the end of a sentence.
func inBrackets(says, words string) string {
	if at := strings.LastIndex(says, " ("); at >= 0 && strings.HasSuffix(says, ")") {
		return says[:at] + " (" + words + ", " + says[at+2:]
	}
	return says + " (" + words + ")"
}

// Branch is what git has checked out in the folder or in one above it, or nothing.
func Branch(dir string) string {
	_, git := repository(dir)
	if git == "" {
		return ""
	}
	head := firstLine(filepath.Join(git, "HEAD"))
	if name, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		return name[:min(len(name), maxBranch)]
	}
	if len(head) < 40 || strings.Trim(head, "0123456789abcdef") != "" {
		return "" // no commit, and perhaps a secret that it was made to point to
	}
	return head[:12]
}

// repository finds the working tree of git that a folder lies in, and where git keeps what
// is the tree's own: its HEAD and its index. Both are empty where there is none.
func repository(dir string) (top, git string) {
	for range maxUp {
		git := filepath.Join(dir, ".git")
		if link, ok := strings.CutPrefix(firstLine(git), "gitdir: "); ok { // a working tree beside the repository
			if git = link; !filepath.IsAbs(git) {
				git = filepath.Join(dir, git)
			}
		}
		if firstLine(filepath.Join(git, "HEAD")) != "" {
			return dir, git
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return "", ""
}

// firstLine is the first line of a small file, or nothing.
func firstLine(file string) string {
	line, _, _ := strings.Cut(string(read(file, 512, true)), "\n")
	return strings.TrimSpace(line)
}

// read returns what is in a file of at most so many bytes, or its beginning where that will
// do; nil where it is larger, or no file. It does not wait for what is no file.
func read(file string, most int64, beginning bool) []byte {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil
	case int64(len(body)) > most && !beginning:
		return nil
	}
	return body[:min(int64(len(body)), most)]
}
