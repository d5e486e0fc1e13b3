package holdgate_test

# Inputs of the pack's tests, as the engine builds them.

base := {
	"agent": {"id": "default", "proven": false},
	"session": {"id": "default", "mode": "auto"},
	"door": "anthropic",
	"time": "2026-11-20T12:00:00Z",
}

tool_call(tool, facts) := object.union(base, {"kind": "tool_call", "tool": tool, "facts": facts})

# A shell call of simple commands, each an argv.
shell(argvs) := tool_call({"name": "Bash", "category": "exec"}, {
	"category": "exec",
	"commands": [{"program": argv[0], "argv": argv} | some argv in argvs],
	"impact": {"recursive": false, "force": false, "paths": 0},
})

# A call that touches one path.
touching(path) := tool_call({"name": "Write", "category": "write"}, {
	"category": "write",
	"paths": [object.union({"path": path.clean, "access": "write", "inside": false}, path)],
	"impact": {"recursive": false, "force": false, "paths": 1},
})

model_request(model) := object.union(base, {"kind": "model_request", "model": model})
