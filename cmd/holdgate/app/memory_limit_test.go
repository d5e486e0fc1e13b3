package app

import (
	"io/fs"
	"testing"
)

func TestControlGroupLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known":               {nil, 0},
		"version 2, in a container":   {map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "134217728\n"}, 128 << 20},
		"version 2, no limit":         {map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n"}, 0},
		"version 2, of a group above": {map[string]string{"/proc/self/cgroup": "0::/pod/one\n", "/sys/fs/cgroup/pod/one/memory.max": "max\n", "/sys/fs/cgroup/pod/memory.max": "4096\n"}, 4096},
		"version 1": {map[string]string{"/proc/self/cgroup": "7:cpu:/x\n6:memory:/docker/a\n0::/docker/a\n",
			"/sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes": "8192\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8192},
		"version 1, no limit": {map[string]string{"/proc/self/cgroup": "6:memory:/\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
	} {
		got := controlGroupLimit(func(name string) ([]byte, error) {
			text, ok := tt.files[name]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		})
		if got != tt.want {
			t.Errorf("%s: the limit is %d, want %d", name, got, tt.want)
		}
	}
}

func TestMemoryLimitFollowsWhatIsInUse(t *testing.T) {
	t.Parallel()
	if of := containerLimit(); of > 0 && of < 2<<30 {
		t.Skip("the machine has less memory than the test speaks of")
	}
	for used, want := range map[int64]int64{0: memoryFloor, 40 << 20: memoryFloor, 400 << 20: 600 << 20} {
		if got := MemoryLimit(used); got != want {
			t.Errorf("with %d bytes in use the limit is %d, want %d", used, got, want)
		}
	}
}

// Memory is given back once after each busy spell, and not in the midst of one.
func TestABusySpellIsOverOnce(t *testing.T) {
	t.Parallel()
	var h heap
	var total uint64
	given := ""
	for _, tick := range "qqqqqqbbqqbqmqqqqqqqqqqqqbqqqqqqqq" { // busy, moderate, quiet
		total += map[rune]uint64{'b': busyBytes, 'm': quietBytes + 1, 'q': 1}[tick]
		if h.spell(total) {
			given += "!"
		} else {
			given += string(tick)
		}
	}
	if want := "qqqqqqbbqqbqmqqqq!qqqqqqqbqqqq!qqq"; given != want {
		t.Errorf("it was given back at %s, want %s", given, want)
	}
}
