package setup

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// defaultTransparent is the port of listen.transparent where the configuration
// names none.
const defaultTransparent = 15001

func netfilterCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "netfilter",
		UsageText: "holdgate netfilter --uid 900 | nft -f -",
		Usage:     "print nftables rules that lead all connections to Holdgate",
		Description: "Every TCP connection that is made here comes out at listen.transparent, but for\n" +
			"Holdgate's own, loopback, DNS to the servers named, and exceptions; UDP and the rest\n" +
			"lead nowhere. Holdgate needs a user of its own (--uid): whoever runs as that user is\n" +
			"not led there. With --agent-uid the rules are for one user's processes alone.\n" +
			"Load them with `nft -f`, or with --apply.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "uid", Usage: "the user as `UID` that Holdgate runs as; not 0"},
			&cli.IntFlag{Name: "agent-uid", Usage: "lead the connections of the user with `UID` alone; default: everyone's"},
			&cli.IntFlag{Name: "port", Usage: "of listen.transparent; default: as configured, or 15001"},
			&cli.StringSliceFlag{Name: "dns", Usage: "let DNS to the server at `ADDRESS` pass; may be repeated; default: those of /etc/resolv.conf"},
			&cli.StringSliceFlag{Name: "except", Usage: "let connections to an address or `RANGE` pass unseen; may be repeated"},
			&cli.BoolFlag{Name: "kubernetes", Usage: "print the manifest of a pod with the rules instead"},
			&cli.StringFlag{Name: "output", Usage: "write the rules to `FILE`, which everybody may read, instead of printing them"},
			&cli.BoolFlag{Name: "apply", Usage: "load the rules with the program nft instead of printing them; needs CAP_NET_ADMIN"},
		},
		Action: e.netfilter,
	}
}

func (e *env) netfilter(c *cli.Context) error {
	if c.Args().Present() {
		return command.Usage("netfilter takes no arguments, got %q", c.Args().First())
	}
	r, err := e.redirectionOf(c)
	if err != nil {
		return err
	}
	switch {
	case c.Bool("kubernetes") && (c.Bool("apply") || r.agent != 0):
		return command.Usage("--kubernetes goes with neither --apply nor --agent-uid: a pod's rules are for all in it")
	case c.String("output") != "" && (c.Bool("apply") || c.Bool("kubernetes")):
		return command.Usage("--output goes with neither --apply nor --kubernetes")
	case c.Bool("kubernetes"):
		_, err = fmt.Fprint(e.Stdout, r.manifest())
		return err
	case c.Bool("apply"):
		return e.applyRules(c, r.rules())
	case c.String("output") != "":
		return writeRules(c.String("output"), r.rules())
	}
	_, err = fmt.Fprint(e.Stdout, r.rules())
	return err
}

// writeRules writes rules to a file for whoever loads them: root, in a pod without the
// capability to read what is another user's.
func writeRules(file, rules string) error {
	if err := os.WriteFile(file, []byte(rules), 0o644); err != nil {
		return fmt.Errorf("writing the rules: %w", err)
	}
	return nil
}

// applyRules has nft load rules, all or none of them.
func (e *env) applyRules(c *cli.Context, rules string) error {
	cmd := exec.CommandContext(c.Context, "nft", "-f", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(rules), e.Stdout, e.Stderr
	if err := cmd.Run(); errors.Is(err, exec.ErrNotFound) {
		return errors.New("the program nft is not here: install nftables, or load the rules that `holdgate netfilter` prints where it is")
	} else if err != nil {
		return fmt.Errorf("loading the rules with nft: %w", err)
	}
	return nil
}

// A redirection is what the rules say.
type redirection struct {
	port   int
	uid    int // of Holdgate
	agent  int // whose connections are led; 0: everyone's
	dns    []netip.Addr
	except []netip.Prefix
}

func (e *env) redirectionOf(c *cli.Context) (r redirection, err error) {
	s, err := e.Settings(c)
	if err != nil {
		return r, err
	}
	r.uid, r.agent = c.Int("uid"), c.Int("agent-uid")
	if !c.IsSet("uid") {
		r.uid = os.Getuid()
	}
	switch {
	case r.uid <= 0:
		return r, command.Usage("--uid must name the user that Holdgate runs as, and not root: its connections are not led to Holdgate, nor are those of anybody else with that user")
	case c.IsSet("agent-uid") && (r.agent <= 0 || r.agent == r.uid):
		return r, command.Usage("--agent-uid %d: want a user other than root and Holdgate's", r.agent)
	}
	if r.port, err = transparentPort(c.Int("port"), s.Listen.Transparent); err != nil {
		return r, err
	}
	for _, raw := range c.StringSlice("except") {
		p, err := prefix(raw)
		if err != nil || p.Bits() == 0 {
			return r, command.Usage("--except %q: want an address or a range such as 10.0.0.0/8, and not all addresses", raw)
		}
		r.except = append(r.except, p)
	}
	r.dns, err = nameServers(c.StringSlice("dns"))
	return r, err
}

// transparentPort is the port that the flag names, or the configuration.
func transparentPort(flag int, configured string) (int, error) {
	port := flag
	if _, p, err := net.SplitHostPort(configured); err == nil && port == 0 {
		port, _ = strconv.Atoi(p) // it was checked when the configuration was read
	}
	port = cmp.Or(port, defaultTransparent)
	if port < 1 || port > 65535 {
		return 0, command.Usage("--port %d is no port", port)
	}
	return port, nil
}

func prefix(raw string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(raw); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(raw)
	return p.Masked(), err
}

// resolvConf names the servers that this host asks for names.
const resolvConf = "/etc/resolv.conf"

// nameServers are those that are named, or else those of this host. Servers on
// loopback addresses pass as all that is there does.
func nameServers(named []string) (servers []netip.Addr, err error) {
	for _, raw := range named {
		a, err := netip.ParseAddr(raw)
		if err != nil || a.Zone() != "" {
			return nil, command.Usage("--dns %q is no address", raw)
		}
		servers = append(servers, a.Unmap())
	}
	if len(named) > 0 {
		return servers, nil
	}
	f, err := os.Open(resolvConf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("finding the servers for names (or name them with --dns): %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(fields[1]); err == nil && !a.IsLoopback() {
			servers = append(servers, a.WithZone("").Unmap())
		}
	}
	return servers, nil
}
