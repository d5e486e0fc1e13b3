package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// olderChanging are calls that change files and that newer processors do not
// have.
var olderChanging = []uint32{
	unix.SYS_CREAT, unix.SYS_MKDIR, unix.SYS_MKNOD, unix.SYS_UNLINK, unix.SYS_RMDIR, unix.SYS_SYMLINK, unix.SYS_LINK, unix.SYS_RENAME,
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}

// olderFlagged are those that change files only with some flags.
func olderFlagged(writes uint32) []check {
	return []check{toldWhere(unix.SYS_OPEN, 1, writes), toldWhere(unix.SYS_ACCESS, 1, unix.W_OK)}
}
