package rego

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/policies"
)

// Ships reports whether a rule of the shipped pack gives an id as decision.rule, as far as
// the pack's sources write it out.
func Ships(id string) bool {
	found := false
	_ = fs.WalkDir(policies.FS, ".", func(p string, e fs.DirEntry, err error) error { // embedded: it does not fail
		if err != nil || e.IsDir() || !strings.HasSuffix(p, ".rego") || strings.HasSuffix(p, "_test.rego") {
			return err
		}
		body, err := policies.FS.ReadFile(p)
		if strings.Contains(string(body), strconv.Quote(id)) {
			found = true
			return fs.SkipAll
		}
		return err
	})
	return found
}
