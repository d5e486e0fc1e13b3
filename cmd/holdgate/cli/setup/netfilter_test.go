package setup

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// A podDocument is as much of a manifest as matters to where connections go.
type podDocument struct {
	Kind string
	Data map[string]string
	Spec struct {
		Volumes        []struct{ Name string }
		InitContainers []podContainer `yaml:"initContainers"`
		Containers     []podContainer
	}
}

type podContainer struct {
	Name            string
	Command         []string
	RestartPolicy   string `yaml:"restartPolicy"`
	SecurityContext struct {
		RunAsUser                int   `yaml:"runAsUser"`
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		Capabilities             struct{ Drop, Add []string }
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name    string
		SubPath string `yaml:"subPath"`
	} `yaml:"volumeMounts"`
}

// The manifest in deploy is what the command prints, and says the same in each
// of its parts.
func TestTheManifestOfAPod(t *testing.T) {
	r := redirection{port: 15001, uid: 7300, dns: []netip.Addr{netip.MustParseAddr("10.96.0.10")}}
	stored, err := os.ReadFile("../../../../deploy/kubernetes.yaml")
	if err != nil || string(stored) != r.manifest() {
		t.Errorf("deploy/kubernetes.yaml is not what `holdgate netfilter --kubernetes --uid 7300 --dns 10.96.0.10` prints (%v)", err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(stored))
	var docs []podDocument
	for {
		var d podDocument
		err := dec.Decode(&d)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, d)
	}
	if len(docs) != 2 || docs[0].Kind != "ConfigMap" || docs[1].Kind != "Pod" {
		t.Fatalf("documents: %+v", docs)
	}
	if docs[0].Data["rules.nft"] != r.rules() {
		t.Errorf("the rules are not those that are printed:\n%s", docs[0].Data["rules.nft"])
	}
	file := filepath.Join(t.TempDir(), "holdgate.yaml")
	if err := os.WriteFile(file, []byte(docs[0].Data["holdgate.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Flags{Config: file}, func(string) string { return "/root" })
	if err != nil || c.Listen.Transparent != "localhost:15001" {
		t.Errorf("the configuration: %q, %v", c.Listen.Transparent, err)
	}
	checkPod(t, docs[1], r.uid)
}

func checkPod(t *testing.T, d podDocument, uid int) {
	t.Helper()
	if len(d.Spec.InitContainers) != 2 || len(d.Spec.Containers) != 1 {
		t.Fatalf("containers: %+v", d.Spec)
	}
	rules, sidecar, agent := d.Spec.InitContainers[0], d.Spec.InitContainers[1], d.Spec.Containers[0]
	if add := rules.SecurityContext.Capabilities.Add; len(add) != 1 || add[0] != "NET_ADMIN" {
		t.Errorf("who loads the rules may %v", add)
	}
	if sidecar.SecurityContext.RunAsUser != uid || sidecar.RestartPolicy != "Always" {
		t.Errorf("the sidecar: %+v", sidecar)
	}
	if agent.SecurityContext.RunAsUser == uid || agent.SecurityContext.RunAsUser == 0 || len(agent.SecurityContext.Capabilities.Add) != 0 {
		t.Errorf("the agent: %+v", agent)
	}
	volumes := map[string]bool{}
	for _, v := range d.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range []podContainer{rules, sidecar, agent} {
		if e := c.SecurityContext.AllowPrivilegeEscalation; e == nil || *e {
			t.Errorf("%s may escalate its privileges", c.Name)
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s mounts %s, which is no volume", c.Name, m.Name)
			}
		}
	}
	var seen []string
	for _, m := range agent.VolumeMounts {
		seen = append(seen, m.Name+" "+m.SubPath)
	}
	if want := []string{"state state/ca.pem", "state state/ca-bundle.pem"}; !slices.Equal(seen, want) {
		t.Errorf("the agent sees %q, and not the CA and its bundle alone", seen)
	}
}
