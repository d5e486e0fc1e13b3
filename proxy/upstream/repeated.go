package upstream

import (
	"errors"
	"io"
	"math"
	"net/http"

	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/wire"
)

// What is put into a request may come back in the answer: there are servers and
// debugging endpoints that repeat the headers they got. The agent must not read
// it there, so that in answers to such requests it is written over, in headers,
// body and trailers, byte for byte: nothing else of the answer changes, and what
// does not have it is passed on when it comes. A server that changes it in any
// other way than JSON, URLs and Basic do is not seen through.

// plainAnswer asks for an answer in a form that can be searched.
func plainAnswer(h http.Header) {
	h.Set("Accept-Encoding", "identity")
	h.Del("Sec-Websocket-Extensions") // frames would be compressed (RFC 7692)
}

// conceal takes what was put into the request out of its answer; repeated is
// called where it was there.
func (p putting) conceal(r *http.Request, resp *http.Response, traces credential.Traces) error {
	if traces.MaskHeader(resp.Header) {
		p.repeated()
	}
	body := io.Reader(resp.Body)
	if coding := wire.ContentEncoding(resp.Header); coding != "" && r.Method != http.MethodHead && resp.Body != http.NoBody {
		var err error // it was asked not to
		if body, err = wire.Decode(resp.Body, coding, math.MaxInt64/2); err != nil {
			return errors.Join(&credential.Error{Name: p.c.Name, Err: errUnsearched}, resp.Body.Close())
		}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
	}
	c := &concealed{
		ReadCloser: resp.Body, masked: traces.Reader(body, p.repeated), end: func() { traces.MaskHeader(resp.Trailer) },
		fails: func(err error) error { return p.unquoted(err, traces) },
	}
	if up, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = &concealedBothWays{c, up}
		return nil
	}
	resp.Body = c
	return nil
}

// unquoted is an error of the answer, or another one where its text quotes what was
// put into the request.
func (p putting) unquoted(err error, traces credential.Traces) error {
	if err == nil || !traces.In(err.Error()) {
		return err
	}
	p.repeated()
	return &credential.Error{Name: p.c.Name, Err: errQuoted}
}

var errQuoted = errors.New("the answer is broken HTTP that repeats the credential, so that nothing of it is shown")

var errUnsearched = errors.New("the answer is compressed in a way that is not known here, so that it cannot be searched for the credential")

// A concealed is the body of an answer without what was put into the request.
type concealed struct {
	io.ReadCloser
	masked *credential.Reader
	end    func()
	fails  func(error) error
}

func (c *concealed) Read(p []byte) (int, error) {
	n, err := c.masked.Read(p)
	if err == io.EOF { //nolint:errorlint // what readers return
		c.end()
		return n, err
	}
	return n, c.fails(err)
}

// A concealedBothWays is that of a connection that changed its protocol.
type concealedBothWays struct {
	*concealed
	io.Writer
}
