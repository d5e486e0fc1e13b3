package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// wholeFile has a request ask for a whole file that can be looked into: a part of
// one could begin behind what tells its kind.
func wholeFile(h http.Header) {
	for _, name := range []string{"Range", "If-Range"} {
		h.Del(name)
	}
	h.Set("Accept-Encoding", "identity")
}

// errCalls says that a file has calls in it.
var errCalls = errors.New("the file has what looks like tool calls of a model in it, as what has come of a batch has, and no policy would see them")

// fileWithoutCalls returns the body of an answer that is a file, decoded, where
// it holds no calls. What begins as JSON is read whole for that, and may have
// Limits.Body; all else is no result of a batch, and passes as it comes.
func (e *request) fileWithoutCalls(resp *http.Response) (io.Reader, error) {
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the upstream answered with %d in the place of the whole file, which cannot be looked into so", resp.StatusCode)
	}
	var src io.Reader = resp.Body
	if wire.ContentEncoding(resp.Header) != "" {
		var err error
		if src, err = upstream.Decoded(resp, e.s.c.Limits.Body); err != nil {
			return nil, fmt.Errorf("reading a file: %w", err)
		}
	}
	br := bufio.NewReaderSize(src, route.Glance)
	head, err := br.Peek(route.Glance)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	if !route.BeginsJSON(head) {
		return br, nil
	}
	body, err := io.ReadAll(io.LimitReader(br, e.s.c.Limits.Body+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading a file: %w", err)
	case int64(len(body)) > e.s.c.Limits.Body:
		return nil, fmt.Errorf("the file is JSON, as what has come of a batch, and more than %d bytes cannot be looked into: %w", e.s.c.Limits.Body, wire.ErrTooLarge)
	case slices.ContainsFunc(fileMarks, func(mark []byte) bool { return bytes.Contains(wire.Narrow(body), mark) }):
		return nil, errCalls
	}
	return bytes.NewReader(body), nil
}

// fileMarks are parts of the names that calls have in the results of batches.
var fileMarks = append(slices.Clone(route.CallMarks), []byte(`_call"`), []byte(`_approval_request"`))

// passFile passes an answer on that is a file, or refuses it.
func (e *request) passFile(resp *http.Response) error {
	body, err := e.fileWithoutCalls(resp)
	if err != nil {
		e.Reject(http.StatusForbidden, holdgate.RuleUnsupported, err.Error()+" (`unsupported: allow` in the configuration lets such files through)")
		return nil
	}
	wire.WriteHeader(e.W, resp.StatusCode, wire.EndToEnd(resp.Header))
	if err := copyFlushing(e.W, body, resp.ContentLength < 0); err != nil {
		return steps.ErrCut
	}
	return nil
}
