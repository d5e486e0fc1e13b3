package launch

import (
	"slices"
	"strings"
)

// Way is how an agent is led to the sidecar.
type Way struct {
	Agents string // the address of the agents' door, "HOST:PORT"
	CA     string // a file of the sidecar's CA alone, PEM
	Bundle string // a file of that CA and the system's, PEM
	// JavaStore is a file of the same certificates as Bundle, as Java reads them;
	// empty: Java is not led.
	JavaStore string
	BaseURL   bool // set the variables for providers' addresses too
	// NoProxy are hosts that are asked directly; empty: none.
	NoProxy string
	Temp    string   // the folder for temporary files; empty: as it was
	Quiet   []string // see the function of this name
	// Placeholders are variables, as NAME=VALUE, that stand for what the sidecar
	// holds.
	Placeholders []string
}

// EnvAgents names the agents' door, as HOST:PORT, to commands of Holdgate's that an agent
// or its scripts start.
const EnvAgents = "HOLDGATE_AGENTS"

// Environment is base, changed so that the program finds the sidecar: by the
// proxy variables, and by those for the CA that TLS libraries and tools heed.
// What names a sidecar for people's commands is taken out, and so is every
// variable whose value contains one of secrets: the approver's token, the path
// of the state folder.
func Environment(base []string, program string, w Way, secrets ...string) []string {
	set := []string{
		"HTTP_PROXY=http://" + w.Agents, "http_proxy=http://" + w.Agents,
		"HTTPS_PROXY=http://" + w.Agents, "https_proxy=http://" + w.Agents,
		EnvAgents + "=" + w.Agents,
		"NO_PROXY=" + w.NoProxy, "no_proxy=" + w.NoProxy,
		"SSL_CERT_FILE=" + w.Bundle, // OpenSSL, Go, Rust: it takes the place of the system's
		"NODE_EXTRA_CA_CERTS=" + w.CA,
		"REQUESTS_CA_BUNDLE=" + w.Bundle,
		"CURL_CA_BUNDLE=" + w.Bundle,
		"GIT_SSL_CAINFO=" + w.Bundle,
		"AWS_CA_BUNDLE=" + w.Bundle,
		"CODEX_CA_CERTIFICATE=" + w.CA,
		"DENO_CERT=" + w.CA,
	}
	if w.BaseURL {
		for _, u := range find(program).baseURL {
			set = append(set, u.variable+"=http://"+w.Agents+u.path)
		}
	}
	if w.Temp != "" {
		set = append(set, "TMPDIR="+w.Temp)
	}
	set = slices.Concat(set, w.Quiet, w.Placeholders)
	hasSecret := func(v string) bool {
		return slices.ContainsFunc(secrets, func(s string) bool { return s != "" && strings.Contains(v, s) })
	}
	if w.JavaStore != "" {
		before := ""
		for _, v := range base {
			if name(v) == javaVariable && !hasSecret(v) {
				before = strings.TrimPrefix(v, javaVariable+"=")
			}
		}
		set = append(set, javaVariable+"="+javaOptions(before, w))
	}
	drop := []string{"ALL_PROXY", "all_proxy"} // they would lead elsewhere what the others do not name
	for _, s := range set {
		drop = append(drop, name(s))
	}
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		return slices.Contains(drop, name(v)) || strings.HasPrefix(v, "HOLDGATE_") || hasSecret(v)
	})
	return append(env, set...)
}

// name is the name of a variable that is written NAME=VALUE.
func name(variable string) string {
	n, _, _ := strings.Cut(variable, "=")
	return n
}
