// Package plugins lists the channels that are part of the holdgate program.
// Each is a package with a channel in it that imports the SDK alone, and runs
// in a process of its own like any other: holdgate starts itself again with
// the arguments "plugin serve NAME".
package plugins

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/plugins/desktop"
	"github.com/holdgate/holdgate/plugins/email"
	"github.com/holdgate/holdgate/plugins/exec"
	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/slack"
	"github.com/holdgate/holdgate/plugins/telegram"
	"github.com/holdgate/holdgate/plugins/terminal"
	"github.com/holdgate/holdgate/plugins/webhook"
)

// builtin makes the channels, by name.
func builtin() map[string]func() sdk.Channel {
	return map[string]func() sdk.Channel{
		"desktop":  func() sdk.Channel { return desktop.New(sdk.Logger()) },
		"email":    func() sdk.Channel { return email.New(sdk.Logger()) },
		"exec":     func() sdk.Channel { return exec.New(sdk.Logger()) },
		"slack":    func() sdk.Channel { return slack.New(sdk.Logger()) },
		"telegram": func() sdk.Channel { return telegram.New(sdk.Logger()) },
		"terminal": func() sdk.Channel { return terminal.New(sdk.Logger(), os.Getenv) },
		"webhook":  func() sdk.Channel { return webhook.New(sdk.Logger()) },
	}
}

// Names lists the channels that are built in, sorted.
func Names() []string { return slices.Sorted(maps.Keys(builtin())) }

// ToPrograms lists the channels that tell a program and no person, by the names that they
// give themselves: a check of them can send a test message.
func ToPrograms() []string { return []string{"webhook"} }

// Serve serves the channel of the name to the Holdgate that started this
// process, and returns when that has ended it. See [sdk.Serve].
func Serve(name string) error {
	channel, ok := builtin()[name]
	if !ok {
		return fmt.Errorf("there is no channel %q built in: want one of %s", name, strings.Join(Names(), ", "))
	}
	sdk.Serve(channel())
	return nil
}
