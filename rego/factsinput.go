package rego

import "github.com/holdgate/holdgate/rego/facts"

// factsObject is input.facts: what the JSON of facts.Facts says, without the
// way through JSON.
func factsObject(f facts.Facts) object {
	o := object{
		"category": f.Category,
		"impact":   object{"recursive": f.Impact.Recursive, "force": f.Impact.Force, "paths": f.Impact.Paths},
	}
	putList(o, "commands", f.Commands, commandObject)
	putList(o, "paths", f.Paths, pathObject)
	putList(o, "sql", f.SQL, statementObject)
	putList(o, "urls", f.URLs, func(u facts.URL) object {
		return object{"url": u.URL, "scheme": u.Scheme, "host": u.Host}
	})
	putList(o, "secrets", f.Secrets, func(s facts.Secret) object {
		return object{"kind": s.Kind, "pointer": s.Pointer}
	})
	putTexts(o, "parse_errors", f.ParseErrors)
	putTexts(o, "suspicious_text", f.SuspiciousText)
	return o
}

func commandObject(c facts.Command) object {
	o := object{"program": c.Program, "argv": c.Argv}
	putTexts(o, "via", c.Via)
	putTexts(o, "unresolved", c.Unresolved)
	putTexts(o, "unbound", c.Unbound)
	putText(o, "stdin", c.Stdin)
	return o
}

func pathObject(p facts.Path) object {
	o := object{"path": p.Path, "clean": p.Clean, "access": p.Access, "inside": p.Inside}
	putText(o, "class", p.Class)
	return o
}

func statementObject(s facts.Statement) object {
	o := object{"verb": s.Verb, "where": s.Where}
	putText(o, "object", s.Object)
	putTexts(o, "tables", s.Tables)
	return o
}

func putList[T any](o object, name string, list []T, convert func(T) object) {
	if len(list) == 0 {
		return
	}
	items := make([]any, len(list))
	for i, v := range list {
		items[i] = convert(v)
	}
	o[name] = items
}

func putTexts(o object, name string, list []string) {
	if len(list) > 0 {
		o[name] = list
	}
}

func putText(o object, name, s string) {
	if s != "" {
		o[name] = s
	}
}
