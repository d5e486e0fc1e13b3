package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/mod/sumdb/note"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/passkeys"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/store/audit"
)

func verifyCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		UsageText: "holdgate audit verify --head checkpoint.txt",
		Usage:     "find the first entry that was changed, taken out, swapped or cut off",
		ArgsUsage: "[EXPORT.jsonl]",
		Description: "Without a file the log itself is verified. Give a head that was noted elsewhere, or checkpoints:\n" +
			"without one, a log that was rewritten as a whole still looks right. A file, checkpoints and the public\n" +
			"key are enough; neither sidecar nor state folder is needed then.",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.StringFlag{Name: "head", Usage: "the log must contain `SEQ:HASH`, or what the checkpoints in this file state"},
			&cli.StringFlag{Name: "key", Usage: "the public `KEY` of the checkpoints, or a file with it (default: the log's own)"},
			&cli.StringFlag{Name: "export", Usage: "verify this `FILE`, as the argument does"},
			&cli.StringFlag{Name: "proof", Usage: "verify this `FILE` of audit prove; one of consistency takes the earlier checkpoint by --head"},
		},
		Action: func(c *cli.Context) error {
			if c.String("proof") != "" {
				return e.verifyProof(c)
			}
			if c.NArg() > 1 || c.NArg() == 1 && c.String("export") != "" {
				return command.Usage("audit verify takes one file, got %q too", c.Args().Get(c.NArg()-1))
			}
			if c.String("key") != "" && c.String("head") == "" {
				return command.Usage("--key checks the signature of checkpoints: name their file with --head")
			}
			o, err := e.verifyOptions(c)
			if err != nil {
				return err
			}
			var signatures passkeys.Checker
			o.Signed = signatures.Entry
			report, err := e.verify(c, o)
			if err == nil && len(signatures.Unknown) > 0 && report.Dropped == 0 {
				err = &audit.Fault{Seq: signatures.Unknown[0], What: "the key is changed: the log does not say before that it was registered and admitted"}
			}
			if err != nil {
				if _, ok := errors.AsType[*audit.Fault](err); ok {
					return &command.Exit{Code: command.ExitFailed, Text: err.Error(), Hint: fmt.Sprintf("entries in order before it: %d; keep the file as it is", report.Entries)}
				}
				if errors.Is(err, context.Canceled) {
					return &command.Exit{Code: command.ExitFailed, Text: fmt.Sprintf("interrupted: %d entries were in order, and what follows was not read", report.Entries)}
				}
				return err
			}
			return e.printReport(c, report, signatures)
		},
	}
}

func (e *env) printReport(c *cli.Context, r audit.Report, s passkeys.Checker) error {
	if c.String("head") == "" {
		fmt.Fprintln(e.Stderr, "note: without --head this does not notice entries that were cut off at the end, or a log that was written anew;\n"+
			"note: keep what holdgate audit head prints on another machine, and verify with --head FILE")
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, map[string]any{"entries": r.Entries, "head": r.Last.String(), "root": r.Root, "dropped": r.Dropped, "signed_votes": s.Votes, "keys": s.Keys})
	}
	_, err := fmt.Fprintf(e.Stdout, "%d entries in order; head %s\n", r.Entries, r.Last)
	if err == nil && r.Dropped > 0 {
		_, err = fmt.Fprintf(e.Stdout, "what the first %d say was dropped by retention: their hashes are in order\n", r.Dropped)
	}
	if err == nil && s.Votes > 0 {
		_, err = fmt.Fprintf(e.Stdout, "%d signed votes, all of them right, by these passkeys:\n", s.Votes)
		for _, key := range slices.Sorted(maps.Keys(s.Keys)) {
			_, err = fmt.Fprintf(e.Stdout, "  %s  %s\n", key, holdgate.Visible(s.Keys[key]))
		}
	}
	return err
}

