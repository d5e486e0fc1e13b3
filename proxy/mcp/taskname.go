package mcp

import "github.com/holdgate/holdgate/proxy/wire"

// RenameTasks returns a message of either side in which tasks have other names,
// wherever the protocol has a task's name: other returns the one that a name
// becomes, or "". All other bytes stay. The message is JSON that passed
// [wire.Strict], or stays as it is.
func RenameTasks(message []byte, other func(id string) string) []byte {
	if wire.KindOf(message) != "an object" {
		return message
	}
	return rewrite(message, map[string]func([]byte) []byte{
		"params": func(v []byte) []byte { return renameIn(v, other) },
		"result": func(v []byte) []byte {
			return rewrite(renameIn(v, other), map[string]func([]byte) []byte{
				"task": func(task []byte) []byte { return renameTask(task, other) },
				"tasks": func(list []byte) []byte {
					if wire.KindOf(list) != "an array" {
						return list
					}
					return wire.RewriteElements(list, func(_ int, task []byte) []byte { return renameTask(task, other) })
				},
			})
		},
	})
}

// renameIn renames the task that parameters or a result are about.
func renameIn(object []byte, other func(string) string) []byte {
	return rewrite(renameTask(object, other), map[string]func([]byte) []byte{
		"_meta": func(meta []byte) []byte {
			return rewrite(meta, map[string]func([]byte) []byte{
				metaRelatedTask: func(task []byte) []byte { return renameTask(task, other) },
			})
		},
	})
}

// renameTask renames the object's member taskId.
func renameTask(object []byte, other func(string) string) []byte {
	return rewrite(object, map[string]func([]byte) []byte{
		"taskId": func(v []byte) []byte {
			id, err := wire.Text(v)
			if err != nil {
				return v
			}
			if name := other(id); name != "" {
				return quote(name)
			}
			return v
		},
	})
}

// rewrite returns an object with some of its members rewritten; what is none
// stays.
func rewrite(value []byte, members map[string]func([]byte) []byte) []byte {
	if wire.KindOf(value) != "an object" {
		return value
	}
	return wire.RewriteMembers(value, func(m wire.Member) []byte {
		if fn := members[string(m.Name)]; fn != nil {
			return fn(m.Value)
		}
		return m.Value
	})
}
