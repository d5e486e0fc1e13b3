package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/creack/pty"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/draft"
)

// edit has the person change the arguments in their editor, which gets the terminal
// for that, and then shows what they changed. Nothing is sent yet. What they typed stays
// theirs: where nothing can be made of it they are asked as before, and edit on.
func (d *dialogue) edit(ctx context.Context, keys <-chan stroke) {
	q := &d.q
	change, err := d.edited(ctx, keys)
	if change.Text != nil {
		q.left = &change
	}
	switch {
	case errors.Is(err, draft.ErrSame):
		q.change, q.left = nil, nil
		q.note = draft.ErrSame.Error()
	case err != nil && q.change != nil:
		q.note = "what you typed last is not used: " + holdgate.Visible(err.Error()) + q.goOn()
	case err != nil:
		q.note = "not edited: " + holdgate.Visible(err.Error()) + q.goOn()
	default:
		d.s.o.Judge(ctx, &change, q.r)
		q.change = &change
	}
	d.layOut()
}

func (d *dialogue) edited(ctx context.Context, keys <-chan stroke) (change draft.Change, err error) {
	var left []byte
	if d.q.left != nil {
		left = d.q.left.Text
	}
	file, err := draft.Open(d.q.r, left)
	if err != nil {
		return change, err
	}
	defer func() { err = errors.Join(err, file.Remove()) }()
	d.s.screen.leave()
	defer d.s.screen.hold()
	failed := d.s.runEditor(file.Command(ctx, d.s.o.Editor), keys)
	if change, err = file.Read(); failed != nil {
		return draft.Change{Text: change.Text}, failed
	}
	return change, err
}

// goOn says how the person gets at what they typed, where that was not sent.
func (q *question) goOn() string {
	if q.left == nil {
		return ""
	}
	return "; e opens your text again"
}

// goneStays is how long a text that was not sent stands, where nobody presses Enter: others
// wait behind it, and the agent's own screen.
const goneStays = 2 * time.Minute

// over ends the question. Where the person has typed other arguments that were not sent,
// they are told, and see them until they press Enter, for [goneStays] at most.
func (d *dialogue) over(r approvals.Request) bool {
	if d.q.left == nil {
		return true
	}
	d.q.r, d.q.change, d.q.keep, d.q.step, d.q.note = r, nil, nil, stepAnswer, ""
	d.q.gone = "This request " + ended(r) + ". Your edit was not sent."
	d.q.leaves = time.Now().Add(goneStays)
	d.layOut()
	return false
}

// ended says how a request ended, and by whom.
func ended(r approvals.Request) string {
	s := "is " + string(r.Status) + " already"
	if r.Outcome != nil && r.Outcome.By != "" {
		s += ", by " + holdgate.Visible(r.Outcome.By)
	}
	return s
}

// runEditor runs the person's editor on a pty of its own: what is typed goes on
// coming by the keyboard, and what the agent prints goes on being kept.
func (s *session) runEditor(cmd *exec.Cmd, keys <-chan stroke) error {
	size, err := pty.GetsizeFull(s.o.Stdout)
	if err != nil {
		return err
	}
	blocking, err := pty.StartWithSize(cmd, size)
	if err != nil {
		return err
	}
	master, err := unblocked(blocking, cmd)
	if err != nil {
		return err
	}
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		s.copyEditor(master)
	}()
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		<-printed
		ended <- err
	}()
	for {
		select {
		case err := <-ended:
			return errors.Join(err, master.Close())
		case k := <-keys:
			_, _ = master.Write(k.text) // an editor that has ended reads nothing
		case <-s.resized:
			if size, err := pty.GetsizeFull(s.o.Stdout); err == nil {
				_ = setSize(master, size)
			}
		}
	}
}

// copyEditor copies what the editor prints, until nobody has its terminal open.
func (s *session) copyEditor(master *os.File) {
	buf := make([]byte, 32<<10)
	for {
		n, err := master.Read(buf)
		s.screen.echo(string(buf[:n]))
		if err != nil {
			return
		}
	}
}
