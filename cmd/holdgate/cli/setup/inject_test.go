package setup

import (
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
)

// inject and the chart name the same image, unless they are told of another.
func TestTheDefaultImageIsTheCharts(t *testing.T) {
	t.Parallel()
	var values struct {
		Image struct{ Repository, Tag string }
	}
	var chart struct {
		AppVersion string `yaml:"appVersion"`
	}
	for file, into := range map[string]any{"values.yaml": &values, "Chart.yaml": &chart} {
		text, err := os.ReadFile("../../../../deploy/helm/holdgate/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	if got := values.Image.Repository + ":" + chart.AppVersion; got != defaultImage || values.Image.Tag != "" {
		t.Errorf("the chart's image is %s, and inject's %s", got, defaultImage)
	}
}
