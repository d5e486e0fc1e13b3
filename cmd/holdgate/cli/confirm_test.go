package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// onTerminal runs holdgate on a terminal, types ahead before the question is
// shown and answer afterwards, and returns the exit code and what was printed.
func onTerminal(t *testing.T, args []string, ahead, answer string) (int, string) {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer keys.Close()
	defer tty.Close()
	if _, err := io.WriteString(keys, ahead); err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, slices.Concat(alone, args), tty, w, w)
		w.Close()
	}()
	var printed strings.Builder
	in := bufio.NewReader(out)
	for {
		b, err := in.ReadByte()
		if err != nil {
			break
		}
		printed.WriteByte(b)
		if strings.HasSuffix(printed.String(), " pending: ") {
			if _, err := io.WriteString(keys, answer); err != nil {
				t.Fatal(err)
			}
		}
	}
	return <-code, printed.String()
}

func TestApproveWithoutAnIDAsksOnTheTerminal(t *testing.T) {
	tests := []struct {
		name          string
		call          string
		ahead, answer string
		code          int
		status        holdgate.Status
	}{
		{"the word", "delete", "", "approve\n", command.ExitDone, holdgate.StatusApproved},
		{"no", "delete", "", "no\n", command.ExitFailed, holdgate.StatusPending},
		{"nothing", "delete", "", "\n", command.ExitFailed, holdgate.StatusPending},
		{"a key that was meant for something else", "delete", "", "y\n", command.ExitFailed, holdgate.StatusPending},
		{"what was typed before the question is no answer", "delete", "approve\napprove\n", "\n", command.ExitFailed, holdgate.StatusPending},
		{"that is not enough where the risk is critical", "critical", "", "approve\n", command.ExitFailed, holdgate.StatusPending},
		{"what it is about is", "critical", "", "approve rm /\n", command.ExitDone, holdgate.StatusApproved},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startSidecar(t)
			r, err := s.hold(tt.call)
			if err != nil {
				t.Fatal(err)
			}
			code, printed := onTerminal(t, []string{"approve", "--state-dir", s.dir}, tt.ahead, tt.answer)
			if code != tt.code {
				t.Errorf("exit code %d, want %d; printed:\n%s", code, tt.code, printed)
			}
			if !strings.Contains(printed, r.Briefing.Summary) {
				t.Errorf("the call was not shown:\n%s", printed)
			}
			list, err := s.queue.List(t.Context(), approvals.Filter{})
			if err != nil || len(list) != 1 || list[0].Status != tt.status {
				t.Errorf("the queue holds %+v (%v), want one %s", list, err, tt.status)
			}
		})
	}
}

func TestTheOnlyRequestIsNotDeniedUnseen(t *testing.T) {
	for answer, want := range map[string]holdgate.Status{"deny\n": holdgate.StatusDenied, "d\n": holdgate.StatusDenied, "\n": holdgate.StatusPending, "approve\n": holdgate.StatusPending} {
		s := startSidecar(t)
		r, err := s.hold("delete")
		if err != nil {
			t.Fatal(err)
		}
		code, printed := onTerminal(t, []string{"deny", "--reason", "not today", "--state-dir", s.dir}, "deny\n", answer)
		if (code == command.ExitDone) != (want == holdgate.StatusDenied) || !strings.Contains(printed, r.Briefing.Summary) || !strings.Contains(printed, "deny this call? Type d or deny to do it") {
			t.Errorf("after %q: exit code %d; printed:\n%s", answer, code, printed)
		}
		if r, err = s.queue.Request(t.Context(), r.ID); err != nil || r.Status != want {
			t.Errorf("after %q the request is %s, %v; want %s", answer, r.Status, err, want)
		}
	}
}

