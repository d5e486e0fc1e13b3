package rego

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/holdgate/holdgate/policies"
	"github.com/holdgate/holdgate/rego/ruleset"
)

// The documents below data that mean something to Holdgate.
const (
	rootSettings = "settings"
)

// readData merges data files as opa does: a file's content lies under the
// names of its folders. Two files may add to one object, but not give one key
// two values.
func readData(files []source) (object, error) {
	return readDataBy(files, func(body []byte) (doc any, err error) { return doc, util.Unmarshal(body, &doc) })
}

func readDataBy(files []source, read func(body []byte) (any, error)) (object, error) {
	data := object{}
	for _, f := range files {
		doc, err := read(f.body)
		if err != nil {
			return nil, fmt.Errorf("reading data %s: %w", f.name, err)
		}
		if doc == nil {
			continue
		}
		for i := len(f.dir) - 1; i >= 0; i-- {
			doc = object{f.dir[i]: doc}
		}
		o, ok := doc.(object)
		if !ok {
			return nil, fmt.Errorf("reading data %s: want an object (such as settings: {...}) at the top", f.name)
		}
		if _, ok := o[ruleset.Root]; ok {
			return nil, fmt.Errorf("reading data %s: data under %q would hide rules: keep settings under %q, and anything else under a name of its own",
				f.name, ruleset.Root, rootSettings)
		}
		if at, ok := join(data, o); !ok {
			return nil, fmt.Errorf("reading data %s: another file gives data.%s as well", f.name, at)
		}
	}
	return data, nil
}

// join adds src to dst, and changes no object below it. Where both have a value that is
// no object it returns the path of it, and false.
func join(dst, src object) (at string, ok bool) {
	for k, v := range src {
		had, exists := dst[k]
		if !exists {
			dst[k] = v
			continue
		}
		a, aok := had.(object)
		b, bok := v.(object)
		if !aok || !bok {
			return k, false
		}
		a = maps.Clone(a)
		if at, ok := join(a, b); !ok {
			return k + "." + at, false
		}
		dst[k] = a
	}
	return "", true
}

// overlaid is src laid over dst, neither of which it changes: objects are merged,
// anything else is replaced.
func overlaid(dst, src object) object {
	both := maps.Clone(dst)
	for k, v := range src {
		a, aok := dst[k].(object)
		b, bok := v.(object)
		if aok && bok {
			both[k] = overlaid(a, b)
		} else {
			both[k] = v
		}
	}
	return both
}

// schemas are the pack's schemas under the names that annotations use:
// schemas/input/input.json is schema.input.input.
func schemas() (*ast.SchemaSet, error) {
	set := ast.NewSchemaSet()
	err := fs.WalkDir(policies.FS, "schemas", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := policies.FS.ReadFile(p)
		if err != nil {
			return err
		}
		var schema any
		if err := util.Unmarshal(body, &schema); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		ref := ast.Ref{ast.SchemaRootDocument}
		for _, part := range strings.Split(strings.TrimSuffix(p, path.Ext(p)), "/")[1:] {
			ref = append(ref, ast.StringTerm(part))
		}
		set.Put(ref, schema)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading schemas: %w", err)
	}
	return set, nil
}
