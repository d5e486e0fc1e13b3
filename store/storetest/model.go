package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdgate/holdgate/store"
)

// testModel runs random transactions, reads and reopenings on a store and on
// a map, which must agree throughout.
func testModel(t *testing.T, open Open) {
	m := &model{open: open, t: t, dir: t.TempDir()}
	m.f = fixture{open(t, m.dir), t}
	defer func() {
		if err := m.f.Close(); err != nil {
			t.Error(err)
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		m.clear(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"update": m.update,
			"scan":   m.scan,
			"reopen": m.reopen,
			"":       m.check,
		})
	})
}

type model struct {
	open Open
	t    *testing.T
	dir  string
	f    fixture
	want map[string]string
}

// Few and short keys, so that transactions meet.
var (
	keys   = rapid.StringMatching(`[ab/]{1,3}`)
	values = rapid.Custom(func(rt *rapid.T) string {
		if rapid.IntRange(0, 15).Draw(rt, "large") == 15 {
			return strings.Repeat("large", 60_000)
		}
		return rapid.StringN(0, 5, 5).Draw(rt, "small")
	})
)

// clear makes the store and the map empty.
func (m *model) clear(rt *rapid.T) {
	m.want = make(map[string]string)
	err := m.f.UpdateSoon(context.Background(), func(tx store.Tx) error {
		for p, err := range tx.Scan("", "") {
			if err := errors.Join(err, tx.Delete(p.Key)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
}

func (m *model) update(rt *rapid.T) {
	type op struct {
		key, value string
		del        bool
	}
	ops := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) op {
		return op{keys.Draw(rt, "key"), values.Draw(rt, "value"), rapid.Bool().Draw(rt, "delete")}
	}), 0, 6).Draw(rt, "ops")
	fail := rapid.IntRange(0, 3).Draw(rt, "fail") == 0
	begin := m.f.UpdateSoon
	if rapid.Bool().Draw(rt, "durable") {
		begin = m.f.Update
	}
	var next map[string]string
	err := begin(context.Background(), func(tx store.Tx) error {
		next = maps.Clone(m.want)
		for _, o := range ops {
			if o.del {
				delete(next, o.key)
				if err := tx.Delete(o.key); err != nil {
					return err
				}
			} else {
				next[o.key] = o.value
				if err := tx.Set(o.key, []byte(o.value)); err != nil {
					return err
				}
			}
		}
		if err := agree(tx, next, "", ""); err != nil {
			return fmt.Errorf("inside: %w", err)
		}
		if fail {
			return errUndo
		}
		return nil
	})
	switch {
	case fail && errors.Is(err, errUndo):
	case err != nil:
		rt.Fatal(err)
	default:
		m.want = next
	}
}

func (m *model) scan(rt *rapid.T) {
	prefix := rapid.StringMatching(`[ab/]{0,2}`).Draw(rt, "prefix")
	from := rapid.StringMatching(`[ab/]{0,3}`).Draw(rt, "from")
	if err := m.f.View(context.Background(), func(tx store.Tx) error { return agree(tx, m.want, prefix, from) }); err != nil {
		rt.Fatal(err)
	}
}

func (m *model) check(rt *rapid.T) {
	if err := m.f.View(context.Background(), func(tx store.Tx) error { return agree(tx, m.want, "", "") }); err != nil {
		rt.Fatal(err)
	}
}

func (m *model) reopen(rt *rapid.T) {
	if rapid.IntRange(0, 15).Draw(rt, "really") != 15 {
		rt.SkipNow()
	}
	if err := m.f.Close(); err != nil {
		rt.Fatal(err)
	}
	m.f = fixture{m.open(m.t, m.dir), m.t}
}

// agree compares a scan with the map, and each key with what Get says.
func agree(tx store.Tx, want map[string]string, prefix, from string) error {
	var got []string
	for p, err := range tx.Scan(prefix, from) {
		if err != nil {
			return err
		}
		got = append(got, p.Key)
		b, err := tx.Get(p.Key)
		if err != nil || string(b) != string(p.Value) || string(b) != want[p.Key] {
			return fmt.Errorf("%q has %d bytes by Get (%v), %d by Scan; want %d", p.Key, len(b), err, len(p.Value), len(want[p.Key]))
		}
	}
	var in []string
	for key := range want {
		if strings.HasPrefix(key, prefix) && key >= from {
			in = append(in, key)
		}
	}
	slices.Sort(in)
	if !slices.Equal(got, in) {
		return fmt.Errorf("scan of %q from %q yields %q, want %q", prefix, from, got, in)
	}
	return nil
}