func TestWhatLetsACallGoOnAsksOnTheTerminal(t *testing.T) {
	approve, choose := []string{"approve", "ID"}, []string{"choose", "ID", "staging"}
	edit := []string{"edit", "ID", "--set", "command=ls"}
	worse := []string{"edit", "ID", "--set", "command=mkfs.ext4 /dev/sdb1"}
	digest := []string{"--digest", "SHORT"}
	yes := append(digest, "--yes")
	tests := []struct {
		name          string
		command       []string
		call          string
		ahead, answer string
		asks          string // what is asked for
		code          int
		status        holdgate.Status
	}{
		{"another word", approve, "delete", "", "yes\n", "approve", command.ExitFailed, holdgate.StatusPending},
		{"the word itself", approve, "delete", "", "approve\n", "approve", command.ExitDone, holdgate.StatusApproved},
		{"a key does not for high risk", approve, "delete", "", "a\n", "approve", command.ExitFailed, holdgate.StatusPending},
		{"a key does for medium risk", approve, "save", "", "a\n", "a or approve", command.ExitDone, holdgate.StatusApproved},
		{"so does the word", approve, "save", "", "approve\n", "a or approve", command.ExitDone, holdgate.StatusApproved},
		{"no", approve, "delete", "", "no\n", "approve", command.ExitFailed, holdgate.StatusPending},
		{"nothing", approve, "delete", "", "\n", "approve", command.ExitFailed, holdgate.StatusPending},
		{"what was typed before is no answer", approve, "delete", "approve\n", "\n", "approve", command.ExitFailed, holdgate.StatusPending},
		{"the digest does not answer", slices.Concat(approve, digest), "delete", "", "\n", "approve", command.ExitFailed, holdgate.StatusPending},
		{"digest and --yes do", slices.Concat(approve, yes), "delete", "", "", "", command.ExitDone, holdgate.StatusApproved},
		{"--yes alone does not", append(approve, "--yes"), "delete", "", "", "", command.ExitUsage, holdgate.StatusPending},
		{"the word names no target of critical risk", approve, "critical", "", "approve\n", "approve rm /", command.ExitFailed, holdgate.StatusPending},
		{"nothing does neither", approve, "critical", "", "\n", "approve rm /", command.ExitFailed, holdgate.StatusPending},
		{"a word that was typed before", approve, "critical", "approve rm /\n", "\n", "approve rm /", command.ExitFailed, holdgate.StatusPending},
		{"what it is about does", approve, "critical", "", "approve rm /\n", "approve rm /", command.ExitDone, holdgate.StatusApproved},
		{"no flag stands for the name", slices.Concat(approve, yes), "critical", "", "\n", "approve rm /", command.ExitFailed, holdgate.StatusPending},
		{"an option that lets it go on", choose, "choice", "", "\n", "approve", command.ExitFailed, holdgate.StatusPending},
		{"and is confirmed", choose, "choice", "", "approve\n", "approve", command.ExitDone, holdgate.StatusApproved},
		{"an option that does not", []string{"choose", "ID", "nowhere"}, "choice", "", "", "", command.ExitDone, holdgate.StatusDenied},
		{"an edit that passes", edit, "delete", "", "\n", "a or approve", command.ExitFailed, holdgate.StatusPending},
		{"and is confirmed", edit, "delete", "", "a\n", "a or approve", command.ExitDone, holdgate.StatusApproved},
		{"an edit into what is worse", worse, "delete", "", "approve\n", "approve /dev/sdb1", command.ExitFailed, holdgate.StatusPending},
		{"takes what that takes", worse, "delete", "", "approve /dev/sdb1\n", "approve /dev/sdb1", command.ExitDone, holdgate.StatusApproved},
		{"and no flag stands for it", slices.Concat(worse, yes), "delete", "", "\n", "approve /dev/sdb1", command.ExitFailed, holdgate.StatusPending},
		{"an edit that was seen", slices.Concat(edit, yes), "delete", "", "", "", command.ExitDone, holdgate.StatusApproved},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startSidecar(t)
			r, err := s.hold(tt.call)
			if err != nil {
				t.Fatal(err)
			}
			args := append(slices.Clone(tt.command), "--state-dir", s.dir)
			for i, word := range args {
				switch word {
				case "ID":
					args[i] = r.ID
				case "SHORT":
					args[i] = r.Call.Digest.Short()
				}
			}
			code, printed := onTerminal(t, args, tt.ahead, tt.answer)
			if code != tt.code {
				t.Errorf("exit code %d, want %d; printed:\n%s", code, tt.code, printed)
			}
			_, question, _ := strings.Cut(printed, "call? Type ")
			if word, _, _ := strings.Cut(question, " to do it"); word != tt.asks {
				t.Errorf("asked for %q, want %q; printed:\n%s", word, tt.asks, printed)
			}
			if r, err = s.queue.Request(t.Context(), r.ID); err != nil || r.Status != tt.status {
				t.Errorf("the request is %s, %v; want %s", r.Status, err, tt.status)
			}
		})
	}
}

