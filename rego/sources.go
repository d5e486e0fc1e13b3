package rego

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate/policies"
	"github.com/holdgate/holdgate/rego/ruleset"
)

// PackLocation begins the location of each rule of the shipped pack.
const PackLocation = ruleset.PackName + "/"

// maxSourceBytes bounds one file of a policy.
const maxSourceBytes = 16 << 20

// A source is one file of a policy, read whole.
type source struct {
	name string   // for errors
	dir  []string // folders below the policy's root
	body []byte
}

// sources are the files of one policy, by what they are.
type sources struct {
	modules []source
	tests   []source // *_test.rego
	data    []source // .json, .yaml, .yml
	label   string   // the name that these sources have for people, if any
	roots   []string // of a bundle: the places below data that it claims
}

func (s *sources) add(name string, dir []string, body []byte) {
	src := source{name: name, dir: dir, body: body}
	switch {
	case strings.HasSuffix(name, "_test.rego"):
		s.tests = append(s.tests, src)
	case strings.HasSuffix(name, ".rego"):
		s.modules = append(s.modules, src)
	default:
		s.data = append(s.data, src)
	}
}

// isSource reports whether a file belongs to a policy, by its name.
func isSource(name string) bool {
	switch path.Ext(name) {
	case ".rego", ".json", ".yaml", ".yml":
		return true
	}
	return false
}

// revision is a short hash over what the policy is made of; tests are no part.
func (s *sources) revision() string {
	h := sha256.New()
	for _, list := range [][]source{s.modules, s.data} {
		for _, src := range list {
			for _, field := range []string{strings.Join(src.dir, "/"), path.Base(src.name), string(src.body)} {
				h.Write([]byte(strconv.Itoa(len(field)) + ":" + field))
			}
		}
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// readPack reads the shipped pack, without its schemas: they are no data.
func readPack() (*sources, error) {
	s := &sources{}
	err := fs.WalkDir(policies.FS, ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && p == "schemas":
			return fs.SkipDir
		case e.IsDir() || !isSource(p):
			return nil
		}
		body, err := policies.FS.ReadFile(p)
		if err != nil {
			return err
		}
		s.add(path.Join(ruleset.PackName, p), folders(path.Dir(p)), body)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the shipped policy: %w", err)
	}
	return s, nil
}

// readSources reads the user's file or folder. Names that begin with a dot are
// passed over: editors and Kubernetes keep their own things there. A link to a
// folder is an error, for what it holds would be missing without a word.
func readSources(root string) (*sources, error) {
	s := &sources{}
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("reading policy: %w", err)
	}
	if !info.IsDir() {
		if !isSource(root) {
			return nil, fmt.Errorf("reading policy %s: want a folder, or a file that ends in .rego, .json or .yaml", root)
		}
		body, err := readFile(root)
		if err != nil {
			return nil, err
		}
		s.add(root, nil, body)
		return s, nil
	}
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("reading policy: %w", err)
	}
	err = filepath.WalkDir(resolved, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p != resolved && strings.HasPrefix(e.Name(), ".") {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return s.addFile(root, resolved, p, e)
	})
	if err != nil {
		return nil, fmt.Errorf("reading policy %s: %w", root, err)
	}
	if len(s.modules)+len(s.data) == 0 {
		return nil, fmt.Errorf("reading policy %s: there is no .rego, .json or .yaml file in it", root)
	}
	return s, nil
}

// addFile adds what WalkDir found below resolved, under its name below root.
func (s *sources) addFile(root, resolved, p string, e fs.DirEntry) error {
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		if info.IsDir() {
			return fmt.Errorf("%s is a link to a folder: put the folder itself there", p)
		}
	}
	if e.IsDir() || !isSource(p) {
		return nil
	}
	body, err := readFile(p)
	if err != nil {
		return err
	}
	below, err := filepath.Rel(resolved, p)
	if err != nil {
		return err
	}
	s.add(filepath.Join(root, below), folders(path.Dir(filepath.ToSlash(below))), body)
	return nil
}

func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no ordinary file", name)
	case info.Size() > maxSourceBytes:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that a file of a policy may have", name, info.Size(), maxSourceBytes)
	}
	return os.ReadFile(name)
}

// folders splits a slash path of folders; "." is none.
func folders(dir string) []string {
	if dir == "." {
		return nil
	}
	return slices.Clip(strings.Split(dir, "/"))
}

// parse reads modules as Rego v1, with their annotations.
func parse(files []source) (map[string]*ast.Module, error) {
	modules := make(map[string]*ast.Module, len(files))
	for _, f := range files {
		m, err := ast.ParseModuleWithOpts(f.name, string(f.body), ast.ParserOptions{
			RegoVersion:       ast.RegoV1,
			ProcessAnnotation: true,
		})
		if err != nil {
			return nil, fmt.Errorf("reading policy: %w", ruleset.Unreadable(err))
		}
		if m == nil {
			return nil, fmt.Errorf("reading policy: %s is empty", f.name)
		}
		modules[f.name] = m
	}
	return modules, nil
}
