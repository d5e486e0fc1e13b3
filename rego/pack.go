package rego

import (
	"io/fs"
	"maps"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"golang.org/x/sync/errgroup"

	"github.com/holdgate/holdgate/policies"
)

// Pack is the shipped pack as a folder: rules, tests, settings, schemas and
// README.md. It is for reading; the engine has its own copy.
func Pack() fs.FS { return policies.FS }

// A pack is the shipped pack as each load takes it. All loads share one, and none changes it.
type pack struct {
	sources *sources
	modules map[string]*ast.Module // without tests
	data    object
	schemas *ast.SchemaSet
}

// shipped reads the shipped pack, once.
var shipped = sync.OnceValues(func() (*pack, error) {
	s, err := readPack()
	if err != nil {
		return nil, err
	}
	p := &pack{sources: s}
	var work errgroup.Group
	work.Go(func() (err error) { p.modules, err = parse(s.modules); return err })
	work.Go(func() (err error) { p.data, err = readDataBy(s.data, readShared); return err })
	work.Go(func() (err error) { p.schemas, err = schemas(); return err })
	return p, work.Wait()
})

// program is the pack as a policy of its own.
func (p *pack) program() *program {
	return &program{
		loaded:  Loaded{Revision: p.sources.revision(), Modules: len(p.modules)},
		modules: maps.Clone(p.modules),
		data:    p.data,
	}
}

// packTests are the pack's own tests.
func packTests() (map[string]*ast.Module, error) {
	p, err := shipped()
	if err != nil {
		return nil, err
	}
	return parse(p.sources.tests)
}
