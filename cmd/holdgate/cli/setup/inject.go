package setup

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// maxManifests bounds what inject reads.
const maxManifests = 64 << 20

// defaultImage is the chart's, too.
const defaultImage = "registry.example/holdgate:1"

// sidecarUID is the user that Holdgate runs as in pods.
const sidecarUID = 7300

func injectCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "inject",
		UsageText: "holdgate inject < deployment.yaml | kubectl apply -f -",
		Usage:     "put Holdgate into Kubernetes manifests",
		Description: "Reads manifests from standard input and prints them with a Holdgate in each pod\n" +
			"of a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob or Pod. A pod\n" +
			"gets an init container that leads all TCP to Holdgate, Holdgate as a native\n" +
			"sidecar (Kubernetes 1.29), and Holdgate's CA for every container. A ConfigMap for\n" +
			"them comes first. All other documents are printed as they are. You can inject\n" +
			"printed manifests again. Another kind with containers in it is refused, unless\n" +
			"--template names it. A pod that could go around Holdgate is refused: one with the\n" +
			"host network, privileged containers, capabilities that change rules or users, or\n" +
			"Holdgate's own user. DNS passes only to the servers that the pod's own\n" +
			"/etc/resolv.conf names, or --dns.\n" +
			"The images are your own: deploy/image/build --push makes Holdgate's.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "dns", Usage: "let DNS pass to the server at `ADDRESS` alone; may be repeated; default: those of the pod's /etc/resolv.conf"},
			&cli.StringFlag{Name: "image", Usage: "Holdgate's `IMAGE`, of your registry", Value: defaultImage},
			&cli.StringFlag{Name: "netfilter-image", Usage: "an `IMAGE` with the program nft", Value: "registry.example/nftables:1"},
			&cli.StringFlag{Name: "claim", Usage: "keep the state in the PersistentVolumeClaim `NAME`; default: an emptyDir, which goes with the pod"},
			&cli.StringFlag{Name: "secret", Usage: "copy the files of the Secret `NAME` into the state folder first, with mode 0600, such as tokens of channels"},
			&cli.StringSliceFlag{Name: "template", Usage: "a `KIND` whose pods are made from its spec.template too, such as Rollout; may be repeated"},
			&cli.StringFlag{Name: "config-map", Usage: "use the ConfigMap `NAME` with holdgate.yaml and rules.nft, and print none"},
		},
		Action: e.inject,
	}
}

func (e *env) inject(c *cli.Context) error {
	if c.Args().Present() {
		return command.Usage("inject reads standard input and takes no arguments, got %q", c.Args().First())
	}
	var dns []netip.Addr // this host's are not the pod's
	if named := c.StringSlice("dns"); len(named) > 0 {
		var err error
		if dns, err = nameServers(named); err != nil {
			return err
		}
	}
	in, err := newInjection(dns, c.String("config-map"), c.String("claim"), c.String("image"), c.String("netfilter-image"))
	if err != nil {
		return err
	}
	in.templates = c.StringSlice("template")
	if name := c.String("secret"); name != "" {
		in.takeSecret(name)
	}
	text, err := io.ReadAll(io.LimitReader(e.Stdin, maxManifests+1))
	if err != nil {
		return fmt.Errorf("reading manifests: %w", err)
	}
	if len(text) > maxManifests {
		return fmt.Errorf("reading manifests: they are over %d bytes", maxManifests)
	}
	out, err := in.stream(text)
	for _, said := range in.said {
		fmt.Fprintln(e.Stderr, "holdgate inject: "+holdgate.Visible(said))
	}
	if err != nil {
		return err
	}
	if in.pods > 0 && !c.IsSet("image") {
		fmt.Fprintf(e.Stderr, "holdgate inject: the image is %s: push it there (deploy/image/build --push), or name yours with --image\n", defaultImage)
	}
	if in.pods == 0 {
		fmt.Fprintln(e.Stderr, "holdgate inject: no pod was found, and nothing changed")
	}
	_, err = e.Stdout.Write(out)
	return err
}

// An injection is what is put into manifests. It takes it from the manifest that `netfilter --kubernetes` prints, so
// that there is one description of such a pod.
type injection struct {
	configMap, pod *yaml.Node
	claim          string   // of the state; empty: it goes with the pod
	ownMap         bool     // the ConfigMap is printed too
	templates      []string // kinds besides podAt that have a pod in spec.template
	pods           int      // that were found
	spaces         []string // namespaces of pods; "" where a manifest names none
	taken          []takenMap
	said           []string // for people
}