// verifyOptions reads --head: a head, or a file of checkpoints.
func (e *env) verifyOptions(c *cli.Context) (o audit.VerifyOptions, err error) {
	text := c.String("head")
	if text == "" {
		return o, nil
	}
	head, notHead := audit.ParseHead(text)
	if notHead == nil {
		return audit.VerifyOptions{Head: head}, nil
	}
	if _, err := os.Stat(text); errors.Is(err, fs.ErrNotExist) {
		if strings.Contains(text, ":") {
			return o, command.Usage("--head: %v", notHead)
		}
		return o, &command.Exit{Code: command.ExitUsage, Text: fmt.Sprintf("--head: there is no file %s", text),
			Hint: "it is a file of checkpoints, as holdgate audit head prints them, or SEQ:HASH"}
	}
	o.Checkpoints, err = e.checkpoints(c, text)
	return o, err
}

// checkpoints reads a file of checkpoints.
func (e *env) checkpoints(c *cli.Context, path string) ([]audit.Checkpoint, error) {
	key, err := e.publicKey(c)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoints: %w", err)
	}
	list, err := audit.OpenCheckpoints(string(b), key)
	if err != nil {
		return nil, fmt.Errorf("the checkpoints in %s: %w", path, err)
	}
	return list, nil
}

// publicKey reads --key, or asks the log for its own.
func (e *env) publicKey(c *cli.Context) (note.Verifier, error) {
	text := c.String("key")
	if text == "" {
		l, err := e.OpenLog(c)
		if err != nil {
			return nil, fmt.Errorf("finding the public key, as there is no --key: %w", err)
		}
		head, err := l.Checkpoint(c.Context, 0)
		if err := errors.Join(err, l.Close()); err != nil {
			return nil, err
		}
		text = head.Key
	} else if b, err := os.ReadFile(text); err == nil {
		text = strings.TrimSpace(string(b))
	}
	key, err := note.NewVerifier(text)
	if err != nil {
		return nil, command.Usage("--key: neither a public key (NAME+HASH+KEY, as audit key prints it) nor a file with one")
	}
	return key, nil
}

// verify verifies a file or the log.
func (e *env) verify(c *cli.Context, o audit.VerifyOptions) (audit.Report, error) {
	path := c.String("export")
	if c.Args().Present() {
		path = c.Args().First()
	}
	if path != "" {
		f, err := os.Open(path)
		if err != nil {
			return audit.Report{}, fmt.Errorf("reading the export: %w", err)
		}
		defer f.Close()
		p := e.Progress("entries read")
		defer p.Done()
		return audit.Verify(p.Reader(c.Context, f), o)
	}
	l, err := e.OpenLog(c)
	if err != nil {
		return audit.Report{}, err
	}
	report, err := l.Verify(c.Context, o)
	if closeErr := l.Close(); err == nil {
		err = closeErr
	}
	return report, err
}

// verifyProof verifies what audit prove printed.
func (e *env) verifyProof(c *cli.Context) error {
	b, err := os.ReadFile(c.String("proof"))
	if err != nil {
		return fmt.Errorf("reading the proof: %w", err)
	}
	p, err := audit.ParseProof(b)
	if err != nil {
		return err
	}
	key, err := e.publicKey(c)
	if err != nil {
		return err
	}
	var said string
	var noted audit.Checkpoint
	switch p := p.(type) {
	case audit.Inclusion:
		noted, err = p.Check(key)
		said = fmt.Sprintf("entry %d, %s, is in the log of %d entries", p.Seq, p.Hash, noted.Size)
	case audit.Consistency:
		if c.String("head") == "" {
			return command.Usage("a proof of consistency needs the earlier checkpoint: --head FILE")
		}
		var earlier []audit.Checkpoint
		if earlier, err = e.checkpoints(c, c.String("head")); err != nil {
			return err
		}
		noted, err = p.Check(key, earlier[len(earlier)-1])
		said = fmt.Sprintf("the log of %d entries begins with that of %d", noted.Size, p.From)
	}
	if err != nil {
		return &command.Exit{Code: command.ExitFailed, Text: err.Error()}
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, map[string]any{"size": noted.Size, "root": noted.Root, "origin": noted.Origin})
	}
	_, err = fmt.Fprintf(e.Stdout, "%s; root %s, signed by %s\n", said, noted.Root, noted.Origin)
	return err
}
