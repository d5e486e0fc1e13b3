// Package helm tests the chart, and the manifests that holdgate inject prints, as Helm
// and Kubernetes read them.
package helm

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/holdgate/holdgate/deploy/program"
)

const chart = "holdgate"

// render prints the chart as `helm template` does.
func render(t *testing.T, values string) (string, error) {
	t.Helper()
	c, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "holdgate", Namespace: "agents", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".yaml") {
			out.WriteString("---\n" + files[name] + "\n")
		}
	}
	return out.String(), nil
}

// decode reads each object of a stream into the type of its kind. A field that the type has not is an error.
func decode(t *testing.T, stream string) (objects []any) {
	t.Helper()
	for doc := range strings.SplitSeq("\n"+stream, "\n---") {
		var kind struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if kind.Kind == "" {
			continue
		}
		var object any
		var err error
		if kind.APIVersion == "monitoring.coreos.com/v1" && kind.Kind == "ServiceMonitor" {
			object = &monitoring.ServiceMonitor{}
		} else if object, err = scheme.Scheme.New(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)); err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
			t.Errorf("%s: %v in\n%s", kind.Kind, err, doc)
		}
		objects = append(objects, object)
	}
	return objects
}

// one is the object of a type; the last where there are several.
func one[T any](objects []any) *T {
	for _, o := range slices.Backward(objects) {
		if found, ok := o.(*T); ok {
			return found
		}
	}
	return nil
}

const everything = `
image: {repository: registry.example/holdgate, digest: "sha256:` + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + `"}
imagePullSecrets: [{name: pull}]
config:
  agents: {builder: {service_accounts: [ci/builder]}}
  people: {ann: {roles: [approve, admin], token_sha256: "9c5b76dbdfc3888016e98f2004fea6c9af631d0ed3d8f9b60d11205d29bbd688"}}
rules: {own.rego: "package own\n"}
env: [{name: ANTHROPIC_API_KEY, valueFrom: {secretKeyRef: {name: keys, key: anthropic}}}]
envFrom: [{secretRef: {name: more}}]
tokenReview: {enabled: true}
tls: {secretName: cert, names: [holdgate.example]}
persistence: {storageClass: fast, annotations: {a: b}}
autoscaling: {enabled: true}
metrics: {serviceMonitor: {enabled: true, labels: {release: prometheus}}}
networkPolicy:
  approvers: [{namespaceSelector: {matchLabels: {people: "true"}}}]
  egress: false
  egressTo: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: 443}]}]
serviceAccount: {name: gate, annotations: {a: b}}
podAnnotations: {a: b}
podLabels: {c: d}
nodeSelector: {disk: ssd}
tolerations: [{key: a, operator: Exists}]
affinity: {nodeAffinity: {}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
priorityClassName: high
`

const onPostgres = "{postgres: {secretName: shared, takeOver: 30s}, replicas: 2}"

// A workload is what starts the chart's pods.
type workload struct {
	name     string
	replicas *int32
	selector *meta.LabelSelector
	pod      core.PodTemplateSpec
	claims   []core.PersistentVolumeClaim
}

func workloadOf(t *testing.T, objects []any) workload {
	t.Helper()
	s, d := one[apps.StatefulSet](objects), one[apps.Deployment](objects)
	if (s == nil) == (d == nil) {
		t.Fatal("there is not one workload")
	}
	if s != nil {
		return workload{s.Name, s.Spec.Replicas, s.Spec.Selector, s.Spec.Template, s.Spec.VolumeClaimTemplates}
	}
	return workload{d.Name, d.Spec.Replicas, d.Spec.Selector, d.Spec.Template, nil}
}

