package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Entry is the person as YAML under the key people, each line after the indent.
func (p Person) Entry(name PersonName, indent string) string {
	roles := make([]string, len(p.Roles))
	for i, r := range p.Roles {
		roles[i] = string(r)
	}
	return fmt.Sprintf("%[1]s%[2]s:\n%[1]s  roles: [%[3]s]\n%[1]s  token_sha256: \"%[4]s\"\n", indent, name, strings.Join(roles, ", "), p.TokenSHA256.Hex())
}

// Entry is the agent, which a token alone proves, as YAML under the key agents,
// each line after the indent.
func (a Agent) Entry(name, indent string) string {
	return fmt.Sprintf("%[1]s%[2]s:\n%[1]s  token_sha256: \"%[3]s\"\n", indent, name, a.TokenSHA256.Hex())
}

// FileMode is the mode of a configuration file that names people, and that a group
// may read where it is 0640: whoever reads their tokens' hashes could pass for the
// sidecar to them.
func FileMode(was os.FileMode) os.FileMode {
	if was&0o037 != 0 {
		return 0o600
	}
	return was&0o040 | 0o600
}

// AddPerson puts a person into a configuration file. Every other line stays as
// it is. The file is replaced as a whole, and keeps its owner and group; others
// may not read it from then on ([FileMode]): was is its mode before. Nothing is written where the result
// would say anything else than before and the person.
func AddPerson(file string, name PersonName, p Person) (was os.FileMode, err error) {
	return added{
		key: "people", name: string(name), text: func(indent string) string { return p.Entry(name, indent) },
		take: func(c *Config) (any, bool) { return taken(&c.People, name) }, value: p,
	}.to(file)
}

// AddAgent puts an agent into a configuration file as [AddPerson] does a person.
func AddAgent(file, name string, a Agent) (was os.FileMode, err error) {
	return added{
		key: "agents", name: name, text: func(indent string) string { return a.Entry(name, indent) },
		take: func(c *Config) (any, bool) { return taken(&c.Agents, name) }, value: a,
	}.to(file)
}

// An added is what is put under a key of a file's top.
type added struct {
	key, name string
	text      func(indent string) string
	take      func(*Config) (value any, there bool) // out of what a file says
	value     any
}

// taken takes what a map has under a name out of it. A map that is left empty is nil.
func taken[M ~map[K]V, K comparable, V any](m *M, name K) (any, bool) {
	v, there := (*m)[name]
	if delete(*m, name); len(*m) == 0 {
		*m = nil
	}
	return v, there
}

func (a added) to(file string) (was os.FileMode, err error) {
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return 0, fmt.Errorf("reading the configuration: %w", err)
	}
	before, info, err := readWhole(file)
	if err != nil {
		return 0, err
	}
	after, err := a.in(before)
	if err == nil {
		err = a.check(file, before, after)
	}
	if err != nil {
		return 0, fmt.Errorf("adding %s to %s: %w", a.name, file, err)
	}
	return info.Mode().Perm(), replace(file, info, before, after)
}

func readWhole(file string) ([]byte, os.FileInfo, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the configuration: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return text, info, nil
}

// byHand says that a file is written in a way that is not edited here.
func (a added) byHand() error {
	return fmt.Errorf("its %s are not written as a block, one key a line: put %s in by hand", a.key, a.name)
}

// in returns the text with what is added right after its key, or with that key at
// its end where there is none.
func (a added) in(text []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(bytes.Clone(text), '\n')
	}
	key, value := topKey(&doc, a.key)
	if key == nil {
		return append(bytes.Clone(text), "\n"+a.key+":\n"+a.text("  ")...), nil
	}
	indent := "  "
	switch {
	case value.Kind == yaml.MappingNode && value.Style&yaml.FlowStyle == 0 && len(value.Content) > 0:
		indent = strings.Repeat(" ", value.Content[0].Column-1)
	case value.Tag == "!!null" && value.Value == "":
	default:
		return nil, a.byHand()
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	head := bytes.Join(lines[:key.Line], nil)
	return append(append(head, a.text(indent)...), bytes.Join(lines[key.Line:], nil)...), nil
}

// topKey finds a key of the document's top and its value.
func topKey(doc *yaml.Node, name string) (key, value *yaml.Node) {
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil
	}
	top := doc.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		if top[i].Value == name {
			return top[i], top[i+1]
		}
	}
	return nil, nil
}

// check compares what both texts say.
func (a added) check(file string, before, after []byte) error {
	var was, is Config
	if _, err := was.parse(file, before); err != nil {
		return err
	}
	if _, err := is.parse(file, after); err != nil {
		return errors.Join(a.byHand(), err)
	}
	if _, there := a.take(&was); there {
		return fmt.Errorf("the file names %s already", a.name)
	}
	if got, there := a.take(&is); !there || !reflect.DeepEqual(got, a.value) || !reflect.DeepEqual(was, is) {
		return a.byHand()
	}
	return nil
}

// replace puts the text in the file's place, synced, with its owner and group and
// with [FileMode], unless the file has changed meanwhile.
func replace(file string, info os.FileInfo, before, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".holdgate-*.yaml")
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, keepOwner(tmp, info), tmp.Chmod(FileMode(info.Mode().Perm())), tmp.Sync(), tmp.Close()); err == nil {
		var now []byte
		if now, _, err = readWhole(file); err == nil && !bytes.Equal(now, before) {
			err = errors.New("somebody else has changed it just now")
		}
	}
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing the configuration: %w", err), os.Remove(tmp.Name()))
	}
	return syncFolder(filepath.Dir(file))
}

// syncFolder makes a rename in the folder durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing the configuration's folder: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("syncing the configuration's folder: %w", err)
	}
	return nil
}
