package lazyregexp_test

import (
	"testing"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// What is wrong is found by every test of the package that has it, whether or not one uses it.
func TestAWrongExpressionFailsEveryTest(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("an expression that cannot be compiled should panic at once")
		}
	}()
	lazyregexp.New(`(`)
}
