package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// restrictWeak confines by Landlock alone: what is masked cannot be taken out of
// a grant, so everything beside it is granted. What lies beside it later cannot
// be read.
func restrictWeak(conf landlock.Config, s Spec, terminal int) error {
	rules := writable(s)
	masks, err := aliases(s.Mask)
	if err != nil {
		return err
	}
	if terminal != noTerminal {
		tty, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", terminal))
		if err != nil {
			return err
		}
		rules = append(rules, landlock.RWFiles(tty).WithIoctlDev())
	}
	beside, err := besides("/", append(masks, "/dev/pts")) // other people's terminals
	if err != nil {
		return err
	}
	rules = append(rules, landlock.ROFiles(beside.files...).IgnoreIfMissing(), landlock.RODirs(beside.dirs...).IgnoreIfMissing())
	net, err := landlock.NewConfig(landlock.AccessNetSet(accessConnectTCP))
	if err != nil {
		return err
	}
	return errors.Join(conf.RestrictPaths(rules...), net.RestrictNet(landlock.ConnectTCP(s.Door)), conf.RestrictScoped())
}

// checkWeak refuses what no grant can be written for.
func checkWeak(s Spec) error {
	if s.Kind != Weak {
		return nil
	}
	masks, err := aliases(s.Mask)
	if err != nil {
		return err
	}
	for _, hidden := range masks {
		for _, dir := range append([]string{s.Dir, s.Temp}, s.Write...) {
			if within(hidden, dir) {
				return fmt.Errorf("%s lies in %s, where the agent may write: a weak confinement cannot hide it there", hidden, dir)
			}
		}
	}
	return nil
}

// accessConnectTCP is LANDLOCK_ACCESS_NET_CONNECT_TCP. Ports can be bound: a
// program's own servers are no way out.
const accessConnectTCP = 1 << 1

type entries struct{ dirs, files []string }

// besides are the entries below dir that neither are nor hold one of masks.
func besides(dir string, masks []string) (all entries, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return all, fmt.Errorf("reading %s: %w", dir, err)
	}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		holds, is := false, false
		for _, m := range masks {
			is = is || path == m
			holds = holds || within(m, path)
		}
		switch {
		case is, e.Type()&os.ModeSymlink != 0: // what a link leads to is granted where it lies
		case holds:
			inner, err := besides(path, masks)
			if err != nil {
				return all, err
			}
			all.dirs, all.files = append(all.dirs, inner.dirs...), append(all.files, inner.files...)
		case e.IsDir():
			all.dirs = append(all.dirs, path)
		default:
			all.files = append(all.files, path)
		}
	}
	return all, nil
}