// Helm's linter finds nothing, and Kubernetes takes what the chart prints, in which everything that is named is there.
func TestTheChart(t *testing.T) {
	for name, values := range map[string]string{
		"as it is":      "",
		"everything":    everything,
		"as little":     "{persistence: {enabled: false}, metrics: {enabled: false}, networkPolicy: {enabled: false}, podDisruptionBudget: {enabled: false}, serviceAccount: {create: false}}",
		"another name":  "{nameOverride: gate, replicas: 2, tls: {secretName: cert}}",
		"a name of its": "{fullnameOverride: own}",
		"on PostgreSQL": onPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			var given map[string]any
			if err := yaml.Unmarshal([]byte(values), &given); err != nil {
				t.Fatal(err)
			}
			for _, m := range lint.All(chart, given, "agents", true).Messages {
				if m.Severity >= support.WarningSev {
					t.Error(m)
				}
			}
			text, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			objects := decode(t, text)
			set := workloadOf(t, objects)
			pod := set.pod
			for key, value := range set.selector.MatchLabels {
				if pod.Labels[key] != value {
					t.Errorf("the selector asks for %s=%s, and the pods have %q", key, value, pod.Labels[key])
				}
			}
			volumes := map[string]bool{}
			for _, v := range pod.Spec.Volumes {
				volumes[v.Name] = true
			}
			for _, v := range set.claims {
				volumes[v.Name] = true
			}
			c := pod.Spec.Containers[0]
			mounted := map[string]bool{}
			for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				for _, m := range c.VolumeMounts {
					mounted[m.Name] = true
				}
			}
			if !maps.Equal(volumes, mounted) {
				t.Errorf("the volumes are %v, and mounted are %v", volumes, mounted)
			}
			ports := map[string]bool{}
			for _, p := range c.Ports {
				ports[p.Name] = true
			}
			for _, probe := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				if !ports[probe.HTTPGet.Port.StrVal] {
					t.Errorf("a probe asks port %s", probe.HTTPGet.Port.StrVal)
				}
			}
			served := map[string]bool{}
			for _, o := range objects {
				switch o := o.(type) {
				case *core.Service:
					for _, p := range o.Spec.Ports {
						served[p.Name] = true
						if !ports[p.TargetPort.StrVal] {
							t.Errorf("service %s leads to port %s", o.Name, p.TargetPort.StrVal)
						}
					}
					if !reflect.DeepEqual(o.Spec.Selector, set.selector.MatchLabels) {
						t.Errorf("service %s selects %v", o.Name, o.Spec.Selector)
					}
				case *policy.PodDisruptionBudget:
					if !reflect.DeepEqual(o.Spec.Selector, set.selector) {
						t.Errorf("the budget selects %v", o.Spec.Selector)
					}
				case *autoscaling.HorizontalPodAutoscaler:
					if o.Spec.ScaleTargetRef.Name != set.name || set.replicas != nil {
						t.Errorf("it scales %v, whose replicas are given as %v", o.Spec.ScaleTargetRef, set.replicas)
					}
				case *networking.NetworkPolicy:
					for _, rule := range o.Spec.Ingress {
						if len(rule.From) == 0 || !ports[rule.Ports[0].Port.StrVal] {
							t.Errorf("the policy lets %v to %v", rule.From, rule.Ports)
						}
					}
				case *monitoring.ServiceMonitor:
					if !served[o.Spec.Endpoints[0].Port] {
						t.Errorf("the monitor asks port %s, which no service has", o.Spec.Endpoints[0].Port)
					}
				}
			}
			if name == "on PostgreSQL" && (one[apps.Deployment](objects).Spec.Strategy.Type != apps.RecreateDeploymentStrategyType || one[policy.PodDisruptionBudget](objects) != nil) {
				t.Error("one pod is ready at a time: neither a rolling update nor a budget goes with that")
			}
			if name == "everything" && (one[autoscaling.HorizontalPodAutoscaler](objects) == nil || one[monitoring.ServiceMonitor](objects) == nil ||
				one[networking.NetworkPolicy](objects) == nil || one[policy.PodDisruptionBudget](objects) == nil) {
				t.Error("an object is missing")
			}
		})
	}
}

// What the running Holdgate cannot take up makes another pod. What it reads anew does not: it asks where that loosens.
func TestAnotherConfigurationIsAnotherPod(t *testing.T) {
	podOf := func(values string) map[string]string {
		text, err := render(t, values)
		if err != nil {
			t.Fatal(err)
		}
		return workloadOf(t, decode(t, text)).pod.Annotations
	}
	first := podOf("podAnnotations: {mine: kept}")
	if first["mine"] != "kept" || !reflect.DeepEqual(first, podOf("podAnnotations: {mine: kept}")) {
		t.Errorf("the same values make pods with %v", first)
	}
	other := func(values string) bool {
		return podOf(values)["checksum/config"] != podOf("")["checksum/config"]
	}
	for _, values := range []string{"config: {upstreams: {own: {url: 'https://llm.example.com/api', format: openai}}}", "config: {limits: {body: 64MiB}}"} {
		if !other(values) {
			t.Errorf("%s: the pod stays, and does not read that", values)
		}
	}
	for _, values := range []string{"config: {people: {ann: {roles: [approve]}}}", "config: {approver: ann, agents: {b: {service_accounts: [ci/b]}}}", "config: {limits: {pending: 3, held_bytes: 1MiB, decisions_per_second: 3, log_bytes_per_hour: 1MiB}}"} {
		if other(values) {
			t.Errorf("%s: another pod, though the running one reads that, and asks where it loosens", values)
		}
	}
	one, two := "rules: {own.rego: package holdgate.custom.own}", "rules: {own.rego: package holdgate.custom.other}"
	if a, b := podOf(one), podOf(two); !reflect.DeepEqual(a, b) {
		t.Errorf("other rules make another pod: %v, %v", a, b)
	}
}

