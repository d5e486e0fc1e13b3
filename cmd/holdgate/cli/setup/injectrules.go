package setup

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// inPodRules has each pod make its rules itself, which let DNS pass to the servers that
// Kubernetes has it ask.
const inPodRules = `
volume: {name: holdgate-rules, emptyDir: {medium: Memory}}
container:
  name: holdgate-rules
  command: [holdgate, netfilter, --config, /etc/holdgate/holdgate.yaml, --uid, "@UID@", --output, /run/holdgate-rules/rules.nft]
  resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 256Mi}}
  volumeMounts:
    - {name: holdgate, mountPath: /etc/holdgate, readOnly: true}
    - {name: holdgate-rules, mountPath: /run/holdgate-rules}
load: [nft, -f, /run/holdgate-rules/rules.nft]
loads:
  - {name: holdgate-rules, mountPath: /run/holdgate-rules, readOnly: true}
`

func (in *injection) readServers() error {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(inPodRules, "@UID@", strconv.Itoa(sidecarUID))), &doc); err != nil {
		return fmt.Errorf("reading what makes a pod's rules: %w", err)
	}
	parts, spec := doc.Content[0], child(in.pod, "spec")
	plain(parts)
	drop(child(in.configMap, "data"), "rules.nft")
	inits := child(spec, "initContainers")
	makes, sidecar := child(parts, "container"), named(inits, "holdgate")
	for _, same := range []string{"image", "securityContext"} {
		set(makes, same, clone(child(sidecar, same)))
	}
	loads := named(inits, "holdgate-netfilter")
	set(loads, "command", child(parts, "load"))
	set(loads, "volumeMounts", child(parts, "loads"))
	inits.Content = append([]*yaml.Node{makes}, inits.Content...)
	volumes := child(spec, "volumes")
	volumes.Content = append(volumes.Content, child(parts, "volume"))
	return nil
}
