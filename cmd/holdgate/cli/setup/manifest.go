package setup

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// separator begins a document. In no text of YAML can such a line be anything else.
var separator = regexp.MustCompile(`(?m)^---[ \t]*(#.*)?\r?\n?$`)

// documents are the documents of a stream, each without its separator.
func documents(text []byte) (docs [][]byte) {
	for _, doc := range separator.Split(string(text), -1) {
		doc := bytes.TrimLeft([]byte(doc), "\r\n")
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		if !bytes.HasSuffix(doc, []byte("\n")) {
			doc = append(doc, '\n')
		}
		docs = append(docs, doc)
	}
	return docs
}

func encode(w io.Writer, n *yaml.Node) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return err
	}
	return e.Close()
}

// child is the value at a path of keys; nil where there is none.
func child(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		at := index(n, key)
		if at < 0 {
			return nil
		}
		n = n.Content[at+1]
	}
	return n
}

// index is where a key stands in a mapping; -1 where it does not.
func index(n *yaml.Node, key string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// value is a scalar of a mapping, empty where there is none.
func value(n *yaml.Node, key string) string {
	if v := child(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// named is the item of a list that has a name.
func named(list *yaml.Node, name string) *yaml.Node {
	for _, n := range items(list) {
		if value(n, "name") == name {
			return n
		}
	}
	return nil
}

// containers are all of a pod.
func containers(spec *yaml.Node) []*yaml.Node {
	return slices.Concat(items(child(spec, "initContainers")), items(child(spec, "containers")))
}

func set(n *yaml.Node, key string, v *yaml.Node) {
	if at := index(n, key); at >= 0 {
		n.Content[at+1] = v
		return
	}
	n.Content = append(n.Content, scalar(key), v)
}

func drop(n *yaml.Node, key string) {
	if at := index(n, key); at >= 0 {
		n.Content = slices.Delete(n.Content, at, at+2)
	}
}

// sequence is the list under a key, which is made where there is none.
func sequence(n *yaml.Node, key string) *yaml.Node {
	list := child(n, key)
	if list == nil || list.Kind != yaml.SequenceNode {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		set(n, key, list)
	}
	return list
}

func scalar(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

func number(i int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(i)}
}

func mapping(pairs ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(pairs); i += 2 {
		set(n, pairs[i], scalar(pairs[i+1]))
	}
	return n
}

func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, of := range n.Content {
		c.Content = append(c.Content, clone(of))
	}
	return &c
}

func aliased(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || slices.ContainsFunc(n.Content, aliased)
}

// plain gives each mapping and list that can grow lines of its own.
func plain(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		n.Style &^= yaml.FlowStyle
	}
	for _, of := range n.Content {
		plain(of)
	}
}

// uncommented takes the comments away: they explain another document.
func uncommented(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, of := range n.Content {
		uncommented(of)
	}
}
