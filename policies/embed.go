// Package policies is the first policy that Holdgate ships, in Rego, together
// with the settings that tune it, the schemas of input, decision and settings,
// and the tests that hold it. README.md beside it says how to write rules of
// one's own.
package policies

import "embed"

// FS holds the whole pack, its tests and README.md included, as the folder has
// them.
//
//go:embed README.md *.rego settings schemas
var FS embed.FS
