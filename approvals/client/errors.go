package client

import (
	"errors"
	"fmt"
)

var (
	errNoToken    = errors.New("there is no approver's token")
	errWrongProof = errors.New("its proof is wrong")
	errTalksFirst = errors.New("it answered more than it was asked")
)

// NoSidecarError says that nothing listens where a sidecar was looked for.
type NoSidecarError struct {
	Tried string // a socket's path or a URL
	Err   error
}

func (e *NoSidecarError) Error() string {
	return fmt.Sprintf("no sidecar at %s: %v", e.Tried, e.Err)
}

func (e *NoSidecarError) Unwrap() error { return e.Err }

// UnprovenError says that what listens does not know the token. It was sent
// nothing but a question.
type UnprovenError struct {
	Addr string
	Err  error
}

func (e *UnprovenError) Error() string {
	return fmt.Sprintf("what listens at %s did not prove that it is your sidecar: %v", e.Addr, e.Err)
}

func (e *UnprovenError) Unwrap() error { return e.Err }

// TokenError says why the token's file is not used.
type TokenError struct {
	Path   string
	Detail string
}

func (e *TokenError) Error() string { return fmt.Sprintf("approver's token %s: %s", e.Path, e.Detail) }

// dialError tells a sidecar that is not there from one that fails.
func (c *Client) dialError(err error) error {
	if e, ok := errors.AsType[*UnprovenError](err); ok {
		return e
	}
	if isAbsent(err) {
		return &NoSidecarError{Tried: c.tried, Err: cause(err)}
	}
	return fmt.Errorf("asking the sidecar at %s: %w", c.tried, err)
}
