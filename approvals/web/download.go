package web

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate/approvals/api"
)

// A download is an answer that becomes a file in the visitor's browser as soon as its
// first byte is there. Until then it can become a page that says what went wrong.
type download struct {
	w      http.ResponseWriter
	name   string
	header http.Header // of the API's answer, which is not the file's
	status int         // of it; 0: 200
	begun  bool
	failed bytes.Buffer // the problem, where status is one
}

// Header implements [http.ResponseWriter].
func (d *download) Header() http.Header { return d.header }

// WriteHeader implements [http.ResponseWriter].
func (d *download) WriteHeader(status int) {
	if d.status == 0 {
		d.status = status
	}
}

// Write implements [http.ResponseWriter].
func (d *download) Write(b []byte) (int, error) {
	d.WriteHeader(http.StatusOK)
	if d.status != http.StatusOK {
		return d.failed.Write(b)
	}
	d.begin()
	return d.w.Write(b)
}

func (d *download) begin() {
	if d.begun {
		return
	}
	d.begun = true
	d.w.Header().Set("Content-Type", "application/jsonl")
	d.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", d.name))
}

// end ends the file, which may be empty, or returns what went wrong before it began.
func (d *download) end() error {
	if d.status == 0 || d.status == http.StatusOK {
		d.begin()
		return nil
	}
	p := new(api.Problem)
	if err := json.Unmarshal(d.failed.Bytes(), p); err != nil {
		return fmt.Errorf("reading what went wrong: %w", err)
	}
	return p
}
