package confine

import (
	"errors"
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// The least version of Landlock that each confinement rests on. In namespaces it
// keeps files (3: truncation, Linux 6.2); alone also TCP ports (4) and what can
// be signalled or reached by abstract sockets (6, Linux 6.12).
const (
	landlockStrong = 3
	landlockWeak   = 6
)

// landlockVersion is the kernel's, checked against what is needed.
func landlockVersion(kind string) (int, error) {
	least := landlockStrong
	if kind == Weak {
		least = landlockWeak
	}
	v, err := ll.LandlockGetABIVersion()
	if err == nil && v < least {
		err = fmt.Errorf("the kernel has version %d, and %d is needed", v, least)
	}
	if err != nil {
		return 0, &MissingError{Part: partLandlock, Err: err, Hint: "Linux 6.2 or later (weak: 6.12), with landlock among the modules in /sys/kernel/security/lsm"}
	}
	return v, nil
}

// restrictFiles lets this process, and all that it starts, read what is there
// and write where the agent works. There is no way back.
func restrictFiles(s Spec, terminal int) error {
	v, err := landlockVersion(s.Kind)
	if err != nil {
		return err
	}
	if err := checkWeak(s); err != nil {
		return err
	}
	conf := landlockConfig(v)
	if s.Kind == Weak {
		err = restrictWeak(conf, s, terminal)
	} else {
		rules := append(writable(s), landlock.RODirs("/"))
		err = errors.Join(conf.RestrictPaths(rules...), restrictScopes(conf, v))
	}
	if err != nil {
		return &MissingError{Part: partLandlock, Err: err}
	}
	return nil
}

// landlockConfig is all that a version can do to files; later ones are not known
// here.
func landlockConfig(v int) landlock.Config {
	known := []landlock.Config{landlock.V3, landlock.V4, landlock.V5, landlock.V6, landlock.V7, landlock.V8, landlock.V9}
	return known[min(v-landlockStrong, len(known)-1)]
}

// restrictScopes keeps abstract sockets and signals inside, where the kernel
// can; in namespaces they are anyway.
func restrictScopes(conf landlock.Config, v int) error {
	if v < landlockWeak {
		return nil
	}
	return conf.RestrictScoped()
}

// writable are the rules for what the agent may write.
func writable(s Spec) []landlock.Rule {
	dirs, files := []string{s.Dir, "/dev/shm"}, []string{}
	if s.Kind == Strong {
		dirs = append(dirs, tmpDir, "/dev/pts")
	} else {
		dirs = append(dirs, s.Temp)
	}
	if os.Getuid() != 0 {
		dirs = append(dirs, "/proc") // its own processes'; root's would be the whole machine's
	}
	for _, path := range s.Write {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			dirs = append(dirs, path)
		} else {
			files = append(files, path)
		}
	}
	rules := []landlock.Rule{
		landlock.RWDirs(dirs...).WithRefer().WithIoctlDev().IgnoreIfMissing(),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty").WithIoctlDev().IgnoreIfMissing(),
	}
	if len(files) > 0 {
		rules = append(rules, landlock.RWFiles(files...).IgnoreIfMissing())
	}
	return rules
}
