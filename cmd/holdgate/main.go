// Holdgate sits beside an AI agent, asks policy about each of its model
// requests and tool calls, and holds the gated ones until a person decides.
package main

import (
	"os"

	"github.com/holdgate/holdgate/cmd/holdgate/cli"
)

func main() { os.Exit(cli.Main()) }