func newInjection(dns []netip.Addr, configMap, claim, image, netfilter string) (*injection, error) {
	docs := yaml.NewDecoder(bytes.NewReader([]byte(redirection{uid: sidecarUID, port: defaultTransparent, dns: dns}.manifest())))
	var m, p yaml.Node
	if err := errors.Join(docs.Decode(&m), docs.Decode(&p)); err != nil {
		return nil, fmt.Errorf("reading the pod's manifest: %w", err)
	}
	in := &injection{configMap: m.Content[0], pod: p.Content[0], ownMap: configMap == "", claim: claim}
	for _, n := range []*yaml.Node{in.configMap, in.pod} {
		plain(n)
		uncommented(n)
	}
	set(child(in.configMap, "metadata"), "labels", mapping("app.kubernetes.io/managed-by", "holdgate-inject"))
	spec := child(in.pod, "spec")
	for _, v := range child(spec, "volumes").Content {
		switch {
		case value(v, "name") == "state":
			set(v, "name", scalar("holdgate-state"))
			if claim != "" {
				drop(v, "emptyDir")
				set(v, "persistentVolumeClaim", mapping("claimName", claim))
			}
		case configMap != "":
			set(child(v, "configMap"), "name", scalar(configMap))
		}
	}
	for _, c := range containers(spec) {
		switch value(c, "name") {
		case "holdgate":
			set(c, "image", scalar(image))
		case "netfilter":
			set(c, "name", scalar("holdgate-netfilter"))
			set(c, "image", scalar(netfilter))
		}
		for _, mount := range items(child(c, "volumeMounts")) {
			if value(mount, "name") == "state" {
				set(mount, "name", scalar("holdgate-state"))
			}
		}
	}
	if in.ownMap && len(dns) == 0 {
		return in, in.readServers()
	}
	return in, nil
}

// stream injects into each document of a stream, and keeps the others byte for byte.
func (in *injection) stream(text []byte) ([]byte, error) {
	var out bytes.Buffer
	for i, doc := range documents(text) {
		var n yaml.Node
		read := yaml.NewDecoder(bytes.NewReader(doc))
		if err := read.Decode(&n); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		if err := read.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("document %d: more follows in it: begin each document with a line of its own, ---", i+1)
		}
		changed, err := false, error(nil)
		if len(n.Content) == 1 {
			if isOwnMap(n.Content[0]) {
				continue // it is printed anew, or another is used
			}
			if changed, err = in.object(n.Content[0]); err == nil {
				err = in.take(n.Content[0], i+1)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		if out.Len() > 0 || i > 0 {
			out.WriteString("---\n")
		}
		if !changed {
			out.Write(doc)
			continue
		}
		if err := encode(&out, &n); err != nil {
			return nil, err
		}
	}
	if !in.ownMap || in.pods == 0 {
		return out.Bytes(), nil
	}
	for _, m := range in.taken {
		if slices.ContainsFunc(in.spaces, func(space string) bool { return space == m.space || space == "" || m.space == "" }) {
			return nil, fmt.Errorf("document %d: it has a ConfigMap holdgate, which is what inject calls its own beside the pods: give it another name, "+
				"use it with --config-map holdgate, or name its namespace and that of the pods where they differ", m.document)
		}
	}
	var all bytes.Buffer
	for _, space := range in.spaces {
		m := clone(in.configMap)
		if space != "" {
			set(child(m, "metadata"), "namespace", scalar(space))
		}
		if err := encode(&all, m); err != nil {
			return nil, err
		}
		all.WriteString("---\n")
	}
	all.Write(bytes.TrimPrefix(out.Bytes(), []byte("---\n")))
	return all.Bytes(), nil
}

// podAt is where an object of a kind has its pod's specification.
var podAt = map[string][]string{
	"v1/Pod": {"spec"}, "apps/v1/Deployment": {"spec", "template", "spec"}, "apps/v1/StatefulSet": {"spec", "template", "spec"},
	"apps/v1/DaemonSet": {"spec", "template", "spec"}, "apps/v1/ReplicaSet": {"spec", "template", "spec"},
	"v1/ReplicationController": {"spec", "template", "spec"}, "v1/PodTemplate": {"template", "spec"},
	"batch/v1/Job": {"spec", "template", "spec"}, "batch/v1/CronJob": {"spec", "jobTemplate", "spec", "template", "spec"},
}

// hasContainers reports whether anything in an object looks like a container: under a key by
// which Kubernetes, Argo or Tekton have containers, something with an image.
func hasContainers(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		return false // what it stands for is looked at where it is
	}
	for _, key := range []string{"containers", "initContainers", "container", "sidecars", "script", "steps"} {
		at := child(n, key)
		if at != nil && at.Kind == yaml.AliasNode {
			at = at.Alias
		}
		if child(at, "image") != nil {
			return true
		}
		for _, c := range items(at) {
			if c.Kind == yaml.AliasNode {
				c = c.Alias
			}
			if child(c, "image") != nil {
				return true
			}
		}
	}
	return slices.ContainsFunc(n.Content, hasContainers)
}

