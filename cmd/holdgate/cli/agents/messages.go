package agents

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// messagesCommand shows what people and a session have said, and says more.
func messagesCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "messages", UsageText: "holdgate messages release-42\nholdgate messages send release-42 \"mind the tests\"", Usage: "show the messages between people and a session, or leave one", ArgsUsage: "[list|send] SESSION [TEXT]",
		Description: "TEXT goes into the session's next model request, marked as a person's, unless the\n" +
			"agent fetches it before.",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.StringFlag{Name: "agent", Usage: "of this `AGENT`"},
			&cli.Uint64Flag{Name: "reply", Usage: "TEXT answers the message of this `NUMBER`"},
			&cli.BoolFlag{Name: "ask", Usage: "TEXT is a question to the agent"},
		},
		Action: e.messages,
	}
}

// messageArgs are the session and the text of `messages SESSION [TEXT]`, of
// `messages list SESSION` and of `messages send SESSION TEXT`.
func messageArgs(words []string) (session, text string, err error) {
	verb := ""
	if len(words) > 0 && (words[0] == "list" || words[0] == "send") {
		verb, words = words[0], words[1:]
	}
	if len(words) == 0 {
		return "", "", command.Usage("messages takes the name of a session: holdgate sessions list")
	}
	session, text = words[0], strings.TrimSpace(strings.Join(words[1:], " "))
	switch {
	case verb == "send" && text == "":
		return "", "", command.Usage("messages send takes a session and a text")
	case verb == "list" && len(words) > 1:
		return "", "", command.Usage("messages list takes a session alone, got %q too", words[1])
	}
	return session, text, nil
}

func (e *env) messages(c *cli.Context) error {
	session, text, err := messageArgs(c.Args().Slice())
	if err != nil {
		return err
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	if text == "" {
		list, err := sc.Messages(c.Context, c.String("agent"), session)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return command.PrintJSON(e.Stdout, list)
		}
		return e.printMessages(list, time.Now())
	}
	n := api.Note{Type: sessions.MessageGuidance, Content: text, InReplyTo: c.Uint64("reply")}
	switch {
	case n.InReplyTo != 0:
		n.Type = sessions.MessageAnswer
	case c.Bool("ask"):
		n.Type = sessions.MessageQuestion
	}
	m, err := sc.Tell(c.Context, c.String("agent"), session, n)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, m)
	}
	_, err = fmt.Fprintf(e.Stdout, "message %d waits for the session's next model request\n", m.Seq)
	return err
}

func (e *env) printMessages(list []sessions.Message, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(e.Stdout, "there are no messages")
		return err
	}
	for _, m := range list {
		state := ""
		if m.Waits() {
			state = ", waits"
		}
		if _, err := fmt.Fprintf(e.Stdout, "%d  %s%s  %s\n", m.Seq, command.Ago(now, m.At), state, m.Line()); err != nil {
			return err
		}
	}
	return nil
}
