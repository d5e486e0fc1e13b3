// Package docs holds the pages of the documentation that the program itself reads.
package docs

import _ "embed"

// ConfigurationKeys is the table of the keys of holdgate.yaml.
//
//go:embed configuration-keys.md
var ConfigurationKeys string
