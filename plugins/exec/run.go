package exec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/document"
)

// Bounds of what a command may print: bytes of a line, of what it says on
// standard error, and how long it may take to read a line.
const (
	maxLine  = 64 << 10
	maxSaid  = 2 << 10
	readTime = 2 * time.Second
)

// An event is one line that a command reads.
type event struct {
	Type    string           `json:"type"`
	Request *document.Notice `json:"request,omitempty"`
	Status  string           `json:"status,omitempty"`
	Error   string           `json:"error,omitempty"`
}

// An answer is what a command has printed.
type answer struct {
	said sdk.Answer
	from *run
}

// A run is one process of the command, for one request.
type run struct {
	c      *Channel
	notice sdk.Notice
	cmd    *exec.Cmd
	out    *bufio.Reader
	said   bounded // on standard error

	told    chan struct{} // closed once it has printed something
	stopped chan struct{} // closed once it is to end
	done    chan struct{} // closed after err is set
	err     error

	in   *os.File
	once sync.Once  // closes stopped
	line sync.Mutex // one line at a time
}

// begin starts the process.
func (c *Channel) begin(n sdk.Notice) (*run, error) {
	r := &run{c: c, notice: n, told: make(chan struct{}), stopped: make(chan struct{}), done: make(chan struct{})}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	defer theirs.Close()
	r.in = ours
	r.cmd = exec.Command(c.conf.Command[0], c.conf.Command[1:]...)
	r.cmd.Env, r.cmd.Stdin, r.cmd.Stderr = c.env, theirs, &r.said
	r.cmd.WaitDelay = time.Second
	ownGroup(r.cmd)
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the command: %w", err), ours.Close())
	}
	r.out = bufio.NewReaderSize(out, maxLine)
	return r, nil
}

// tell writes a line to the command. One that reads none, or has closed its
// input, has chosen to.
func (r *run) tell(e event) {
	text, err := json.Marshal(e)
	if err != nil {
		r.c.log.Error("encoding an event", "err", err)
		return
	}
	r.line.Lock()
	defer r.line.Unlock()
	if err := r.in.SetWriteDeadline(time.Now().Add(readTime)); err != nil {
		return
	}
	_, _ = r.in.Write(append(text, '\n'))
}

// wait reads what the command prints, to its end, and notes how it ended.
func (r *run) wait() {
	err := r.read()
	if err != nil {
		r.kill(syscall.SIGKILL)
		_, _ = io.Copy(io.Discard, r.out) // so that nothing it started waits for a reader
	}
	werr := r.cmd.Wait()
	r.closeIn()
	r.kill(syscall.SIGKILL) // what it left behind
	select {
	case <-r.stopped: // it was asked to end
	default:
		r.err = r.explain(errors.Join(err, werr))
	}
}

// explain adds what the command said on standard error.
func (r *run) explain(err error) error {
	if err == nil {
		return nil
	}
	if said := bytes.TrimSpace(r.said.text); len(said) > 0 {
		return fmt.Errorf("the command failed: %w: %s", err, said)
	}
	return fmt.Errorf("the command failed: %w", err)
}

// read hands the command's answers over.
func (r *run) read() error {
	for first := true; ; first = false {
		line, err := r.out.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("it printed a line of over %d bytes", maxLine)
		}
		if len(line) > 0 && first {
			close(r.told)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if err := r.hand(text); err != nil {
				return err
			}
		}
		if err != nil {
			return nil //nolint:nilerr // the end of what it prints; how it ended, Wait says
		}
	}
}

// hand reads one answer and passes it on.
func (r *run) hand(text []byte) error {
	said, err := document.ReadAnswer(text)
	if err != nil {
		return fmt.Errorf("%w: %.200q", err, text)
	}
	if said.ID != "" && said.ID != r.notice.ID {
		r.tell(event{Type: "answered", Error: "that is another request than the one that was asked about"})
		return nil
	}
	if !r.notice.May(said.Decision) {
		r.tell(event{Type: "answered", Error: fmt.Sprintf("%q is not among the answers that this command may give here", said.Decision)})
		return nil
	}
	if said.By == "" {
		said.By = r.c.conf.User
	}
	bound := r.notice.Answer(said.Decision, said.By)
	bound.Reason, bound.Instructions, bound.Choice, bound.Arguments = said.Reason, said.Instructions, said.Choice, said.Arguments
	select {
	case r.c.answers <- answer{bound, r}:
	case <-r.stopped:
	}
	return nil
}

// terminate ends the command and all that it started, and waits for that: its input
// ends, and after the grace each it gets SIGTERM and SIGKILL.
func (r *run) terminate(grace time.Duration) {
	r.once.Do(func() { close(r.stopped) })
	r.closeIn()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-r.done:
			return
		case <-time.After(grace):
		}
		r.kill(s)
	}
	<-r.done
}

func (r *run) closeIn() {
	r.line.Lock()
	defer r.line.Unlock()
	_ = r.in.Close() // a second time is no harm
}

// kill signals the command's process group.
func (r *run) kill(s syscall.Signal) {
	_ = signalGroup(r.cmd.Process, s) // it may have ended
}

// bounded keeps the beginning of what is written.
type bounded struct{ text []byte }

func (b *bounded) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), maxSaid-len(b.text))]...)
	return len(p), nil
}
