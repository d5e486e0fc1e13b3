package config

import (
	"cmp"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A File is a file or folder that the configuration names.
type File struct {
	Key  string // that names it
	Path string // empty: it is not set, or no such program is found
	// Secret says that no agent may see what is in it.
	Secret bool
	// Decides says that what an agent wrote there would decide over it, or be run
	// outside of what confines it.
	Decides bool
	// Setting says that a plugin's own settings name it: by its key alone it is a file.
	Setting bool

	at *string // what is made absolute; nil: it stays as it is written
}

// Files are all files and folders that the configuration names, in the order of keys.
func (c Config) Files() []File {
	list := slices.Concat(c.files(), c.programs(), c.settings())
	slices.SortStableFunc(list, func(a, b File) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// files are those whose paths are relative to the configuration.
func (c *Config) files() []File {
	t, k, p := &c.Listen.ApproversTLS, &c.Kubernetes, &c.Store.Postgres
	list := []File{
		{Key: "state_dir", Secret: true, at: &c.StateDir},
		{Key: "policy.path", Decides: true, at: &c.Policy.Path},
		{Key: "policy.opa_config", Decides: true, at: &c.Policy.OPAConfig},
		{Key: "policy.bundle.key", Secret: true, Decides: true, at: &c.Policy.Bundle.Key}, // the secret of an HS algorithm signs
		{Key: "audit.checkpoints.file", at: &c.Audit.Checkpoints.File},
		{Key: "listen.agents_socket", at: &c.Listen.AgentsSocket},
		{Key: "listen.approvers_tls.cert", Decides: true, at: &t.Cert},
		{Key: "listen.approvers_tls.key", Secret: true, Decides: true, at: &t.Key},
		{Key: "kubernetes.token_file", Secret: true, Decides: true, at: &k.TokenFile},
		{Key: "kubernetes.ca_file", Decides: true, at: &k.CAFile},
		{Key: "upstream_proxy.credentials_file", Secret: true, Decides: true, at: &c.UpstreamProxy.CredentialsFile},
		{Key: "oidc.client_secret_file", Secret: true, Decides: true, at: &c.OIDC.ClientSecretFile},
		{Key: "store.postgres.url_file", Secret: true, Decides: true, at: &p.URLFile},
		{Key: "store.postgres.password_file", Secret: true, Decides: true, at: &p.PasswordFile},
	}
	if !strings.Contains(k.Keys, "://") {
		list = append(list, File{Key: "kubernetes.keys", Decides: true, at: &k.Keys}) // who can write there is whichever agent they say
	}
	for name, k := range c.Credentials {
		if k != nil {
			list = append(list, File{Key: "credentials." + name + ".file", Secret: true, Decides: true, at: &k.File})
		}
	}
	for i := range c.TLS.CAFiles {
		list = append(list, File{Key: "tls.ca_files", Decides: true, at: &c.TLS.CAFiles[i]})
	}
	for i := range list {
		list[i].Path = *list[i].at
	}
	return list
}

// programs are those that commands start.
func (c Config) programs() (list []File) {
	add := func(key, dir string, command []string) {
		if len(command) > 0 {
			list = append(list, File{Key: key, Path: program(dir, command[0]), Decides: true})
		}
	}
	add("store.postgres.password_command", "", c.Store.Postgres.PasswordCommand)
	add("audit.checkpoints.command", "", c.Audit.Checkpoints.Command)
	for name, p := range c.Plugins {
		add("plugins."+name+".command", "", p.Command)
	}
	for name, k := range c.Credentials {
		if k != nil {
			add("credentials."+name+".command", "", k.Command)
		}
	}
	for name, m := range c.MCP {
		add("mcp."+name+".command", m.Dir, m.Command)
	}
	return list
}

// program is where the program of a name lies that is started in a folder; empty: it is
// not found.
func program(dir, name string) string {
	if !strings.ContainsRune(name, filepath.Separator) {
		path, err := exec.LookPath(name)
		if err != nil {
			return ""
		}
		dir, name = "", path
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return absolute(name)
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// settings are those that plugins' own settings name: bot tokens, and keys that sign.
func (c Config) settings() (list []File) {
	for name, p := range c.Plugins {
		for _, key := range slices.Sorted(maps.Keys(p.Config)) {
			if path, ok := p.Config[key].(string); ok && path != "" && strings.HasSuffix(key, "_file") {
				list = append(list, File{Key: "plugins." + name + ".config." + key, Path: absolute(path), Secret: true, Decides: true, Setting: true})
			}
		}
	}
	return list
}
