package flow

import (
	"reflect"
	"testing"
)

// TestReadTable holds what the rows of a table mean.
func TestReadTable(t *testing.T) {
	got := readTable(`
[os shutil]
getcwd->dirtext remove=delete:0/path # nothing else
copy=read:0/src,write:1/dst &sep walk=walk

<path>
read_text=read:self &[]=
`)
	plain := spec{call: true, result: kindAny}
	want := map[string]spec{
		"getcwd": {name: "os.getcwd", call: true, result: "dirtext"},
		"remove": {name: "os.remove", call: true, result: kindAny, effects: []effect{{"delete", 0, "path"}}},
		"copy":   {name: "os.copy", call: true, result: kindAny, effects: []effect{{"read", 0, "src"}, {"write", 1, "dst"}}},
		"sep":    {name: "os.sep", result: kindAny},
		"walk":   {name: "os.walk", call: true, result: kindAny, special: "walk"},
	}
	for name, s := range want {
		if !reflect.DeepEqual(got.modules["os"][name], &s) || got.modules["shutil"][name] != got.modules["os"][name] {
			t.Errorf("%s: got %+v, want %+v", name, got.modules["os"][name], s)
		}
	}
	if len(got.modules["os"]) != len(want) || got.modules["os"]["nothing"] != nil {
		t.Errorf("%d names, want %d", len(got.modules["os"]), len(want))
	}
	plain.name, plain.effects = "path.read_text", []effect{{"read", -1, ""}}
	if s := got.types["path"]["read_text"]; !reflect.DeepEqual(s, &plain) || got.types["path"]["[]="] == nil {
		t.Errorf("read_text: got %+v, want %+v", s, plain)
	}
}

// TestTablesName holds that the shipped tables have what programs cannot do without.
func TestTablesName(t *testing.T) {
	for module, name := range map[string]string{"": "print", "json": "loads", "os.path": "join", "re": "compile"} {
		if pythonTable().modules[module][name] == nil {
			t.Errorf("Python: no %s in %q", name, module)
		}
	}
	for module, name := range map[string]string{"JSON": "parse", "fs": "readFileSync", "path": "join", "console": "log"} {
		if scriptTable().modules[module][name] == nil {
			t.Errorf("JavaScript: no %s in %q", name, module)
		}
	}
}
