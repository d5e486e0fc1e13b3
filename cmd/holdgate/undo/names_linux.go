package undo

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// A naming says what the paths of one time are called at another. What is below a path
// that it knows goes with it.
type naming struct {
	name  string // empty: as its folder says
	later bool   // something that is not taken was done to just this path later
	below map[string]*naming
}

// of is the other name of what is at a path.
func (n *naming) of(p string) string {
	name := p
	for rest := p; rest != ""; {
		var first string
		first, rest, _ = strings.Cut(rest, "/")
		if n = n.below[first]; n == nil {
			break
		}
		if n.name != "" {
			name = path.Join(n.name, rest)
		}
	}
	return name
}

// free is the other name of a path at which nothing is: it is where its folder is.
func (n *naming) free(p string) string { return path.Join(n.of(path.Dir(p)), path.Base(p)) }

// at finds a path, which is made where it is missing.
func (n *naming) at(p string) *naming {
	for rest := p; rest != ""; {
		var first string
		first, rest, _ = strings.Cut(rest, "/")
		if n.below == nil {
			n.below = map[string]*naming{}
		}
		if n.below[first] == nil {
			n.below[first] = &naming{}
		}
		n = n.below[first]
	}
	return n
}

// take takes out what is known of a path and of what is below it.
func (n *naming) take(p string) naming {
	dir, base := path.Split(p)
	for rest := strings.TrimSuffix(dir, "/"); rest != ""; {
		var first string
		first, rest, _ = strings.Cut(rest, "/")
		if n = n.below[first]; n == nil {
			return naming{}
		}
	}
	was := n.below[base]
	if was == nil {
		return naming{}
	}
	delete(n.below, base)
	return *was
}

// move has what was called from be called to, where it is known by another name.
func (n *naming) move(from, to, name string) {
	was := n.take(from)
	n.take(to)
	was.name = name
	*n.at(to) = was
}

// swap has two paths change places. What is at each from now on has another name.
func (n *naming) swap(a, b, nameOfA, nameOfB string) {
	wasA, wasB := n.take(a), n.take(b)
	wasA.name, wasB.name = nameOfB, nameOfA
	*n.at(a), *n.at(b) = wasB, wasA
}

// changed reports whether something was done to the path later, or to one below it.
func (n *naming) changed(below bool) bool {
	if n.later {
		return true
	}
	for _, b := range n.below {
		if below && b.changed(true) {
			return true
		}
	}
	return false
}

// each changes all names.
func (n *naming) each(change func(name string) string) {
	if n.name != "" {
		n.name = change(n.name)
	}
	for _, b := range n.below {
		b.each(change)
	}
}

// forward follows a record, where names are those of before the first one. It returns
// those of what is at the record's paths.
func (n *naming) forward(r record) (p, to string) {
	from, dest := string(r.Path), string(r.To)
	switch p = n.of(from); r.Op {
	case opCreate:
		p = n.free(from)
		n.take(from)
	case opUnlink, opRmdir, opDrop:
		n.take(from)
	case opRename:
		if to = n.of(dest); r.Swap {
			n.swap(from, dest, to, p)
		} else {
			n.move(from, dest, p)
		}
	}
	return p, to
}

// paths are the names of what is at a record's paths.
func (n *naming) paths(r record) (p, to string) {
	switch p = n.of(string(r.Path)); {
	case r.Op == opRename:
		if to = n.of(string(r.To)); !r.Swap {
			p = n.free(string(r.Path))
		}
	case r.Op == opUnlink, r.Op == opRmdir, r.Op == opDrop:
		p = n.free(string(r.Path))
	}
	return p, to
}

// backward goes on to before a record, whose paths have these names. Names are those of
// after the last record, as long as nothing is taken back.
func (n *naming) backward(r record, p, to string, back bool) {
	if back && len(n.below) == 0 {
		return // each has its own name
	}
	from, dest := string(r.Path), string(r.To)
	switch r.Op {
	case opCreate, opUnlink, opRmdir, opDrop:
		n.take(from)
	case opRename:
		then, other := to, p // what the paths of before are called
		if back {
			then, other = p, to
			if r.Kind == unix.S_IFDIR || r.Swap {
				n.each(func(name string) string { return exchanged(name, p, to, r.Swap) })
			}
		}
		if r.Swap {
			n.swap(from, dest, then, other)
		} else {
			n.move(dest, from, then)
		}
	}
}

// exchanged is a name after what was called to is called p, and the other way round.
func exchanged(name, p, to string, both bool) string {
	switch {
	case within(name, to):
		return p + name[len(to):]
	case both && within(name, p):
		return to + name[len(p):]
	}
	return name
}
