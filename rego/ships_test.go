package rego_test

import (
	"testing"

	"github.com/holdgate/holdgate/rego"
)

func TestShipsKnowsThePacksRules(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"files.delete": true, "acme.refund": false} {
		if got := rego.Ships(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}
