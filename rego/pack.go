package rego

import (
	"io/fs"

	"github.com/holdgate/holdgate/policies"
)

// Pack is the shipped pack as a folder: rules, tests, settings, schemas and
// README.md. It is for reading; the engine has its own copy.
func Pack() fs.FS { return policies.FS }
