package authzen

import (
	"bytes"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// However a body reads, it makes no question that lacks something, and none that two
// readers could take for two.
func FuzzAuthZEN(f *testing.F) {
	f.Add([]byte(`{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"r","id":"1"},"context":{"a":1,"time":"x"}}`))
	f.Add([]byte(`{"subject":{"type":"user","id":"a"},"action":{"name":"x"},"resource":{"type":"r"},"evaluations":[{"resource":{"id":"1"}},{"resource":{}},{}],"options":{"evaluations_semantic":"execute_all"}}`))
	f.Add([]byte(`{"subject":{"type":"identity","id":"a"},"action":{"name":"tools/call","properties":{"arguments":{"x":1}}},"resource":{"type":"tool","id":"t","properties":{"server":"s"}},"denial":{"evaluation_id":"eval_eyJuIjoiYSIsImUiOjEsImMiOlsiYSJdfQ.00"}}`))
	f.Add([]byte(`{"subject":{"type":"user","id":"a","Type":"b"},"action":{"name":"x"},"resource":{"type":"r","id":""},"context":{"approval":{"id":"x"}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if wire.Strict(b) != nil {
			return // as body does
		}
		_, _ = submissionOf(b)
		var all []parts
		if p, err := partsOf(b); err == nil {
			all = append(all, p)
		}
		if batch, err := batchOf(b); err == nil {
			if len(batch.all) > MaxEvaluations {
				t.Errorf("%d evaluations", len(batch.all))
			}
			all = append(all, batch.all...)
		}
		for _, p := range all {
			q, err := p.question()
			if err != nil {
				continue
			}
			for _, e := range []entity{q.subject, q.resource} {
				if e.typ == "" || e.id == "" {
					t.Fatalf("a question without a type or an id: %s", b)
				}
			}
			c, err := q.call(false)
			if q.action.id == "" || err == nil && (c.Tool == nil || c.Access.Proven) {
				t.Fatalf("a question that asks nothing, or is trusted: %s", b)
			}
			if err != nil {
				continue
			}
			for _, text := range [][]byte{q.subject.raw, q.action.raw, q.resource.raw, q.said(), q.context, c.Tool.Arguments} {
				if text == nil {
					continue
				}
				if err := wire.Strict(text); err != nil {
					t.Fatalf("%s is read in two ways: %v", text, err)
				}
			}
			if again, err := holdgate.Canonical(q.said()); err != nil || !bytes.Equal(again, q.said()) {
				t.Fatalf("%s is not canonical: %s %v", q.said(), again, err)
			}
		}
	})
}
