package email

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/emersion/go-imap/v2/imapclient"
)

// encrypted speaks IMAP over a connection that is TLS from the start (RFC
// 8314), once the server has proven itself.
func encrypted(ctx context.Context, conn net.Conn, opts *imapclient.Options) (*imapclient.Client, error) {
	conf := opts.TLSConfig.Clone()
	conf.NextProtos = []string{"imap"}
	secure := tls.Client(conn, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, errors.Join(err, secure.Close())
	}
	return imapclient.New(secure, opts), nil
}
