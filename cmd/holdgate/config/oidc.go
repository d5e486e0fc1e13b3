package config

import (
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ChannelOIDC is the name under people.NAME.channels of what a person is called at the
// provider of [OIDC].
const ChannelOIDC = "oidc"

// maxReread is the longest time between two readings of a person's groups.
const maxReread = 10 * time.Minute

// OIDC is an OpenID Connect provider at which people sign in on the page; no issuer:
// there is none.
type OIDC struct {
	Issuer   string `yaml:"issuer"`
	ClientID string `yaml:"client_id"`
	// ClientSecretFile holds the client's secret; empty: it has none.
	ClientSecretFile string `yaml:"client_secret_file"`
	// NameClaim is the claim whose value is a person's name. It must be one that people
	// cannot set themselves.
	NameClaim string `yaml:"name_claim"`
	// GroupsClaim is a claim, or a JSON pointer into the claims such as
	// /realm_access/roles.
	GroupsClaim string   `yaml:"groups_claim"`
	Scopes      []string `yaml:"scopes"` // besides openid
	// Roles are those that a group gives.
	Roles map[string][]Role `yaml:"roles"`
	// Reread is how often groups are read again, at most 10 minutes.
	Reread Duration `yaml:"reread"`
}

// On reports whether people sign in at a provider.
func (o OIDC) On() bool { return o.Issuer != "" }

// oidc checks the provider.
func (f *faults) oidc(o OIDC) {
	if !o.On() {
		if o.ClientID != "" || o.ClientSecretFile != "" || len(o.Roles) > 0 {
			f.add("oidc.issuer: must name the provider")
		}
		return
	}
	u, err := url.Parse(o.Issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		f.add("oidc.issuer: %q is no address of a provider: want https://HOST/PATH", o.Issuer)
	case u.Scheme != "https" && !(u.Scheme == "http" && loopbackHost(u.Host)):
		f.add("oidc.issuer: %s must be https: whoever stands between could sign in as anybody", o.Issuer)
	}
	if o.ClientID == "" {
		f.add("oidc.client_id: must be set")
	}
	if o.NameClaim == "" || o.GroupsClaim == "" {
		f.add("oidc: name_claim and groups_claim must be set")
	}
	for _, group := range slices.Sorted(maps.Keys(o.Roles)) {
		if len(o.Roles[group]) == 0 {
			f.add("oidc.roles.%s: must name at least one role, such as approve", group)
		}
	}
	if o.Reread <= 0 || time.Duration(o.Reread) > maxReread {
		f.add("oidc.reread: must be more than 0 and at most %s, not %s", maxReread, o.Reread)
	}
}

// loopbackHost reports whether a host with or without a port is this machine's alone.
func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// RolesOf are the roles that groups give, each once.
func (o OIDC) RolesOf(groups []string) (roles []string) {
	for _, g := range groups {
		for _, r := range o.Roles[g] {
			if !slices.Contains(roles, string(r)) {
				roles = append(roles, string(r))
			}
		}
	}
	slices.Sort(roles)
	return roles
}
