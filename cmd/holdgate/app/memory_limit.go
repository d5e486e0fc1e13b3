package app

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
)

const (
	// memoryFloor is how much memory the runtime may take however little of it is
	// alive, in bytes.
	memoryFloor = 128 << 20
	// busyBytes in a tick are a busy spell, and quietBytes are none: what was
	// allocated, in bytes.
	busyBytes, quietBytes = 32 << 20, 2 << 20
	// quietTicks is how long a quiet spell is, until memory is given back.
	quietTicks = 5
)

// MemoryLimit is the memory that the runtime is to keep to where so much of it is in use,
// in bytes: near the limit it collects more often. A burst of requests then leaves no heap
// of several times what is alive. It grows with what is in use, for calls that wait are no
// garbage, and stays below nine tenths of what the container may take.
func MemoryLimit(used int64) int64 {
	limit := max(memoryFloor, used+used/2)
	if of := containerLimit(); of > 0 {
		limit = min(limit, of/10*9)
	}
	return limit
}

// containerLimit is the memory limit of the control group that this process is in, in
// bytes, or 0 where there is none.
var containerLimit = sync.OnceValue(func() int64 { return controlGroupLimit(os.ReadFile) })

// controlGroupLimit reads the limit from the files of Linux, of either version: the least
// of those of the group and of the groups above it.
func controlGroupLimit(read func(name string) ([]byte, error)) int64 {
	groups, err := read("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		root, file := "/sys/fs/cgroup", "memory.max"
		if controllers == "memory" {
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if controllers != "" {
			continue
		}
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			if text, err := read(path.Join(root, group, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
					least = min(least, n)
				}
			}
			if group == "/" {
				break
			}
		}
	}
	if least > math.MaxInt64/2 { // how version 1 writes that there is none
		return 0
	}
	return least
}

// A heap is watched once a tick: its limit follows what is in use, and what a busy spell
// has taken is given back when it is over.
type heap struct {
	samples   []metrics.Sample
	limit     int64 // in force; 0 where it is not this package's
	allocated uint64
	busy      bool
	quiet     int // ticks
}

func newHeap() *heap {
	h := &heap{samples: []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/gc/heap/allocs:bytes"}}}
	if limit := debug.SetMemoryLimit(-1); limit == MemoryLimit(0) {
		h.limit = limit
	}
	return h
}

// tick sets the limit, and reports whether memory is to be given back.
func (h *heap) tick() (give bool) {
	metrics.Read(h.samples)
	if limit := MemoryLimit(int64(h.samples[0].Value.Uint64() + h.samples[1].Value.Uint64())); h.limit != 0 && limit != h.limit {
		h.limit = limit
		debug.SetMemoryLimit(limit)
	}
	return h.spell(h.samples[2].Value.Uint64())
}

// spell is told how much was ever allocated, and reports whether a busy spell is over.
func (h *heap) spell(allocated uint64) (over bool) {
	now := allocated - h.allocated
	h.allocated = allocated
	switch {
	case now >= busyBytes:
		h.busy, h.quiet = true, 0
	case now > quietBytes:
		h.quiet = 0
	default:
		h.quiet++
	}
	if !h.busy || h.quiet < quietTicks {
		return false
	}
	h.busy = false
	return true
}
