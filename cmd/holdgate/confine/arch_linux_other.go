//go:build linux && !amd64 && !arm64

package confine

const auditArch = 0
