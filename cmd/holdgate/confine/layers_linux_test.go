package confine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What an agent changes in a private place is there for it, and nowhere else:
// files and folders that are made, changed and removed, and a lone file. What is
// kept is copied out, and no link that the agent made leads that elsewhere.
func TestPrivatePlaces(t *testing.T) {
	needs(t, Strong)
	for _, c := range []struct {
		name    string
		private bool
	}{{"private", true}, {"shared", false}} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, Strong)
			home, state := filepath.Join(filepath.Dir(p.spec.Dir), "home"), filepath.Join(p.state, "private")
			settings, lone, victim := filepath.Join(home, ".agent"), filepath.Join(home, ".agent.json"), filepath.Join(home, "victim")
			for path, text := range map[string]string{
				filepath.Join(settings, "hooks"): "none", filepath.Join(settings, "old", "a"): "a", lone: "{}", filepath.Join(victim, "v"): "v",
			} {
				must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				must(t, os.WriteFile(path, []byte(text), 0o600))
			}
			p.spec.Write = []string{settings, lone}
			layers, err := OpenLayers(state, p.spec.Write)
			must(t, err)
			if c.private {
				p.spec.Private, p.spec.Layers = p.spec.Write, layers.Dir()
			}
			code, out := p.run(t, []string{"AGENT=" + settings, "VICTIM=" + victim}, "sh", "-ec", `cd "$AGENT"
				cat hooks old/a; echo evil > hooks; rm -r old; mkdir -p talk/1; echo hi > talk/1/x; ln -s "$VICTIM" talk/out; ln -s "$VICTIM/v" talk/v
				echo '{"evil":1}' > "$AGENT.json"; cat hooks "$AGENT.json"; ls`)
			if code != 0 || out != "noneaevil\n{\"evil\":1}\nhooks\ntalk\n" {
				t.Fatalf("the agent ended with %d and saw %q", code, out)
			}
			hooks, _ := os.ReadFile(filepath.Join(settings, "hooks"))
			file, _ := os.ReadFile(lone)
			_, old := os.Stat(filepath.Join(settings, "old", "a"))
			if untouched := string(hooks) == "none" && string(file) == "{}" && old == nil; untouched != c.private {
				t.Fatalf("outside there is %q, %q, %v; private: %t", hooks, file, old, c.private)
			}
			if !c.private {
				must(t, layers.Remove())
				return
			}
			if n := layers.Changed(settings); n != 2 {
				t.Errorf("%d files count as changed, want 2", n)
			}
			if n, err := layers.Keep(filepath.Join(settings, "talk")); n != 1 || err != nil {
				t.Errorf("%d files were kept, want 1: %v", n, err)
			}
			if n, err := layers.Keep(lone); n != 1 || err != nil {
				t.Errorf("%d files were kept, want 1: %v", n, err)
			}
			if n, err := layers.Keep(filepath.Join(settings, "nowhere")); n != 0 || err != nil {
				t.Errorf("%d files were kept of nothing: %v", n, err)
			}
			if _, err := layers.Keep(victim); err == nil {
				t.Error("what is not private was kept")
			}
			kept, _ := os.ReadFile(filepath.Join(settings, "talk", "1", "x"))
			file, _ = os.ReadFile(lone)
			list, _ := os.ReadDir(filepath.Join(settings, "talk"))
			if string(kept) != "hi\n" || string(file) != "{\"evil\":1}\n" || len(list) != 1 {
				t.Errorf("kept are %q, %q and %v", kept, file, list)
			}
			must(t, layers.Remove())
			if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
				t.Errorf("left over: %v %v", left, err)
			}
		})
	}
}

// Layers of processes that were killed go, and those in use stay.
func TestStaleLayers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")
	used, err := OpenLayers(dir, []string{"/home/a"})
	must(t, err)
	stale := filepath.Join(dir, "run-stale", "0", "work", "work")
	must(t, os.MkdirAll(filepath.Join(stale, "in"), 0o700))
	must(t, os.Chmod(stale, 0))
	other, err := OpenLayers(dir, nil)
	must(t, err)
	list, err := os.ReadDir(dir)
	must(t, err)
	if len(list) != 2 {
		t.Errorf("there are %v, want those in use", list)
	}
	must(t, errors.Join(used.Remove(), other.Remove()))
}

// Where no layer can be laid nothing starts, or the places are shared and that
// is said.
func TestNoLayers(t *testing.T) {
	needs(t, Strong)
	for _, may := range []bool{false, true} {
		p := newPlace(t, Strong)
		settings := filepath.Join(filepath.Dir(p.spec.Dir), "home", "settings")
		must(t, os.Mkdir(settings, 0o700))
		p.spec.Write, p.spec.Private, p.spec.Layers, p.spec.MayShare = []string{settings}, []string{settings}, filepath.Join(p.state, "nowhere"), may
		b, err := Start(p.spec)
		missing, ok := errors.AsType[*MissingError](err)
		switch {
		case may && (err != nil || !strings.Contains(b.Shared, settings)):
			t.Errorf("it may share, and says %v", err)
		case !may && (!ok || missing.Part != partOverlay):
			t.Errorf("it may not share, and says %v", err)
		}
		if b != nil {
			must(t, b.Close())
		}
	}
}
