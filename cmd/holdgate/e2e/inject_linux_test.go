package e2e_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
)

// agentsPod is what somebody has injected.
const agentsPod = `apiVersion: v1
kind: Pod
metadata: {name: agent}
spec: {containers: [{name: agent, image: registry.example/agent:1}]}
`

// A podContainer is of an injected pod, as far as this test runs it.
type podContainer struct {
	Name            string
	RestartPolicy   string `yaml:"restartPolicy"`
	Command         []string
	SecurityContext struct {
		RunAsUser uint32 `yaml:"runAsUser"`
	} `yaml:"securityContext"`
}

// startsAsInjected runs what `holdgate inject` has a pod run before Holdgate and the agent
// start: with the users, the commands and the ConfigMap that it prints. Files are below dir.
func startsAsInjected(t *testing.T, dir string, flags ...string) {
	t.Helper()
	inject := exec.CommandContext(t.Context(), binary, append([]string{"inject"}, flags...)...)
	inject.Env, inject.Stdin, inject.Stderr = environment(), strings.NewReader(agentsPod), os.Stderr
	printed, err := inject.Output()
	if err != nil {
		t.Fatal(err)
	}
	var configMap struct{ Data map[string]string }
	var pod struct {
		Spec struct {
			InitContainers []podContainer `yaml:"initContainers"`
		}
	}
	documents := yaml.NewDecoder(bytes.NewReader(printed))
	if err := errors.Join(documents.Decode(&configMap), documents.Decode(&pod)); err != nil {
		t.Fatalf("%v in\n%s", err, printed)
	}
	config, rules := filepath.Join(dir, "config"), filepath.Join(dir, "rules")
	for _, folder := range []string{dir, config, rules} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(rules, 0o777); err != nil { // an emptyDir is everybody's
		t.Fatal(err)
	}
	for name, text := range configMap.Data {
		place(t, filepath.Join(config, name), text)
	}
	at := strings.NewReplacer("/etc/holdgate/", config+"/", "/run/holdgate-rules/", rules+"/")
	ran := 0
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy == "Always" { // Holdgate itself
			continue
		}
		for i, arg := range c.Command {
			c.Command[i] = at.Replace(arg)
		}
		if c.Command[0] == "holdgate" {
			c.Command[0] = binary
		}
		cmd := exec.CommandContext(t.Context(), c.Command[0], c.Command[1:]...)
		cmd.Env, cmd.Dir = environment(), "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.SecurityContext.RunAsUser, Gid: c.SecurityContext.RunAsUser}, Pdeathsig: syscall.SIGKILL}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %v\n%s", c.Name, c.Command, err, out)
		}
		ran++
	}
	if ran == 0 {
		t.Fatalf("nothing loads rules in\n%s", printed)
	}
}

// injectedPods holds that the rules of an injected pod let nobody in it out but through
// Holdgate, let DNS pass to the servers that are named, and let Holdgate itself out.
func injectedPods(t *testing.T, dir, own, providers string) {
	resolv := filepath.Join(dir, "resolv.conf")
	place(t, resolv, "nameserver "+nameServer+"\nsearch example\n")
	succeed(t, "mount", "--bind", resolv, "/etc/resolv.conf")
	for _, tt := range []struct {
		name  string
		flags []string
	}{
		{"the pod's servers for names", nil},
		{"a server for names that is named", []string{"--dns", nameServer}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Everybody is out again, so that what was loaded before is not what is seen.
			succeed(t, "nft", "flush", "ruleset")
			if got := probeAs(t, dir, agentUID, []probe{{Name: "out", What: "get", To: "http://up4.example/forbidden"}}); !strings.HasPrefix(got["out"], "200 ") {
				t.Fatalf("without rules: %v", got)
			}
			startsAsInjected(t, filepath.Join(dir, "pod-"+strings.ReplaceAll(tt.name, " ", "-")), tt.flags...)
			for name, got := range probeAs(t, dir, agentUID, probes(own)) {
				want := afterRules[name]
				if name == "an exception" {
					want = "403 " // inject makes none
				}
				if !strings.Contains(got, want) {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
			for name, got := range probeAs(t, dir, sidecarUID, probes(providers)) {
				if want := beforeRules[name]; name != "the door itself" && !strings.Contains(got, want) {
					t.Errorf("Holdgate itself: %s: %s, want %s", name, got, want)
				}
			}
		})
	}
}
