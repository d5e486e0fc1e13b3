package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden screens")

// onScreen runs holdgate on a terminal of 80x24, types the answer where it is asked, and
// returns all that the terminal showed.
func onScreen(t *testing.T, args []string, answer string) string {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer screen.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NO_COLOR", "1")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		execute(ctx, slices.Concat(alone, args), tty, tty, tty)
		tty.Close()
	}()
	var shown strings.Builder
	b := make([]byte, 1)
	for {
		if _, err := screen.Read(b); err != nil {
			break // the command has ended, and with it its terminal
		}
		shown.Write(b)
		if strings.HasSuffix(shown.String(), " pending: ") {
			if _, err := io.WriteString(screen, answer+"\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	<-done
	return strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

var (
	counted = regexp.MustCompile(`\b59m\d\ds`)
	clocked = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
)

// TestScreensThatAsk holds what a person sees who approves on a terminal: one call, one
// whose target is typed, and several at once.
func TestScreensThatAsk(t *testing.T) {
	for name, c := range map[string]struct {
		calls  []string
		answer string
	}{
		"approve":          {[]string{"save"}, "approve"},
		"approve-critical": {[]string{"critical"}, "no"},
		"approve-several":  {[]string{"delete", "other", "save"}, "approve"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSidecar(t)
			args := []string{"approve", "--state-dir", s.dir}
			var chance []string // what is made by it, and what stands for that
			for i, call := range c.calls {
				r, err := s.hold(call)
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, r.ID)
				chance = append(chance, r.ID, fmt.Sprintf("%0*d", len(r.ID), i+1), r.Call.Digest.Short(), fmt.Sprintf("%0*d", len(r.Call.Digest.Short()), i+1))
			}
			host, err := os.Hostname()
			if err != nil {
				t.Fatal(err)
			}
			chance = append(chance, ", on "+host+"\n", ", on HOST\n")
			got := strings.NewReplacer(chance...).Replace(onScreen(t, args, c.answer))
			got = clocked.ReplaceAllString(counted.ReplaceAllString(got, "59mSSs"), "YYYY-MM-DD HH:MM:SS")
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}
