package command

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestABuildSaysWhatItIsOf(t *testing.T) {
	settings := func(list ...string) (s []debug.BuildSetting) {
		for i := 0; i < len(list); i += 2 {
			s = append(s, debug.BuildSetting{Key: list[i], Value: list[i+1]})
		}
		return s
	}
	const commit = "8b39e8e2f0a1b2c3d4e5f60718293a4b5c6d7e8f"
	for name, c := range map[string]struct {
		version  string
		settings []debug.BuildSetting
		want     Build
	}{
		"nothing recorded":       {want: Build{Version: "(devel)"}},
		"a release by the proxy": {version: "v1.2.3", want: Build{Version: "v1.2.3"}},
		"a clone": {
			version: "v1.2.4-0.20261126065311-8b39e8e2f0a1+dirty", settings: settings("vcs.revision", commit, "vcs.time", "2026-11-26T06:53:11Z", "vcs.modified", "true"),
			want: Build{Version: "v1.2.4-0.20261126065311-8b39e8e2f0a1+dirty", Commit: commit, Date: "2026-11-26T06:53:11Z", Modified: true},
		},
		"a commit by the proxy": {
			version: "v0.0.0-20261126065311-8b39e8e2f0a1",
			want:    Build{Version: "v0.0.0-20261126065311-8b39e8e2f0a1", Commit: "8b39e8e2f0a1", Date: "2026-11-26T06:53:11Z"},
		},
	} {
		c.want.Go, c.want.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
		got := buildOf(&debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings})
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
