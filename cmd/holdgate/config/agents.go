package config

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An Agent is one that is known by what it shows. There must be something.
type Agent struct {
	TokenSHA256 TokenHash         `yaml:"token_sha256"`
	Labels      map[string]string `yaml:"labels"` // that policy sees
	// UID has the token count from that user over Listen.AgentsSocket alone.
	UID             *uint32  `yaml:"uid"`
	ServiceAccounts []string `yaml:"service_accounts"` // of Kubernetes, as NAMESPACE/NAME
	// AuthZEN, where it is set, lets the agent ask for decisions of what others do.
	AuthZEN *AuthZEN `yaml:"authzen"`
}

// AuthZEN is how an agent asks for decisions as a policy enforcement point.
type AuthZEN struct {
	// Subject is [SubjectAsserted] or [SubjectTrusted]; empty: asserted.
	Subject string `yaml:"subject"`
	// Wait is how long an evaluation waits for people, who are asked at once. 0: they
	// are asked once the client requests access.
	Wait Duration `yaml:"wait"`
}

// Whose word a subject is.
const (
	SubjectAsserted = "asserted" // the client's, which can only narrow
	SubjectTrusted  = "trusted"  // the client has proven it, and its word is taken
)

// MaxAuthZENWait bounds [AuthZEN.Wait].
const MaxAuthZENWait = time.Hour

// Kubernetes is the cluster whose service accounts agents may show the tokens of:
// it is asked (APIServer), or its signing keys are known (Issuer and Keys).
type Kubernetes struct {
	Audience  string `yaml:"audience"` // that tokens must be for
	APIServer string `yaml:"api_server"`
	TokenFile string `yaml:"token_file"` // with the sidecar's own, which may create tokenreviews
	CAFile    string `yaml:"ca_file"`    // of the API server, or of the host of Keys; empty: the system's
	Issuer    string `yaml:"issuer"`
	Keys      string `yaml:"keys"` // its JSON Web Key Set: a file, or an https address
}

// IsSet reports whether there is a cluster.
func (k Kubernetes) IsSet() bool { return k != Kubernetes{} }

var goodAccount = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9.-]*$`)

// agents checks how agents are known.
func (f *faults) agents(c Config) {
	tokens, accounts := map[TokenHash]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a, key := c.Agents[name], "agents."+name
		f.name(key, name)
		switch {
		case name == "default":
			f.add("%s: default is who shows nothing", key)
		case a.TokenSHA256 == (TokenHash{}) && len(a.ServiceAccounts) == 0:
			f.add("%s: has neither token_sha256 nor service_accounts, so that nobody can be known as %s: holdgate agents add %s makes a token", key, name, name)
		}
		if a.TokenSHA256 != (TokenHash{}) {
			if other, taken := tokens[a.TokenSHA256]; taken {
				f.add("%s.token_sha256: is also that of agents.%s: a token is one agent's", key, other)
			}
			tokens[a.TokenSHA256] = name
		}
		if a.UID != nil && c.Listen.AgentsSocket == "" {
			f.add("%s.uid: needs listen.agents_socket: nobody's user is known over TCP", key)
		}
		if a.UID != nil && a.TokenSHA256 == (TokenHash{}) {
			f.add("%s.uid: needs a token_sha256: any process of a user could pass for the agent", key)
		}
		if len(a.ServiceAccounts) > 0 && !c.Kubernetes.IsSet() {
			f.add("%s.service_accounts: needs kubernetes: where are their tokens from?", key)
		}
		f.authzen(key, a.AuthZEN, c.MCP)
		for _, account := range a.ServiceAccounts {
			if !goodAccount.MatchString(account) {
				f.add("%s.service_accounts: %q is not NAMESPACE/NAME", key, account)
			}
			if other, taken := accounts[account]; taken {
				f.add("%s.service_accounts: %s is also one of agents.%s", key, account, other)
			}
			accounts[account] = name
		}
	}
	if c.Listen.AuthZENURL != "" {
		f.url("listen.authzen_url", c.Listen.AuthZENURL)
	}
	f.kubernetes(c.Kubernetes)
}

// authzen checks how an agent asks for decisions.
func (f *faults) authzen(key string, a *AuthZEN, servers map[string]MCP) {
	if a == nil {
		return
	}
	if a.Subject != "" && a.Subject != SubjectAsserted && a.Subject != SubjectTrusted {
		f.add("%s.authzen.subject: %q is neither %s nor %s", key, a.Subject, SubjectAsserted, SubjectTrusted)
	}
	if a.Wait < 0 || time.Duration(a.Wait) > MaxAuthZENWait {
		f.add("%s.authzen.wait: must be at most %s", key, MaxAuthZENWait)
	}
	if _, taken := servers["authzen"]; taken {
		f.add("%s.authzen: mcp.authzen has the name that evaluations are decided under: give that server another", key)
	}
}

func (f *faults) kubernetes(k Kubernetes) {
	if !k.IsSet() {
		return
	}
	if k.Audience == "" {
		f.add("kubernetes.audience: must be set, such as holdgate: else a token that is for another service would do")
	}
	switch asked, known := k.APIServer != "", k.Issuer != "" || k.Keys != ""; {
	case asked == known:
		f.add("kubernetes: want api_server, or issuer and keys")
	case asked:
		f.tls("kubernetes.api_server", k.APIServer)
	case k.Issuer == "" || k.Keys == "":
		f.add("kubernetes: issuer and keys are set together")
	case strings.Contains(k.Keys, "://"):
		f.tls("kubernetes.keys", k.Keys)
	}
}

// tls checks an address whose answers are believed.
func (f *faults) tls(key, raw string) {
	f.url(key, raw)
	if u, err := url.Parse(raw); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		f.add("%s: want https: anybody on the way could answer", key)
	}
}
