package argv

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// labelled are kinds of things in a cluster of whose lists each column is a name, a number
// or an image.
const labelled = "pod pods po deploy deployment deployments svc service services sts statefulset statefulsets job jobs rs replicaset replicasets ds daemonset daemonsets ns namespace namespaces no node nodes"

var (
	// labelColumns are formats that print names and nothing else.
	labelColumns = lazyregexp.New(`^(name|wide|jsonpath=\{\.items\[(\d+|\*)\]\.metadata\.name\}|jsonpath=\{range \.items\[\*\]\}\{\.metadata\.name\}\{"\\n"\}\{end\}|custom-columns=(NAME)?:\.?metadata\.name)$`)
	// labelTemplates are templates of docker that print names and nothing else.
	labelTemplates = lazyregexp.New(`^(\{\{\.(Names?|ID)\}\}[ \t]?)+$`)
	// takesField is a program of awk that prints words of some lines, whole.
	takesField = lazyregexp.New(`^\s*[^{}|()]*\{\s*print\s+\$(\d+|NF)(\s*,\s*\$(\d+|NF))*\s*;?\s*(exit\s*;?)?\s*\}\s*$`)
)

// labelOrigin is what a cluster or a container engine prints of what it has. Names that
// these give or take begin with a letter or a digit.
func labelOrigin(name string, args []Field) Origin {
	if !AllKnown(args) {
		return OriginAny
	}
	switch name {
	case "kubectl", "oc":
		if o := ParseOptions(args, "nlo", "namespace selector output field-selector sort-by"); len(o.Operands) == 2 && o.Operands[0].Text == "get" && wordlist.Has(labelled, o.Operands[1].Text) &&
			o.Only("nloA", "namespace selector output field-selector sort-by all-namespaces no-headers") && !slices.ContainsFunc(o.Values("o", "output"), func(f Field) bool { return !labelColumns.MatchString(f.Text) }) {
			return OriginLabel
		}
	case "argocd":
		if Join(args, " ") == "app list -o name" {
			return OriginLabel
		}
	case "docker", "podman":
		listing := len(args) > 0 && args[0].Text == "ps" || len(args) > 1 && args[0].Text == "container" && wordlist.Has("ls ps", args[1].Text)
		o := ParseOptions(args, "fn", "filter format last")
		if formats := o.Values("", "format"); listing && len(formats) == 1 && labelTemplates.MatchString(formats[0].Text) && o.Only("afnl", "all filter format last latest") {
			return OriginLabel
		}
	}
	return OriginAny
}

// takesWords reports whether awk prints whole words of the lines that it reads from a pipe.
func takesWords(args []Field) bool {
	return len(args) == 1 && args[0].Known() && takesField.MatchString(args[0].Text) && !strings.Contains(args[0].Text, "getline")
}
