package setup

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// secretAt is where the Secret of --secret is, for the container that copies its files.
const secretAt = "/etc/holdgate-secret"

// takeSecret has the files of a Secret in the state folder before the sidecar starts. Mounted
// in the sidecar they would be open to their group, and it takes no such file.
func (in *injection) takeSecret(name string) {
	spec := child(in.pod, "spec")
	volume := mapping("name", "holdgate-secret")
	set(volume, "secret", mapping("secretName", name))
	volumes := sequence(spec, "volumes")
	volumes.Content = append(volumes.Content, volume)

	inits := child(spec, "initContainers")
	at := slices.IndexFunc(inits.Content, func(c *yaml.Node) bool { return value(c, "name") == "holdgate" })
	copies := clone(inits.Content[at])
	for _, key := range []string{"restartPolicy", "startupProbe", "livenessProbe", "readinessProbe"} {
		drop(copies, key)
	}
	set(copies, "name", scalar("holdgate-secret"))
	command := sequence(copies, "command")
	command.Content = nil
	for _, word := range []string{"holdgate", "store", "keys", "--from", secretAt, "--state-dir", "/var/lib/holdgate/state", "--config", ""} {
		command.Content = append(command.Content, scalar(word))
	}
	mount := mapping("name", "holdgate-secret", "mountPath", secretAt)
	set(mount, "readOnly", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	mounts := sequence(copies, "volumeMounts")
	mounts.Content = append(mounts.Content, mount)
	inits.Content = slices.Insert(inits.Content, at, copies)
}

// keep puts back what somebody has added to the sidecar of an earlier injection: variables
// and mounts. What else differs is printed anew, and said.
func (in *injection) keep(name string, before, spec *yaml.Node) {
	if before == nil {
		return
	}
	now := named(child(spec, "initContainers"), "holdgate")
	var kept, anew, leads []string
	for _, list := range []struct{ name, key string }{{"env", "name"}, {"envFrom", ""}, {"volumeMounts", "mountPath"}} {
		for _, old := range items(child(before, list.name)) {
			key := value(old, list.key)
			ours := slices.ContainsFunc(items(child(now, list.name)), func(n *yaml.Node) bool { return list.key != "" && value(n, list.key) == key })
			if ours || list.name == "volumeMounts" && slices.Contains(ownNames["volumes"], value(old, "name")) {
				continue
			}
			if misleads(list.name, key, items(child(now, "volumeMounts"))) {
				leads = append(leads, strings.TrimSpace(list.name+" "+key))
				continue
			}
			theirs := sequence(now, list.name)
			theirs.Content = append(theirs.Content, clone(old))
			kept = append(kept, strings.TrimSpace(list.name+" "+key))
		}
	}
	for i := 0; i+1 < len(before.Content); i += 2 {
		switch key := before.Content[i].Value; key {
		case "name", "image", "env", "envFrom", "volumeMounts":
		default:
			if !alike(before.Content[i+1], child(now, key)) {
				anew = append(anew, key)
			}
		}
	}
	if len(kept) > 0 {
		in.said = append(in.said, fmt.Sprintf("%s: kept in Holdgate's container: %s", name, strings.Join(kept, ", ")))
	}
	if len(leads) > 0 {
		in.said = append(in.said, fmt.Sprintf("%s: not kept in Holdgate's container, for it could have Holdgate do something else: %s", name, strings.Join(leads, ", ")))
	}
	if len(anew) > 0 {
		in.said = append(in.said, fmt.Sprintf("%s: printed anew in Holdgate's container, and not kept: %s", name, strings.Join(anew, ", ")))
	}
}

// leading are variables by which a program is led: where its code, its certificates, its
// configuration or its network are.
var leading = regexp.MustCompile(`(?i)^(?:LD_|SSL_|GO|HOLDGATE_|XDG_|HOME$|PATH$|TMPDIR$|(?:HTTPS?|ALL|NO)_PROXY$)`)

// misleads reports whether something that was added to Holdgate's container could have it do
// something else: who writes a manifest writes what an earlier injection is taken for, too.
func misleads(list, key string, own []*yaml.Node) bool {
	switch list {
	case "env":
		return leading.MatchString(key)
	case "envFrom":
		return true // nobody sees here which variables these are
	}
	at := path.Clean("/" + key)
	taken := []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev", "/var/lib/holdgate"}
	for _, mount := range own {
		taken = append(taken, path.Clean("/"+value(mount, "mountPath")))
	}
	return slices.ContainsFunc(taken, func(of string) bool {
		return at == of || at == "/" || strings.HasPrefix(at, of+"/") || strings.HasPrefix(of, at+"/")
	})
}

// alike reports whether two values say the same, however they are written.
func alike(a, b *yaml.Node) bool {
	if b == nil {
		return false
	}
	var texts [2][]byte
	for i, n := range []*yaml.Node{a, b} {
		var v any
		if err := n.Decode(&v); err != nil {
			return false
		}
		var err error
		if texts[i], err = yaml.Marshal(v); err != nil {
			return false
		}
	}
	return bytes.Equal(texts[0], texts[1])
}
