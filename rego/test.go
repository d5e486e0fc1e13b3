package rego

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
)

// testTimeout bounds one test of a policy.
const testTimeout = 30 * time.Second

// TestOptions say which tests of a policy to run.
type TestOptions struct {
	Policy Options // where the policy comes from; with the zero value, the shipped pack's own tests
	Run    string  // a regular expression for the names of tests; empty: all
	// Coverage asks which lines the tests reach: of the user's own files, or of
	// the pack where there are none.
	Coverage bool
}

// TestResult is how one test ended. Exactly one of Failed and Skipped, or
// neither, is set.
type TestResult struct {
	Package  string        `json:"package"`
	Name     string        `json:"name"`
	Location string        `json:"location"` // file:line
	Failed   bool          `json:"failed,omitempty"`
	Skipped  bool          `json:"skipped,omitempty"`
	Error    string        `json:"error,omitempty"` // why it failed, where it broke off
	Output   string        `json:"output,omitempty"`
	Duration time.Duration `json:"duration"`
}

// TestReport is how the tests of a policy ended.
type TestReport struct {
	Results []TestResult `json:"results"`
	Failed  int          `json:"failed"`
	Skipped int          `json:"skipped"`
	// Coverage is as `opa test --coverage` says it; nil where not asked for.
	Coverage *cover.Report `json:"coverage,omitempty"`

	raw []*tester.Result
}

// Test runs the tests (*_test.rego) beside a policy, over the very policy that
// Open would load. An error means that they could not be run.
func Test(ctx context.Context, o TestOptions) (*TestReport, error) {
	if o.Policy.Logger == nil {
		o.Policy.Logger = slog.New(slog.DiscardHandler)
	}
	s, r, err := o.Policy.resolve(ctx)
	if err != nil {
		return nil, err
	}
	if r != nil {
		defer r.close(ctx)
	}
	return test(ctx, s, o)
}

// test is Test for a spec; of the options it reads what says which tests.
func test(ctx context.Context, s spec, o TestOptions) (*TestReport, error) {
	own, err := s.read()
	if err != nil {
		return nil, err
	}
	pr, err := assemble(ctx, s, own)
	if err != nil {
		return nil, err
	}
	if own == nil {
		if pr.tests, err = packTests(); err != nil {
			return nil, err
		}
	}
	compiler, err := newCompiler()
	if err != nil {
		return nil, err
	}
	store := inmem.NewFromObject(pr.data)
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading data: %w", err)
	}
	defer store.Abort(ctx, txn)
	modules := maps.Clone(pr.modules)
	maps.Copy(modules, pr.tests)
	runner := tester.NewRunner().
		SetCompiler(compiler).
		SetStore(store).
		SetModules(modules).
		SetDefaultRegoVersion(ast.RegoV1).
		SetTimeout(testTimeout).
		CapturePrintOutput(true).
		RaiseBuiltinErrors(true).
		Filter(o.Run)
	reached := cover.New()
	if o.Coverage {
		runner.SetCoverageQueryTracer(reached)
	}
	results, err := runner.RunTests(ctx, txn)
	if err != nil {
		return nil, fmt.Errorf("running tests of the policy: %w", err)
	}
	r := &TestReport{}
	for t := range results {
		r.add(t)
	}
	if o.Coverage {
		of := pr.modules
		if own != nil {
			of = pr.own
		}
		of = maps.Clone(of)
		maps.Copy(of, pr.tests)
		report := reached.Report(of)
		r.Coverage = &report
	}
	return r, nil
}

func (r *TestReport) add(t *tester.Result) {
	out := TestResult{
		Package:  t.Package,
		Name:     t.Name,
		Skipped:  t.Skip,
		Failed:   t.Fail || t.Error != nil,
		Output:   string(t.Output),
		Duration: t.Duration,
	}
	if t.Location != nil {
		out.Location = fmt.Sprintf("%s:%d", t.Location.File, t.Location.Row)
	}
	if t.Error != nil {
		out.Error = t.Error.Error()
	}
	if out.Failed {
		r.Failed++
	}
	if out.Skipped {
		r.Skipped++
	}
	r.Results = append(r.Results, out)
	r.raw = append(r.raw, t)
}

// Write prints the report as `opa test` does.
func (r *TestReport) Write(w io.Writer, verbose bool) error {
	results := make(chan *tester.Result, len(r.raw))
	for _, t := range r.raw {
		results <- t
	}
	close(results)
	return tester.PrettyReporter{Output: w, Verbose: verbose, FailureLine: true}.Report(results)
}