// object injects into an object, or into each of a list.
func (in *injection) object(n *yaml.Node) (changed bool, err error) {
	kind := value(n, "apiVersion") + "/" + value(n, "kind")
	if kind == "v1/List" {
		list := child(n, "items")
		if list != nil && list.Kind == yaml.AliasNode || slices.ContainsFunc(items(list), func(item *yaml.Node) bool { return item.Kind == yaml.AliasNode }) {
			return false, errors.New("the List uses YAML aliases for what it lists: expand them first")
		}
		if all := len(items(list)); all > 0 {
			list.Content = slices.DeleteFunc(list.Content, isOwnMap) // printed anew, or another is used
			changed = len(list.Content) < all
		}
		for _, item := range items(list) {
			one, err := in.object(item)
			if changed = changed || one; err != nil {
				return changed, err
			}
		}
		return changed, nil
	}
	name := fmt.Sprintf("%s %s", value(n, "kind"), cmp.Or(value(child(n, "metadata"), "name"), "without a name"))
	at, ok := podAt[kind]
	if !ok && slices.Contains(in.templates, value(n, "kind")) {
		at, ok = []string{"spec", "template", "spec"}, true
	}
	if !ok {
		if hasContainers(n) {
			return false, fmt.Errorf("%s has containers, and inject does not know where this kind keeps its pods: "+
				"say --template %s if they are made from its spec.template, or take it out", holdgate.Visible(name), holdgate.Visible(value(n, "kind")))
		}
		return false, nil
	}
	spec := child(n, at...)
	if spec == nil || len(items(child(spec, "containers"))) == 0 {
		return false, fmt.Errorf("%s has no containers at %v", holdgate.Visible(name), at)
	}
	if aliased(spec) {
		return false, fmt.Errorf("%s uses YAML aliases in its pod: expand them first", holdgate.Visible(name))
	}
	plain(spec)
	if taken := takenName(spec); taken != "" {
		return false, fmt.Errorf("%s has a %s of its own, which is what Holdgate's is called: give it another name", holdgate.Visible(name), taken)
	}
	before := remove(spec)
	if err := escapes(spec); err != nil {
		return false, fmt.Errorf("%s %w", holdgate.Visible(name), err)
	}
	if err := in.shared(name, n); err != nil {
		return false, err
	}
	in.put(name, spec)
	in.keep(name, before, spec)
	in.pods++
	if space := value(child(n, "metadata"), "namespace"); !slices.Contains(in.spaces, space) {
		in.spaces = append(in.spaces, space)
	}
	return true, nil
}

// shared refuses a claim that several pods would write to: one Holdgate alone may.
func (in *injection) shared(name string, n *yaml.Node) error {
	if in.claim == "" {
		return nil
	}
	name, instead := holdgate.Visible(name), "one claim is for one pod: leave --claim out, so that each keeps its own state"
	if in.pods > 0 {
		return fmt.Errorf("%s is not the first with pods: %s, or inject them one by one", name, instead)
	}
	if value(n, "kind") == "DaemonSet" {
		return fmt.Errorf("%s has a pod on each node: %s", name, instead)
	}
	for _, at := range [][]string{{"spec", "replicas"}, {"spec", "parallelism"}, {"spec", "jobTemplate", "spec", "parallelism"}} {
		if many := child(n, at...); many != nil && many.Value != "0" && many.Value != "1" {
			return fmt.Errorf("%s has %s: %s: %s", name, at[len(at)-1], holdgate.Visible(many.Value), instead)
		}
	}
	if value(n, "kind") == "Deployment" && value(child(n, "spec", "strategy"), "type") != "Recreate" {
		in.said = append(in.said, name+": set strategy: {type: Recreate}: else a new pod waits for the state that the old one has")
	}
	if value(n, "kind") == "CronJob" && value(child(n, "spec"), "concurrencyPolicy") != "Forbid" {
		in.said = append(in.said, name+": set concurrencyPolicy: Forbid: else two jobs want the same state")
	}
	return nil
}

