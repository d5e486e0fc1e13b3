package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The chart makes no new pod for what a running Holdgate reads anew, and its README says so.
func TestTheChartKnowsWhatIsReadAgain(t *testing.T) {
	t.Parallel()
	const chart = "../../../deploy/helm/holdgate/"
	template, err := os.ReadFile(chart + "templates/_pod.tpl")
	if err != nil {
		t.Fatal(err)
	}
	var omitted []string
	for prefix, list := range map[string]string{"limits.": `omit \(default dict \$config\.limits\)((?: "[a-z_]+")+)`, "": `omit \$config((?: "[a-z_]+")+)\)`} {
		found := regexp.MustCompile(list).FindSubmatch(template)
		if found == nil {
			t.Fatalf("%stemplates/_pod.tpl has no %s", chart, list)
		}
		for name := range strings.FieldsSeq(string(found[1])) {
			omitted = append(omitted, prefix+strings.Trim(name, `"`))
		}
	}
	slices.Sort(omitted)
	if want := slices.Sorted(slices.Values(reloadable)); !slices.Equal(omitted, want) {
		t.Errorf("%stemplates/_pod.tpl leaves out %v, want %v", chart, omitted, want)
	}
	readme, err := os.ReadFile(chart + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	values, err := os.ReadFile(chart + "values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range reloadable {
		if name := key[strings.LastIndexByte(key, '.')+1:]; !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("%sREADME.md does not name %s", chart, key)
		}
		// Its comment says "the limits of one agent" of those.
		if !strings.HasPrefix(key, "limits.") && !regexp.MustCompile(`(?m)^# .*\b`+key+`\b`).Match(values) {
			t.Errorf("%svalues.yaml does not name %s", chart, key)
		}
	}
}
