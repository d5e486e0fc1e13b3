package client

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/socket"
)

const (
	proveTimeout = 5 * time.Second // for dialling and the proof
	maxProof     = 16 << 10        // bytes of its answer
)

// dialProven connects and makes the listener prove that it knows the token. An
// error of the network is the dialler's own; a listener that does not prove
// itself is an [*UnprovenError].
func dialProven(ctx context.Context, network, addr, host string, token api.TokenHash) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, proveTimeout)
	defer cancel()
	conn, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		conn.Close()
		return nil, fmt.Errorf("bounding the proof: %w", err)
	}
	if err := challenge(conn, host, token); err != nil {
		conn.Close()
		return nil, &UnprovenError{Addr: addr, Err: err}
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		conn.Close()
		return nil, fmt.Errorf("taking up the connection: %w", err)
	}
	return conn, nil
}

// dialTLS connects to a listener that its certificate proves.
func dialTLS(ctx context.Context, addr, caFile string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, proveTimeout)
	defer cancel()
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if own, err := os.ReadFile(caFile); err == nil {
		roots.AppendCertsFromPEM(own)
	}
	conn, err := (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}).DialContext(ctx, "tcp", addr)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return nil, &UnprovenError{Addr: addr, Err: err}
	}
	return conn, err
}

func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network == "unix" {
		return socket.Dial(ctx, addr)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// challenge asks for the proof on conn and checks it. The connection is at the
// beginning of the next request afterwards.
func challenge(conn net.Conn, host string, token api.TokenHash) error {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: see its documentation
	nonce := hex.EncodeToString(b[:])
	body, err := json.Marshal(api.Challenge{Nonce: nonce, Caller: api.CallerMark(token, nonce)})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, "http://"+host+"/v1/prove", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if err := req.Write(conn); err != nil {
		return fmt.Errorf("asking for the proof: %w", err)
	}
	in := bufio.NewReader(io.LimitReader(conn, maxProof))
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return fmt.Errorf("reading the proof: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Close {
		return fmt.Errorf("it answered %s", resp.Status)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading the proof: %w", err)
	}
	var proven api.Proven
	if err := json.Unmarshal(raw, &proven); err != nil {
		return fmt.Errorf("reading the proof: %w", err)
	}
	if !hmac.Equal([]byte(proven.Proof), []byte(api.Proof(token, nonce, conn.RemoteAddr()))) {
		return errWrongProof
	}
	if in.Buffered() > 0 {
		return errTalksFirst
	}
	return nil
}
