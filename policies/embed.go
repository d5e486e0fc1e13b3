// Package policies is the first policy that Holdgate ships, in Rego, together
// with the settings that tune it and the schemas of input, decision and
// settings. Each subject has a folder with its rules, their METADATA and their
// tests. README.md says how to write rules of your own.
package policies

import "embed"

// FS holds the whole pack, its tests and README.md included, as the folder has
// them.
//
//go:embed README.md */*.rego settings schemas
var FS embed.FS
