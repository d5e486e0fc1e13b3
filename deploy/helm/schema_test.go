package helm

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// The schemas that Kubernetes publishes of its objects, by the kinds that they are of. They say more than the Go types
// of decode: what must be there, and what a number or text may be.
type schemas map[schema.GroupVersionKind]*jsonschema.Schema

// published reads the schemas out of the module k8s.io/kubernetes, whose version testdata/schemas names and which
// `.ci/run` downloads.
func published(t *testing.T) schemas {
	t.Helper()
	module, err := os.ReadFile("testdata/schemas")
	if err != nil {
		t.Fatal(err)
	}
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", strings.TrimSpace(string(module)))
	download.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOSUMDB=off")
	out, err := download.Output()
	var found struct{ Dir string }
	if json.Unmarshal(out, &found); err != nil || found.Dir == "" {
		t.Skipf("SKIPPED: no schemas of Kubernetes: go mod download %s", module)
	}
	known := schemas{}
	for _, group := range []string{"api__v1", "apis__apps__v1", "apis__autoscaling__v2", "apis__batch__v1", "apis__networking.k8s.io__v1", "apis__policy__v1", "apis__rbac.authorization.k8s.io__v1"} {
		known.add(t, filepath.Join(found.Dir, "api/openapi-spec/v3", group+"_openapi.json"))
	}
	return known
}

// add compiles the schemas of one group's document.
func (s schemas) add(t *testing.T, file string) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	document, err := jsonschema.UnmarshalJSON(in)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("file:///document.json", document); err != nil {
		t.Fatal(err)
	}
	all := document.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	for name, of := range all {
		kinds, _ := of.(map[string]any)["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			k := k.(map[string]any)
			compiled, err := compiler.Compile("file:///document.json#/components/schemas/" + name)
			if err != nil {
				t.Fatal(err)
			}
			s[schema.GroupVersionKind{Group: k["group"].(string), Version: k["version"].(string), Kind: k["kind"].(string)}] = compiled
		}
	}
}

// check validates each object of a stream, and says how many there were and what is wrong with them. Operators' own
// kinds have no schema here.
func (s schemas) check(t *testing.T, stream string) (objects int, wrong []error) {
	t.Helper()
	for doc := range strings.SplitSeq("\n"+stream, "\n---") {
		text, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		object, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		fields, _ := object.(map[string]any)
		if fields["kind"] == nil || fields["apiVersion"] == "monitoring.coreos.com/v1" {
			continue
		}
		kind := schema.FromAPIVersionAndKind(fields["apiVersion"].(string), fields["kind"].(string))
		if s[kind] == nil {
			wrong = append(wrong, fmt.Errorf("Kubernetes has no schema of %v", kind))
			continue
		}
		if err := s[kind].Validate(object); err != nil {
			wrong = append(wrong, fmt.Errorf("%v: %w in\n%s", kind, err, doc))
		}
		objects++
	}
	return objects, wrong
}

// What the chart renders and what holdgate inject prints is valid by the schemas that Kubernetes publishes.
func TestKubernetesSchemas(t *testing.T) {
	known := published(t)
	manifest, err := os.ReadFile("../kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	streams := map[string]string{"inject": injected(t), "kubernetes.yaml": string(manifest)}
	for name, values := range map[string]string{"chart": "", "chart, everything": everything, "chart, on PostgreSQL": onPostgres} {
		if streams[name], err = render(t, values); err != nil {
			t.Fatal(err)
		}
	}
	for name, stream := range streams {
		if objects, wrong := known.check(t, stream); objects == 0 || wrong != nil {
			t.Errorf("%s, of %d objects: %v", name, objects, errors.Join(wrong...))
		}
	}
	if _, wrong := known.check(t, "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: two, selector: {}}"); wrong == nil {
		t.Error("a Deployment without a template, and with replicas in letters, is valid")
	}
}
