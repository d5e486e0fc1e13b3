package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate/approvals/api"
)

// Run asks the sidecar to take up an agent that this process starts. The
// connection is at the beginning of what package handover describes, and the
// caller's to close. It is had over the socket alone.
func (c *Client) Run(ctx context.Context, in api.Run) (*net.UnixConn, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	conn, err := dialProven(ctx, "unix", c.tried, "holdgate", api.HashToken(c.token))
	if err != nil {
		return nil, c.dialError(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://holdgate/v1/runs", bytes.NewReader(body))
	if err != nil {
		return nil, closing(conn, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", api.RunProtocol)
	if err := req.Write(conn); err != nil {
		return nil, closing(conn, fmt.Errorf("asking the sidecar to take the agent up: %w", err))
	}
	resp, err := http.ReadResponse(bufio.NewReader(byByte{conn}), req)
	if err != nil {
		return nil, closing(conn, fmt.Errorf("asking the sidecar to take the agent up: %w", err))
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, closing(conn, readProblem(resp))
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, closing(conn, fmt.Errorf("the sidecar's socket is a %T", conn))
	}
	return unix, nil
}

func closing(c net.Conn, err error) error {
	_ = c.Close() // err says what matters
	return err
}

// byByte reads no further than what is asked for: what follows comes with files.
type byByte struct{ r io.Reader }

func (b byByte) Read(p []byte) (int, error) { return b.r.Read(p[:min(len(p), 1)]) }
