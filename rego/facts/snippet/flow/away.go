package flow

import (
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// What a package of the project does with its arguments is not read. A file of the
// machine that is named to it may be written, and a text with code in it may run.

// machinePath begins a path of the machine: no address of a server begins so.
var machinePath = lazyregexp.New(`^(/(etc|usr|home|root|var|opt|bin|sbin|lib|lib64|boot|dev|proc|sys|run|srv|mnt|media|Users|Library|private|Applications|System)(/|$)|~/|\.\./|[A-Za-z]:\\)`)

// away notes the files of the machine that a function is told of which is not read.
func (w *walker) away(v value) {
	pieces, _ := w.unpacked(v)
	for _, piece := range pieces {
		for _, p := range piece.text().places {
			if machinePath.MatchString(p.Path) {
				w.touch("write", places(p), "a function of a package")
			}
		}
	}
}

// codeInText is what engines of templates, and readers of YAML, run of a text.
var codeInText = lazyregexp.New(`<%|\$\{|#\{|\{\{=|!!js/|tag:yaml\.org,2002:js|constructor`)

// runsTemplate notes a text that a function of a package may run as code.
func (w *walker) runsTemplate(name string, c call) {
	switch name {
	case "template", "render", "renderString", "renderFile", "compile", "load", "loadAll", "safeLoad", "from_string":
	default:
		return
	}
	for _, a := range c.args {
		t := a.text()
		for _, p := range t.places {
			if codeInText.MatchString(p.Path) {
				w.unseen("%s of a text with code in it", name)
			}
		}
		if name == "template" && t.is(kindAny) {
			w.unseen("%s of a text that is not known", name)
		}
	}
}

// calledName is the last name of what is called.
func calledName(e *tree.Expr) string {
	if e.Op == tree.OpAttr || e.Op == tree.OpName {
		return e.Text
	}
	return ""
}
