package app

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

func TestWhichProxyLeadsToAnUpstream(t *testing.T) {
	login := filepath.Join(t.TempDir(), "login")
	if err := os.WriteFile(login, []byte("ann:pa:ss\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HTTPS_PROXY": "http://env:pw@env.example:1", "http_proxy": "env.example:2", "NO_PROXY": "direct.example,10.0.0.0/8"}
	own := config.UpstreamProxy{HTTPS: "http://own.example:3", NoProxy: []string{".inside.example"}, CredentialsFile: login, Environment: true}
	tests := []struct {
		name string
		conf config.UpstreamProxy
		env  map[string]string
		want map[string]string // proxy by URL; empty: none
	}{
		{"nothing", config.UpstreamProxy{Environment: true}, nil, map[string]string{"https://a.example": ""}},
		{"the environment", config.UpstreamProxy{Environment: true}, env, map[string]string{
			"https://a.example": "http://env:pw@env.example:1", "http://a.example": "http://env.example:2", "https://direct.example": "", "http://10.1.2.3": "",
			"http://127.0.0.1:11434": "", "http://[::1]:11434": "", "http://localhost:11434": ""}},
		{"not the environment", config.UpstreamProxy{}, env, map[string]string{"https://a.example": ""}},
		{"the configuration over the environment", own, env, map[string]string{
			"https://a.example": "http://ann:pa%3Ass@own.example:3", "http://a.example": "", "https://x.inside.example": "", "https://direct.example": "http://ann:pa%3Ass@own.example:3"}},
		{"loopback, where it is said", config.UpstreamProxy{HTTP: "http://own.example:3", Loopback: true}, nil, map[string]string{
			"http://127.0.0.1:11434": "http://own.example:3", "http://[::1]:1": "http://own.example:3", "http://localhost:1": "http://own.example:3", "https://localhost:1": ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proxies, err := ProxyEnvironment(func(name string) string { return tt.env[name] })
			if err != nil {
				t.Fatal(err)
			}
			a := &App{c: config.Config{UpstreamProxy: tt.conf}, o: Options{Proxies: proxies}}
			choose, err := a.proxyFor()
			if err != nil {
				t.Fatal(err)
			}
			for raw, want := range tt.want {
				u, err := url.Parse(raw)
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				if choose != nil {
					if p := choose(u); p != nil {
						got = p.String()
					}
				}
				if got != want {
					t.Errorf("%s goes by %q, want %q", raw, got, want)
				}
			}
		})
	}
}

func TestAProxyThatIsNoneIsAnError(t *testing.T) {
	for _, v := range []string{"ftp://x.example", "http://", "http://u:secret@:%zz"} {
		_, err := ProxyEnvironment(func(name string) string { return map[string]string{"https_proxy": v}[name] })
		if err == nil || !strings.Contains(err.Error(), "https_proxy names no proxy") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", v, err)
		}
	}
	file := filepath.Join(t.TempDir(), "login")
	for text, mode := range map[string]os.FileMode{"ann:x": 0o644, "nobody": 0o600} {
		_ = os.Remove(file)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if _, err := proxyLogin(file); err == nil || !strings.Contains(err.Error(), "upstream_proxy.credentials_file") {
			t.Errorf("%q with mode %o: %v", text, mode, err)
		}
	}
}

func TestCAFilesMustHoldCertificates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + ".missing"} {
		if _, err := roots([]string{name}); err == nil || !strings.Contains(err.Error(), "tls.ca_files") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
