package rego

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/holdgate/holdgate/rego/ruleset"
	"github.com/holdgate/holdgate/rego/settings"
)

// entry is what is asked of every policy, and resultEntry what is asked besides
// of those that look at results.
const (
	entry       = "data.holdgate.decision"
	resultEntry = "data.holdgate.result"
)

// A policy is one compiled revision. It never changes.
type policy struct {
	loaded         Loaded
	query          oparego.PreparedEvalQuery
	results        *oparego.PreparedEvalQuery // nil where the policy does not look at results
	state          string                     // the revision of the user's sources alone
	data           object
	own            map[string]module // the user's own, to compare with
	rules          []ruleset.Rule
	askers         []Asker
	readsArguments bool            // some rule can see input.tool.arguments
	readsParams    bool            // some rule can see input.mcp.params
	readsBody      bool            // some rule can see input.result.body
	readsHistory   bool            // some rule can see input.history
	readsUsage     bool            // some rule can see input.usage, the pack's own where there is a budget
	readsRepeats   bool            // some rule can see input.session.repeats, the pack's own where there is a bound
	readsClock     bool            // some rule asks for time.now_ns
	readsEffects   bool            // some rule can see input.facts.effects
	reads          map[string]bool // parts that the audit log may lack: see readsParts
	compiler       *ast.Compiler
	store          storage.Store
	firedMu        sync.Mutex
	firedQuery     *oparego.PreparedEvalQuery // see firing; nil until it is asked for
	services       settings.Services          // HTTP APIs whose requests have names
	tables         settings.Commands
	settings       *settings.Tools // nil where the policy has none
	repeats        repeats
}

// A program is a policy's parts, read and checked, before they are compiled.
type program struct {
	loaded  Loaded
	modules map[string]*ast.Module
	own     map[string]*ast.Module // those of modules that are the user's
	tests   map[string]*ast.Module // of the user; those of the pack are read by testing it
	data    object
}

// load reads, checks and compiles the policy of the spec.
func load(ctx context.Context, s spec) (*policy, error) {
	own, err := s.read()
	if err != nil {
		return nil, err
	}
	return build(ctx, s, own)
}

// build compiles the user's sources, or the shipped pack where own is nil.
func build(ctx context.Context, s spec, own *sources) (*policy, error) {
	pr, err := assemble(ctx, s, own)
	if err != nil {
		return nil, err
	}
	ruleset.WithoutCustom(pr.modules)
	compiler, err := newCompiler()
	if err != nil {
		return nil, err
	}
	if own == nil {
		compiler.WithSkipStages(ast.StageCheckTypes) // a test checks those of the pack
	}
	data, err := astObject(pr.data)
	if err != nil {
		return nil, fmt.Errorf("reading data: %w", err)
	}
	store := inmem.NewFromASTObject(data)
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading data: %w", err)
	}
	defer store.Abort(ctx, txn)
	compiler.WithPathConflictsCheck(storage.NonEmpty(ctx, store, txn))
	if compiler.Compile(pr.modules); compiler.Failed() {
		return nil, fmt.Errorf("compiling policy: %w", ruleset.Explain(compiler))
	}
	query, err := prepare(ctx, compiler, store, entry)
	if err != nil {
		return nil, fmt.Errorf("preparing policy: %w", err)
	}
	services, err := servicesOf(pr.data)
	if err != nil {
		return nil, err
	}
	p := &policy{
		services:       services,
		loaded:         pr.loaded,
		data:           pr.data,
		own:            ownModules(pr.own),
		rules:          ruleset.ListRules(pr.modules),
		askers:         listAskers(pr.modules),
		query:          query,
		readsArguments: ruleset.Reads(compiler.Modules, "tool", "arguments"),
		readsEffects:   ruleset.Reads(compiler.Modules, "facts", "effects"),
		readsParams:    ruleset.Reads(compiler.Modules, "mcp", "params"),
		readsBody:      ruleset.Reads(compiler.Modules, "result", "body"),
		readsHistory:   ruleset.Reads(compiler.Modules, "history"),
		readsUsage:     readsUsage(compiler.Modules, pr.data),
		readsRepeats:   readsRepeats(compiler.Modules, pr.data),
		readsClock:     readsClock(compiler.Modules),
		tables:         settings.ReadCommands(pr.data),
		settings:       settings.ReadTools(pr.data),
	}
	p.compiler, p.store, p.reads = compiler, store, p.readsParts(compiler.Modules)
	if readsResults(pr.modules, pr.loaded, pr.data) {
		results, err := prepare(ctx, compiler, store, resultEntry)
		if err != nil {
			return nil, fmt.Errorf("preparing policy for results: %w", err)
		}
		p.results = &results
	}
	if own != nil {
		p.state = own.revision()
	}
	return p, nil
}

