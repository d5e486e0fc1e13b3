package effects

import (
	"strings"

	"github.com/holdgate/holdgate"
)

// byName adds what names in the code of a command say that it does, where no reader could
// tell to what.
func (w *work) byName(c command) bool {
	for _, a := range c.Acts {
		e := holdgate.Effect{Kind: holdgate.EffectRun, What: "code", Where: c.Program, Undoable: holdgate.UndoableUnknown, Because: "code"}
		weight := weighsGrave - 2
		const unknown = " known only when it runs"
		switch a.Kind {
		case holdgate.ActDelete:
			e.Kind, e.Undoable, e.Because, weight = holdgate.EffectDelete, holdgate.UndoableNo, "outside", weighsGrave+2
			e.Says = "Deletes what is" + unknown
			if strings.Contains(a.By, " ") { // a statement
				e.What, e.Says = "database", "Deletes what a database holds"
			}
		case holdgate.ActMayDelete:
			e.Kind, e.Says, weight = holdgate.EffectDelete, "May delete what is"+unknown, weighsGrave
		case holdgate.ActEnd:
			e.What, e.Undoable, e.Because = "process", holdgate.UndoableNo, "process"
			e.Says = "Ends processes that are" + unknown
		case holdgate.ActPublish:
			e.Kind, e.Because, e.Says = holdgate.EffectChange, "remote", "Changes what others use"
		case holdgate.ActChange:
			e.Kind, e.What, e.Because, e.Says = holdgate.EffectChange, "database", "remote", "Changes what a database holds"
		case holdgate.ActWrite:
			e.Kind, e.What, e.Says, weight = holdgate.EffectWrite, "file", "Writes files that are"+unknown, weighsSome+6
		case holdgate.ActRun:
			e.Says = "Starts programs that are" + unknown
		case holdgate.ActSend:
			e.Kind, e.What, e.Because, e.Says = holdgate.EffectSend, "data", "remote", "Talks to other machines"
		}
		e.Says += " (" + quoted(a.By) + " in " + c.Program + ")"
		w.add(c, weight, e)
	}
	return len(c.Acts) > 0
}