// startSidecar starts a sidecar of its own for a test.
func startSidecar(t *testing.T) *sidecar {
	t.Helper()
	dir := sockettest.Folder(t)
	s := &sidecar{dir: dir}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.stop(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSeveralAreAskedAboutOnce(t *testing.T) {
	for answer, want := range map[string]holdgate.Status{"approve\n": holdgate.StatusApproved, "yes\n": holdgate.StatusPending} {
		s := startSidecar(t)
		args := []string{"approve", "--state-dir", s.dir}
		for _, name := range []string{"delete", "other"} {
			r, err := s.hold(name)
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, r.ID)
		}
		late, err := s.hold("delete")
		if err != nil {
			t.Fatal(err)
		}
		_, printed := onTerminal(t, args, "approve\n", answer)
		if n := strings.Count(printed, "approve these 2 calls?"); n != 1 || !strings.Contains(printed, "rm -rf build") || !strings.Contains(printed, "rm -rf dist") {
			t.Errorf("asked %d times:\n%s", n, printed)
		}
		for _, id := range args[3:] {
			if r, err := s.queue.Request(t.Context(), id); err != nil || r.Status != want {
				t.Errorf("after %q request %s is %s, %v; want %s", answer, id, r.Status, err, want)
			}
		}
		if r, err := s.queue.Request(t.Context(), late.ID); err != nil || r.Status != holdgate.StatusPending {
			t.Errorf("one that was not named is %s, %v", r.Status, err)
		}
	}
}

func TestEditInAnEditor(t *testing.T) {
	tests := []struct {
		name         string
		editor       string // a shell script; $1 is the file
		answers      string
		code         int
		status       holdgate.Status
		want, unseen string // in what is printed
	}{
		{"a change that is confirmed", `sed -i s,build,build/tmp, "$1"`, "approve\n", command.ExitDone, holdgate.StatusApproved, "+ /command: rm -rf build/tmp", ""},
		{"a change that is not", `sed -i s,build,build/tmp, "$1"`, "no\n", command.ExitFailed, holdgate.StatusPending, "stays pending", ""},
		{"no change", `true`, "yes\n", command.ExitFailed, holdgate.StatusPending, "nothing was changed", "edit this call?"},
		{"an editor that fails", `exit 3`, "yes\n", command.ExitFailed, holdgate.StatusPending, "the editor (", "edit this call?"},
		{"what is no JSON, and given up", `echo '{' >"$1"`, "no\n", command.ExitFailed, holdgate.StatusPending, "not usable", "edit this call?"},
		{"a change that others could read", `test "$(stat -c %a "$1")$(stat -c %a "$(dirname "$1")")" = 600700 && sed -i s,build,b, "$1"`, "approve\n", command.ExitDone, holdgate.StatusApproved, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startSidecar(t)
			r, err := s.hold("delete")
			if err != nil {
				t.Fatal(err)
			}
			script := filepath.Join(t.TempDir(), "editor")
			if err := os.WriteFile(script, []byte("#!/bin/sh\n"+tt.editor+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			left := t.TempDir()
			t.Setenv("XDG_RUNTIME_DIR", left)
			t.Setenv("EDITOR", "false")
			t.Setenv("VISUAL", "sh "+script)
			code, printed := onTerminal(t, []string{"edit", "--state-dir", s.dir}, "", tt.answers)
			if code != tt.code || !strings.Contains(printed, tt.want) || tt.unseen != "" && strings.Contains(printed, tt.unseen) {
				t.Errorf("exit code %d, want %d; printed:\n%s", code, tt.code, printed)
			}
			if r, err = s.queue.Request(t.Context(), r.ID); err != nil || r.Status != tt.status {
				t.Errorf("the request is %s, %v; want %s", r.Status, err, tt.status)
			}
			if files, err := os.ReadDir(left); err != nil || len(files) > 0 {
				t.Errorf("left behind: %v, %v", files, err)
			}
		})
	}
}

func TestAnInterruptedQuestionDecidesNothing(t *testing.T) {
	keys, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer tty.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if line, err := command.ReadLine(ctx, tty); err == nil {
		t.Errorf("read %q from a terminal that nobody typed on", line)
	}
	keys.Close() // ends the read that was left to itself
}