// prepare makes a query of what was compiled.
func prepare(ctx context.Context, c *ast.Compiler, st storage.Store, query string) (oparego.PreparedEvalQuery, error) {
	return oparego.New(oparego.Query(query), oparego.Compiler(c), oparego.Store(st), oparego.StrictBuiltinErrors(true)).PrepareForEval(ctx)
}

// assemble lays the user's sources over the shipped pack, or in its place.
func assemble(ctx context.Context, s spec, own *sources) (*program, error) {
	pack, err := shipped()
	if err != nil {
		return nil, err
	}
	if own == nil {
		if s.adapter.kind != AdapterNone {
			return nil, fmt.Errorf("reading policy: there is none for the adapter %s to ask", s.adapter.kind)
		}
		return pack.program(), nil
	}
	if own, err = s.adapter.over(own); err != nil {
		return nil, err
	}
	modules, err := parse(own.modules)
	if err != nil {
		return nil, err
	}
	tests, err := parse(own.tests)
	if err != nil {
		return nil, err
	}
	data, err := readData(own.data)
	if err != nil {
		return nil, err
	}
	loaded := Loaded{Revision: own.revision(), Name: own.label, Path: s.from(), Whole: true, Modules: len(modules)}
	if ruleset.IsWhole(modules) {
		if s.adapter.kind != AdapterNone {
			return nil, fmt.Errorf("reading policy: it defines %s itself, so that the adapter %s has nothing to do", entry, s.adapter.kind)
		}
		if err := ruleset.CheckLiterals(modules, true); err != nil {
			return nil, err
		}
		return &program{loaded: loaded, modules: modules, own: maps.Clone(modules), tests: tests, data: data}, nil
	}
	if s.adapter.kind != AdapterNone && !s.adapter.asked(modules) {
		return nil, fmt.Errorf("reading policy: it has no rule %s for the adapter %s to ask", s.adapter.query, s.adapter.kind)
	}
	if err := ruleset.CheckLayer(modules); err != nil {
		return nil, err
	}
	if err := ruleset.CheckLiterals(modules, false); err != nil {
		return nil, err
	}
	if err := ruleset.CheckIDs(modules, pack.modules); err != nil {
		return nil, err
	}
	if err := checkMisplaced(own.data, modules); err != nil {
		return nil, err
	}
	data = overlaid(pack.data, data)
	if err := checkSettings(own.data, data[rootSettings]); err != nil {
		return nil, err
	}
	mine := maps.Clone(modules)
	maps.Copy(modules, pack.modules)
	both := &sources{modules: slices.Concat(pack.sources.modules, own.modules), data: slices.Concat(pack.sources.data, own.data)}
	loaded.Revision, loaded.Whole, loaded.Modules = both.revision(), false, len(modules)
	return &program{loaded: loaded, modules: modules, own: mine, tests: tests, data: data}, nil
}

// newCompiler is a compiler that knows the pack's schemas and lacks the
// built-ins that reach out.
func newCompiler() (*ast.Compiler, error) {
	pack, err := shipped()
	if err != nil {
		return nil, err
	}
	return ast.NewCompiler().
		WithCapabilities(ruleset.Capabilities()).
		WithSchemas(pack.schemas).
		WithUseTypeCheckAnnotations(true), nil
}
