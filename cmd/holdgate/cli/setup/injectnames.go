package setup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A described is what an object says of itself, or those in a list.
type described struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Items    []described
}

// configMaps are the ConfigMaps that an object is or has. In a list that says the kind of its
// objects, they need not.
func (d described) configMaps(kind string) (list []described) {
	if d.Kind != "" {
		kind = d.Kind
	}
	of, isList := strings.CutSuffix(kind, "List")
	switch {
	case kind == "ConfigMap":
		return []described{d}
	case isList:
		for _, item := range d.Items {
			list = append(list, item.configMaps(of)...)
		}
	}
	return list
}

// take notes the ConfigMaps of a document that are called as the one that is printed.
func (in *injection) take(n *yaml.Node, document int) error {
	var d described
	if value(n, "kind") != "ConfigMap" && !strings.HasSuffix(value(n, "kind"), "List") {
		return nil
	}
	if err := n.Decode(&d); err != nil {
		return fmt.Errorf("reading its kind and name: %w", err)
	}
	for _, m := range d.configMaps("") {
		if m.Metadata.Name == "holdgate" {
			in.taken = append(in.taken, takenMap{m.Metadata.Namespace, document})
		}
	}
	return nil
}

// A takenMap is a ConfigMap holdgate that inject did not make.
type takenMap struct {
	space    string // its namespace; empty where it names none
	document int    // that has it
}

func isOwnMap(n *yaml.Node) bool {
	return value(n, "kind") == "ConfigMap" && value(child(n, "metadata", "labels"), "app.kubernetes.io/managed-by") == "holdgate-inject"
}

// ownNames are those of what an injection adds to a pod, by any flags.
var ownNames = map[string][]string{
	"volumes":        {"holdgate", "holdgate-state", "holdgate-rules", "holdgate-secret"},
	"initContainers": {"holdgate-rules", "holdgate-netfilter", "holdgate-secret", "holdgate"},
}

// ownVolumes are the kinds that these volumes can be of.
var ownVolumes = map[string][]string{"holdgate": {"configMap"}, "holdgate-state": {"emptyDir", "persistentVolumeClaim"}, "holdgate-rules": {"emptyDir"}, "holdgate-secret": {"secret"}}

// injected reports whether an earlier injection put Holdgate into a pod: the sidecar and what
// loads the rules, as it makes them.
func injected(spec *yaml.Node) bool {
	inits := child(spec, "initContainers")
	sidecar, loads := named(inits, "holdgate"), named(inits, "holdgate-netfilter")
	mounts := child(sidecar, "volumeMounts")
	return value(sidecar, "restartPolicy") == "Always" && value(child(sidecar, "securityContext"), "runAsUser") == strconv.Itoa(sidecarUID) &&
		named(mounts, "holdgate") != nil && named(mounts, "holdgate-state") != nil && loads != nil
}

// takenName is what of a pod has a name of Holdgate's and is not of an earlier injection;
// empty where nothing has.
func takenName(spec *yaml.Node) string {
	before := injected(spec)
	for _, v := range items(child(spec, "volumes")) {
		name := value(v, "name")
		if slices.Contains(ownNames["volumes"], name) && !(before && slices.ContainsFunc(ownVolumes[name], func(kind string) bool { return child(v, kind) != nil })) {
			return "volume " + name
		}
	}
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, c := range items(child(spec, list)) {
			if slices.Contains(ownNames["initContainers"], value(c, "name")) && !(before && list == "initContainers") {
				return "container " + value(c, "name")
			}
		}
	}
	return ""
}

// remove takes out what an earlier injection put in, so that flags of today count. It
// returns the sidecar that was there; nil where none was.
func remove(spec *yaml.Node) (sidecar *yaml.Node) {
	sidecar = named(child(spec, "initContainers"), "holdgate")
	for list, names := range ownNames {
		if theirs := child(spec, list); theirs != nil {
			theirs.Content = slices.DeleteFunc(theirs.Content, func(n *yaml.Node) bool { return slices.Contains(names, value(n, "name")) })
		}
	}
	return sidecar
}
