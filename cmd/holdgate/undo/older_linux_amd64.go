package undo

import "golang.org/x/sys/unix"

const cwd = unix.AT_FDCWD

// older are the calls that newer processors do not have.
var older = map[uint32]func(*call) result{
	unix.SYS_OPEN: func(c *call) result { return c.openFile(cwd, 0, c.flags(1), uint32(c.args[2])) },
	unix.SYS_CREAT: func(c *call) result {
		return c.openFile(cwd, 0, unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, uint32(c.args[1]))
	},

	unix.SYS_MKDIR:   func(c *call) result { return c.mkdir(cwd, 0, uint32(c.args[1])) },
	unix.SYS_MKNOD:   func(c *call) result { return c.mknod(cwd, 0, uint32(c.args[1])) },
	unix.SYS_UNLINK:  func(c *call) result { return c.unlinkat(cwd, 0, 0) },
	unix.SYS_RMDIR:   func(c *call) result { return c.unlinkat(cwd, 0, unix.AT_REMOVEDIR) },
	unix.SYS_SYMLINK: func(c *call) result { return c.symlink(0, cwd, 1) },
	unix.SYS_LINK:    func(c *call) result { return c.link(cwd, 0, cwd, 1, 0) },
	unix.SYS_RENAME:  func(c *call) result { return c.rename(cwd, 0, cwd, 1, 0) },

	unix.SYS_CHMOD:     func(c *call) result { return c.change(cwd, 0, 0, c.toMode(1)) },
	unix.SYS_CHOWN:     func(c *call) result { return c.change(cwd, 0, 0, c.toOwner(1, 2)) },
	unix.SYS_LCHOWN:    func(c *call) result { return c.change(cwd, 0, unix.AT_SYMLINK_NOFOLLOW, c.toOwner(1, 2)) },
	unix.SYS_UTIME:     (*call).utime,
	unix.SYS_UTIMES:    func(c *call) result { return c.utimes(cwd, 0, 1) },
	unix.SYS_FUTIMESAT: func(c *call) result { return c.utimes(c.fd(0), 1, 2) },

	unix.SYS_ACCESS: func(c *call) result { return c.access(cwd, 0, uint32(c.args[1]), 0) },
}

// utime takes whole seconds.
func (c *call) utime() result {
	list, err := c.words(1, 2)
	if err != nil {
		return failed(err)
	}
	var ts []unix.Timespec
	if list != nil {
		ts = []unix.Timespec{{Sec: list[0]}, {Sec: list[1]}}
	}
	return c.change(cwd, 0, 0, func(p place) error { return c.run.tree.utimes(p, ts) })
}

// utimes takes microseconds.
func (c *call) utimes(dirfd int32, arg, times int) result {
	ts, err := c.times(times)
	if err != nil {
		return failed(err)
	}
	for i := range ts {
		ts[i].Nsec *= 1000
	}
	do := func(p place) error { return c.run.tree.utimes(p, ts) }
	if c.args[arg] == 0 {
		return c.changeOpen(dirfd, do)
	}
	return c.change(dirfd, arg, 0, do)
}