// A mistyped value is an error, and so is what the chart sets itself.
func TestTheChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"{replica: 2}":                                              "replica",
		"{config: {listen: {agents: '1:1'}}}":                       "config",
		"{config: {hub: {database: pg}}}":                           "config",
		"{image: {digest: abc}}":                                    "digest",
		"{rules: {'../x': y}}":                                      "rules",
		"{postgres: {secretName: s}, autoscaling: {enabled: true}}": "autoscaling",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

const rulesAndPeople = `
rules:
  own.rego: |
    package holdgate.custom.own

    decisions contains {"action": "hold", "rule": "own.ask", "reason": "It is asked about."} if input.tool.name == "deploy"
config:
  people: {ann: {roles: [admin], token_sha256: "9c5b76dbdfc3888016e98f2004fea6c9af631d0ed3d8f9b60d11205d29bbd688"}}
`

// Holdgate starts with the configuration and the rules that the chart gives it, at the ports that the chart names.
func TestHoldgateTakesTheChartsConfiguration(t *testing.T) {
	file := staticAsRoot(t)
	for name, values := range map[string]string{"as it is": "", "with rules": rulesAndPeople} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, file, values)
			said := p.start(t)
			p.await(t, 200, "")
			for _, port := range []string{":7300", ":7301", ":7302"} {
				said.await(t, port)
			}
		})
	}
}

// Of two pods of the chart on one PostgreSQL, whose keys come from the Secret, one works and one stands by.
func TestOfTwoPodsOnPostgresOneStandsBy(t *testing.T) {
	file := staticAsRoot(t)
	secret := t.TempDir()
	key := strings.Repeat("0", 63)
	for name, text := range map[string]string{"secret.key": key + "1", "approver.token": key + "2", "db.url": postgres(t)} {
		if err := os.WriteFile(filepath.Join(secret, name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	first, second := newPod(t, file, onPostgres), newPod(t, file, onPostgres)
	for _, p := range []*pod{first, second} {
		p.init(t, secret)
	}
	first.start(t)
	first.await(t, 200, "")
	second.start(t)
	second.await(t, 503, "standby")
	first.end()
	second.await(t, 200, "")
}

// injected is what holdgate inject makes of a manifest with one object of each kind.
func injected(t *testing.T) string {
	t.Helper()
	in, err := os.Open("testdata/workloads.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	inject := exec.CommandContext(t.Context(), program.Static(t), "inject")
	inject.Stdin, inject.Stderr = in, os.Stderr
	out, err := inject.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Kubernetes takes what holdgate inject makes of each kind, and the manifest that it is made of.
func TestKubernetesTakesWhatInjectPrints(t *testing.T) {
	var kinds []string
	for _, o := range decode(t, injected(t)) {
		kinds = append(kinds, reflect.TypeOf(o).Elem().Name())
		spec := podOf(o)
		if spec == nil {
			continue
		}
		always := core.ContainerRestartPolicyAlways
		at := slices.IndexFunc(spec.InitContainers, func(c core.Container) bool { return c.Name == "holdgate" })
		if at < 0 || spec.InitContainers[at].RestartPolicy == nil || *spec.InitContainers[at].RestartPolicy != always || spec.InitContainers[at].StartupProbe == nil {
			t.Errorf("%T has no native sidecar with a startup probe: %v", o, spec.InitContainers)
		}
		// A volume that is used again would else be opened to the group, and Holdgate refuses keys that others may read.
		if s := spec.SecurityContext; s == nil || s.FSGroupChangePolicy == nil || *s.FSGroupChangePolicy != core.FSGroupChangeOnRootMismatch {
			t.Errorf("%T: each start of the pod changes the modes of its volume", o)
		}
	}
	slices.Sort(kinds)
	if want := []string{"ConfigMap", "ConfigMap", "CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "Service", "StatefulSet"}; !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
	manifest, err := os.ReadFile("../kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decode(t, string(manifest))
}
