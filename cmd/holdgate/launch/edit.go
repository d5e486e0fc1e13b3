package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/creack/pty"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/draft"
)

// edit has the person change the arguments in their editor, which gets the terminal
// for that, and then shows what they changed. Nothing is sent yet.
func (d *dialogue) edit(ctx context.Context, keys <-chan stroke) {
	change, err := d.edited(ctx, keys)
	switch {
	case errors.Is(err, draft.ErrSame):
		d.q.note = draft.ErrSame.Error()
	case err != nil:
		d.q.note = "not edited: " + holdgate.Visible(err.Error())
	default:
		change.Lines = append(change.Lines, d.s.o.Verdict(ctx, d.q.r, change.Arguments)...)
		d.q.change = &change
	}
	d.layOut()
}

func (d *dialogue) edited(ctx context.Context, keys <-chan stroke) (change draft.Change, err error) {
	file, err := draft.Open(d.q.r)
	if err != nil {
		return change, err
	}
	defer func() { err = errors.Join(err, file.Remove()) }()
	d.s.screen.leave()
	defer d.s.screen.hold()
	if err := d.s.runEditor(file.Command(ctx, d.s.o.Editor), keys); err != nil {
		return change, err
	}
	return file.Read()
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
