package ruleset

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// forbiddenBuiltins are OPA's built-ins that a policy cannot use: those that
// do I/O or whose result is not the same each time (a decision must be
// repeatable), and a few that only cost. time.now_ns is the call's own time,
// and stays.
func forbiddenBuiltins() map[string]bool {
	forbidden := map[string]bool{
		ast.HTTPSend.Name:               true,
		ast.OPARuntime.Name:             true,
		ast.NetLookupIPAddr.Name:        true,
		ast.NetCIDRExpand.Name:          true, // a list of up to 2^128 addresses
		ast.RegoParseModule.Name:        true,
		ast.Trace.Name:                  true,
		ast.ProvidersAWSSignReqObj.Name: true,
	}
	for _, b := range ast.Builtins {
		if b.Nondeterministic && b.Name != ast.NowNanos.Name {
			forbidden[b.Name] = true
		}
	}
	return forbidden
}

// Capabilities are what the compiler lets a policy use: stock OPA of this
// version, less the forbidden built-ins and any schema from the network.
func Capabilities() *ast.Capabilities {
	forbidden := forbiddenBuiltins()
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(slices.Clone(c.Builtins), func(b *ast.Builtin) bool { return forbidden[b.Name] })
	c.AllowNet = []string{}
	return c
}

// undefinedFunction returns the function's name where the compiler did not
// know one.
func undefinedFunction(e *ast.Error) (string, bool) {
	return strings.CutPrefix(e.Message, "undefined function ")
}

// Reads reports whether any rule can see a path below input: by its name, or
// through a part of input that holds it.
func Reads(modules map[string]*ast.Module, path ...string) bool {
	found := false
	for _, m := range modules {
		ast.WalkRefs(m, func(r ast.Ref) bool {
			found = found || sees(r, path)
			return found
		})
	}
	return found
}

func sees(r ast.Ref, path []string) bool {
	if !r.HasPrefix(ast.InputRootRef) {
		return false
	}
	for i, want := range path {
		if len(r) <= i+1 {
			return true
		}
		part, constant := r[i+1].Value.(ast.String)
		if constant && string(part) != want {
			return false
		}
	}
	return true
}
