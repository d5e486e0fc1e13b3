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

// FileMode is the mode of a configuration file that names people: whoever reads
// their tokens' hashes could pass for the sidecar to them.
const FileMode os.FileMode = 0o600

// AddPerson puts a person into a configuration file. Every other line stays as
// it is. The file is replaced as a whole, and nobody but its owner may read it
// from then on: was is its mode before. Nothing is written where the result
// would say anything else than before and the person.
func AddPerson(file string, name PersonName, p Person) (was os.FileMode, err error) {
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return 0, fmt.Errorf("reading the configuration: %w", err)
	}
	before, info, err := readWhole(file)
	if err != nil {
		return 0, err
	}
	after, err := withPerson(before, name, p)
	if err != nil {
		return 0, fmt.Errorf("adding %s to %s: %w", name, file, err)
	}
	if err := checkAdded(file, before, after, name, p); err != nil {
		return 0, fmt.Errorf("adding %s to %s: %w", name, file, err)
	}
	return info.Mode().Perm(), replace(file, before, after)
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

// errByHand says that a file is written in a way that is not edited here.
var errByHand = errors.New("its people are not written as a block, one key a line: put the person in by hand")

// withPerson returns the text with the person right after the key people, or
// with that key at its end where there is none.
func withPerson(text []byte, name PersonName, p Person) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(bytes.Clone(text), '\n')
	}
	key, value := peopleKey(&doc)
	if key == nil {
		return append(bytes.Clone(text), "\npeople:\n"+p.Entry(name, "  ")...), nil
	}
	indent := "  "
	switch {
	case value.Kind == yaml.MappingNode && value.Style&yaml.FlowStyle == 0 && len(value.Content) > 0:
		indent = strings.Repeat(" ", value.Content[0].Column-1)
	case value.Tag == "!!null" && value.Value == "":
	default:
		return nil, errByHand
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	head := bytes.Join(lines[:key.Line], nil)
	return append(append(head, p.Entry(name, indent)...), bytes.Join(lines[key.Line:], nil)...), nil
}

// peopleKey finds the key people and its value.
func peopleKey(doc *yaml.Node) (key, value *yaml.Node) {
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil
	}
	top := doc.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		if top[i].Value == "people" {
			return top[i], top[i+1]
		}
	}
	return nil, nil
}

// checkAdded compares what both texts say.
func checkAdded(file string, before, after []byte, name PersonName, p Person) error {
	var was, is Config
	if err := was.parse(file, before); err != nil {
		return err
	}
	if err := is.parse(file, after); err != nil {
		return errors.Join(errByHand, err)
	}
	if _, there := was.People[name]; there {
		return errors.New("the file names this person already")
	}
	if got, there := is.People[name]; !there || !reflect.DeepEqual(got, p) {
		return errByHand
	}
	if delete(is.People, name); len(is.People) == 0 && len(was.People) == 0 {
		was.People, is.People = nil, nil
	}
	if !reflect.DeepEqual(was, is) {
		return errByHand
	}
	return nil
}

// replace puts the text in the file's place, synced, with [FileMode], unless
// the file has changed meanwhile.
func replace(file string, before, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".holdgate-*.yaml")
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Chmod(FileMode), tmp.Sync(), tmp.Close()); err == nil {
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
