package email

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// Which refusals of a recipient are for good: those of the 500s (RFC 5321,
// section 4.2.1). Any other mail is tried again, and arrives once.
func TestWhichRefusalsOfAMailServerAreForGood(t *testing.T) {
	t.Parallel()
	for code, permanent := range map[int]bool{
		421: false, 450: false, 451: false, 452: false, 454: false, 455: false,
		550: true, 551: true, 552: true, 553: true, 554: true, 556: true,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			b := newBench(t, o, o.config())
			n := sdktest.Notice("r1")
			n.To = []string{ann}
			o.refuse.Store(&smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: "no"})
			if err := b.Notify(t.Context(), n); err == nil || errors.Is(err, sdk.ErrPermanent) != permanent {
				t.Errorf("Notify = %v", err)
			}
			o.refuse.Store(nil)
			if permanent {
				return
			}
			if got := b.ask(n); len(got) != 1 {
				t.Errorf("%d mails", len(got))
			}
		})
	}
}

// talker is a server that says its lines, one for each line that it hears after
// the first, and then hangs up, or falls silent.
func talker(t *testing.T, silent bool, lines ...string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				in := bufio.NewReader(conn)
				for _, line := range lines {
					if _, err := conn.Write([]byte(line)); err != nil {
						return
					}
					if _, err := in.ReadString('\n'); err != nil {
						return
					}
				}
				if silent {
					<-ctx.Done()
				}
			})
		}
	})
	t.Cleanup(func() { cancel(); _ = ln.Close(); serving.Wait() })
	return ln.Addr().String()
}

// Whatever answers at the address of the mail server, the mail is tried again,
// in time, and no error names the password.
func TestOddMailServersLoseNothing(t *testing.T) {
	t.Parallel()
	const hello = "250-odd\r\n250 AUTH PLAIN\r\n"
	for name, c := range map[string]struct {
		silent bool
		lines  []string
	}{
		"says nothing":                           {silent: true},
		"hangs up":                               {},
		"is a web server":                        {lines: []string{"HTTP/1.1 400 Bad Request\r\n\r\n"}},
		"serves nobody":                          {lines: []string{"554 no SMTP service here\r\n"}},
		"is busy":                                {lines: []string{"421 too many connections\r\n"}},
		"greets without end":                     {silent: true, lines: []string{strings.Repeat("220-hello\r\n", 100_000)}},
		"greets with a line without end":         {silent: true, lines: []string{"220 " + strings.Repeat("x", 8<<20)}},
		"knows no EHLO":                          {lines: []string{"220 hi\r\n", "500 what?\r\n", "500 what?\r\n"}},
		"wants another password":                 {lines: []string{"220 hi\r\n", hello, "535 5.7.8 wrong credentials\r\n"}},
		"cannot look the password up":            {lines: []string{"220 hi\r\n", hello, "454 4.7.0 try later\r\n"}},
		"falls silent after the password":        {silent: true, lines: []string{"220 hi\r\n", hello}},
		"takes no mail from the sender":          {lines: []string{"220 hi\r\n", hello, "235 ok\r\n", "451 later\r\n"}},
		"falls silent in the midst of an answer": {silent: true, lines: []string{"220 hi\r\n", "250-od"}},
		"answers with no number":                 {lines: []string{"220 hi\r\n", "hello\r\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			conf := o.config()
			conf.SMTP.Addr, conf.SMTP.CAFile, conf.SMTP.TLS = talker(t, c.silent, c.lines...), "", modeNone
			b := newBench(t, o, conf)
			n := sdktest.Notice("r1")
			n.To = []string{ann}
			patience := 3 * time.Minute
			if c.silent {
				patience = 2 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := b.Notify(ctx, n)
			if err == nil || errors.Is(err, sdk.ErrPermanent) || strings.Contains(err.Error(), password) || len(err.Error()) > 2000 {
				t.Errorf("Notify = %.500v", err)
			}
			if after := ctx.Err(); after != nil && !c.silent {
				t.Error("it took all the time that there was")
			}
		})
	}
}