// put puts Holdgate into a pod.
func (in *injection) put(name string, spec *yaml.Node) {
	own := child(in.pod, "spec")
	for _, list := range []string{"volumes", "initContainers"} {
		theirs := sequence(spec, list)
		added := clone(child(own, list)).Content
		if list == "initContainers" { // before those of the pod, whose connections are led too
			theirs.Content = append(added, theirs.Content...)
			continue
		}
		theirs.Content = append(theirs.Content, added...)
	}
	security := child(spec, "securityContext")
	if security == nil {
		security = mapping()
		set(spec, "securityContext", security)
	}
	if child(security, "fsGroup") == nil {
		set(security, "fsGroup", number(sidecarUID))
	}
	// At each start of a pod, files of a volume would else be opened to the group, and Holdgate refuses such keys.
	set(security, "fsGroupChangePolicy", scalar("OnRootMismatch"))
	agent := items(child(own, "containers"))[0]
	for _, c := range containers(spec) {
		if named(child(own, "initContainers"), value(c, "name")) != nil {
			continue
		}
		for _, list := range []struct{ name, key string }{{"env", "name"}, {"volumeMounts", "mountPath"}} {
			theirs := sequence(c, list.name)
			for _, add := range items(child(agent, list.name)) {
				key := value(add, list.key)
				at := slices.IndexFunc(theirs.Content, func(n *yaml.Node) bool { return value(n, list.key) == key })
				switch {
				case at >= 0 && value(theirs.Content[at], "value") == oldCA: // as inject put it before there was a bundle
					theirs.Content[at] = clone(add)
				case at < 0:
					theirs.Content = append(theirs.Content, clone(add))
				case list.name == "env" && value(theirs.Content[at], "value") != value(add, "value"):
					in.said = append(in.said, fmt.Sprintf("%s: container %s sets %s itself, which stays: it must trust %s too", name, value(c, "name"), key, value(add, "value")))
				}
			}
		}
		confine(c)
	}
}

// oldCA is what variables named that now name a bundle.
const oldCA = "/etc/holdgate-ca.pem"

// confine takes from a container what could change the rules or its user.
func confine(c *yaml.Node) {
	security := child(c, "securityContext")
	if security == nil {
		security = mapping()
		set(c, "securityContext", security)
	}
	set(security, "allowPrivilegeEscalation", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"})
	capabilities := child(security, "capabilities")
	if capabilities == nil {
		capabilities = mapping()
		set(security, "capabilities", capabilities)
	}
	set(capabilities, "drop", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Content: []*yaml.Node{scalar("ALL")}})
}

// harmless are capabilities that help nobody around the rules.
var harmless = []string{"NET_BIND_SERVICE", "CHOWN", "KILL"}

// escapes says how a pod could go around Holdgate.
func escapes(spec *yaml.Node) error {
	for _, key := range []string{"hostNetwork", "hostPID", "shareProcessNamespace"} {
		if value(spec, key) == "true" {
			return fmt.Errorf("has %s: its processes could go around Holdgate", key)
		}
	}
	uid := strconv.Itoa(sidecarUID)
	if value(child(spec, "securityContext"), "runAsUser") == uid {
		return fmt.Errorf("runs as user %s, which is Holdgate's own", uid)
	}
	for _, c := range containers(spec) {
		security := child(c, "securityContext")
		switch {
		case value(security, "privileged") == "true":
			return fmt.Errorf("has a privileged container, %s, which could go around Holdgate", holdgate.Visible(value(c, "name")))
		case value(security, "runAsUser") == uid:
			return fmt.Errorf("has a container %s that runs as user %s, which is Holdgate's own", holdgate.Visible(value(c, "name")), uid)
		}
		for _, added := range items(child(security, "capabilities", "add")) {
			if !slices.Contains(harmless, added.Value) {
				return fmt.Errorf("gives its container %s the capability %s, with which it could go around Holdgate", holdgate.Visible(value(c, "name")), holdgate.Visible(added.Value))
			}
		}
	}
	return nil
}
