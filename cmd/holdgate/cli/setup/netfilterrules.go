package setup

import (
	_ "embed"
	"fmt"
	"net/netip"
	"strings"
)

// rules are for `nft -f`, which loads all of them or none. Those that were
// loaded before are replaced.
//
// Two chains see what processes here send. The first changes where new TCP
// connections go; the second, after it, refuses what went by: other protocols,
// and TCP too should the first be missing.
func (r redirection) rules() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Printed by `holdgate netfilter`: load it with `nft -f`. It leads TCP to")
	line("# Holdgate, which must run as the user %d and listen there before:", r.uid)
	line("#     listen: {transparent: \"localhost:%d\"}", r.port)
	line("# Nobody else may run as that user, nor have CAP_NET_ADMIN.")
	line("table inet holdgate")
	line("delete table inet holdgate")
	line("table inet holdgate {")
	line("\tchain led {")
	line("\t\ttype nat hook output priority -100; policy accept;")
	r.pass(line)
	line("\t\t%smeta l4proto tcp redirect to :%d", r.whose(), r.port)
	line("\t}")
	line("\tchain kept {")
	line("\t\ttype filter hook output priority 0; policy accept;")
	r.pass(line)
	line("\t\tct state established,related accept comment \"answers to who connected to here\"")
	line("\t\ticmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, mld2-listener-report } accept")
	line("\t\t%sreject with icmpx type admin-prohibited", r.whose())
	line("\t}")
	line("}")
	return b.String()
}

// pass writes what goes on as it is.
func (r redirection) pass(line func(string, ...any)) {
	line("\t\tmeta skuid %d accept comment \"Holdgate's own\"", r.uid)
	line("\t\tip daddr 127.0.0.0/8 accept")
	line("\t\tip6 daddr ::1 accept")
	for _, a := range r.dns {
		line("\t\t%s daddr %s meta l4proto { tcp, udp } th dport 53 accept comment \"DNS\"", family(a), a)
	}
	for _, p := range r.except {
		line("\t\t%s daddr %s accept comment \"not seen by Holdgate\"", family(p.Addr()), p)
	}
}

// whose is the condition that a packet is of those whose connections are led.
func (r redirection) whose() string {
	if r.agent == 0 {
		return ""
	}
	return fmt.Sprintf("meta skuid %d ", r.agent)
}

// family is the name of an address's version of IP.
func family(a netip.Addr) string {
	if a.Is4() {
		return "ip"
	}
	return "ip6"
}

//go:embed starter/pod.yaml
var podManifest string

// manifest is a pod whose connections are led to a Holdgate in it.
func (r redirection) manifest() string {
	const indent = "    "
	rules := indent + strings.ReplaceAll(strings.TrimSuffix(r.rules(), "\n"), "\n", "\n"+indent)
	return strings.NewReplacer("@RULES@", rules, "@UID@", fmt.Sprint(r.uid), "@PORT@", fmt.Sprint(r.port)).Replace(podManifest)
}
