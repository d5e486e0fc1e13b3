package client

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// Through returns a client of an API in this process: the handler knows already who
// asks ([api.Server.As]), so that no token is sent. Answers are taken whole, so that
// it is not for streams. Channel is as in [Options].
func Through(h http.Handler, channel string) *Client {
	return &Client{base: "http://holdgate", tried: "this process", channel: channel, http: &http.Client{Transport: inProcess{h}}}
}

// inProcess carries requests to a handler.
type inProcess struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	a := &taken{header: make(http.Header)}
	t.handler.ServeHTTP(a, r)
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r,
	}, nil
}

// taken is an answer.
type taken struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *taken) Header() http.Header { return a.header }

func (a *taken) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *taken) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// SetReadDeadline implements what an [http.ResponseController] asks: a body that is
// here already needs none.
func (a *taken) SetReadDeadline(time.Time) error { return nil }
