package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// follow opens the event stream and returns a function that reads the next
// event of it.
func (d *door) follow(last string) (next func() (id string, e approvals.Event), resp *http.Response) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), "GET", d.http.URL+"/v1/events", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err = d.http.Client().Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { resp.Body.Close() })
	in := bufio.NewReader(resp.Body)
	return func() (id string, e approvals.Event) {
		d.t.Helper()
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				d.t.Fatalf("reading the stream: %v", err)
			}
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch name {
			case "id":
				id = value
			case "data":
				e = decode[approvals.Event](d.t, value)
			case "":
				if id != "" {
					return id, e
				}
			}
		}
	}, resp
}

func TestEventsComeAsTheyHappenAndResume(t *testing.T) {
	d := newDoor(t)
	first := d.hold(holdgate.HoldSpec{})
	next, resp := d.follow("")
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type is %q", got)
	}
	id, e := next()
	if e.Type != record.EventRequested || e.Request.ID != first.ID {
		t.Fatalf("first event is %+v", e)
	}
	d.ask("POST", "/v1/approvals/"+first.ID+"/decision", `{"decision":"deny"}`)
	for e.Type != record.EventDecided {
		_, e = next()
	}
	if e.Request.Status != holdgate.StatusDenied {
		t.Errorf("decided event has status %s", e.Request.Status)
	}

	again, _ := d.follow(id)
	for e = (approvals.Event{}); e.Type != record.EventDecided; {
		if _, e = again(); e.Type == record.EventRequested {
			t.Errorf("event %d came again after Last-Event-ID %s", e.Seq, id)
		}
	}
}

func TestAnUnreadableLastEventIDIsAProblem(t *testing.T) {
	d := newDoor(t)
	if status, body := d.ask("GET", "/v1/events", "", "Last-Event-ID", "x"); status != http.StatusBadRequest {
		t.Errorf("got %d %s, want 400", status, body)
	}
}

func TestCloseEndsEventStreams(t *testing.T) {
	d := newDoor(t)
	_, resp := d.follow("")
	d.api.Close()
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(resp.Body); err != nil {
		t.Errorf("the stream ended with %v, want a clean end", err)
	}
}

func TestTheExportIsTheLogThatVerifies(t *testing.T) {
	d := newDoor(t)
	r := d.hold(holdgate.HoldSpec{})
	d.ask("POST", "/v1/approvals/"+r.ID+"/decision", fmt.Sprintf(`{"decision":"approve","digest":%q}`, r.Call.Digest))
	_, body := d.ask("GET", "/v1/audit/head", "")
	head := decode[struct {
		Seq  uint64
		Hash string
	}](t, body)
	_, export := d.ask("GET", "/v1/audit/export", "")
	if _, err := audit.Verify(strings.NewReader(export), audit.VerifyOptions{}); err != nil {
		t.Errorf("verifying the export: %v", err)
	}
	if !strings.Contains(export, head.Hash) {
		t.Errorf("the head %d:%s is not in the export", head.Seq, head.Hash)
	}
	changed := strings.Replace(export, r.ID, "another-request", 1)
	if _, err := audit.Verify(strings.NewReader(changed), audit.VerifyOptions{}); err == nil {
		t.Error("a changed export verifies")
	}
}
