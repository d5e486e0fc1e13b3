package app

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/holdgate/holdgate/store/audit"
)

// syslogPriority is facility 13 (log audit), severity 5 (notice): RFC 5424, 6.2.1.
const syslogPriority = 13*8 + 5

// sendSyslog sends a checkpoint as one message of RFC 5424 to udp://HOST:PORT
// (RFC 5426), tcp://HOST:PORT with the length before it (RFC 6587, 3.4.1), or
// unix:///PATH. Over UDP and a datagram socket nobody says whether it arrived.
func sendSyslog(ctx context.Context, to string, c audit.Checkpoint) error {
	u, err := url.Parse(to)
	if err != nil {
		return fmt.Errorf("syslog: %w", err)
	}
	message := syslogMessage(time.Now(), c)
	addr, networks := u.Host, []string{u.Scheme}
	if u.Scheme == "unix" {
		addr, networks = u.Path, []string{"unixgram", "unix"}
	}
	var errs []error
	for _, network := range networks {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if network == "tcp" || network == "unix" {
			message = append(strconv.AppendInt(nil, int64(len(message)), 10), append([]byte{' '}, message...)...)
		}
		deadline, _ := ctx.Deadline()
		if err = conn.SetDeadline(deadline); err == nil {
			_, err = conn.Write(message)
		}
		return errors.Join(err, conn.Close())
	}
	return fmt.Errorf("syslog at %s: %w", to, errors.Join(errs...))
}

// syslogMessage is a checkpoint as a message of RFC 5424. Its lines would be cut
// apart on the way, so that the signed text is there in base64. The number of
// the structured data is the one for examples (RFC 5612): Holdgate has none.
func syslogMessage(at time.Time, c audit.Checkpoint) []byte {
	host, err := os.Hostname()
	if err != nil || host == "" || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' }) || len(host) > 255 {
		host = "-"
	}
	return fmt.Appendf(nil, `<%d>1 %s %s holdgate %d checkpoint [holdgate@32473 size="%d" root="%s" checkpoint="%s"] audit log checkpoint: %d entries`,
		syslogPriority, at.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), host, os.Getpid(), c.Size,
		base64.StdEncoding.EncodeToString(c.Root[:]), base64.StdEncoding.EncodeToString([]byte(c.Text)), c.Size)
}
