package telegram

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// A prompt waits for one person's words, as the reply to a message.
type prompt struct {
	request string
	nonce   string // of what the person has seen
	user    int64
	answer  sdk.Answer // without the words
	ask     string     // what the message says
	show    string     // and in a block below
}

// wants says for which words a button asks, if any.
func (c *Channel) wants(n sdk.Notice, b button) (prompt, bool) {
	p := prompt{request: n.ID, nonce: n.Nonce, answer: n.Answer(b.do, "")}
	switch b.do {
	case doDenyWhy:
		p.answer.Decision, p.ask = sdk.Deny, "reply with the reason for denying it."
	case sdk.Steer:
		p.ask = "reply with what the agent should do instead."
	case sdk.Edit:
		p.ask, p.show = "reply with the arguments as they should be: all of them, as JSON.", n.Editable
	case sdk.Approve:
		if n.Risk != sdk.RiskCritical {
			return prompt{}, false
		}
		p.ask = "this call is CRITICAL. Reply with the words below if you mean it; then you are asked once more."
		p.show = page.Word(n)
	case sdk.Choose:
		i := slices.IndexFunc(n.Options, func(o sdk.Option) bool { return o.ID == b.choice })
		if i < 0 || !n.Options[i].Other {
			return prompt{}, false
		}
		p.answer.Choice, p.ask = b.choice, "reply with your own answer."
	default:
		return prompt{}, false
	}
	return p, true
}

// prompt asks a person for words.
func (c *Channel) prompt(ctx context.Context, under post, p prompt) error {
	t := say("You: "+p.ask, p.show)
	if !t.whole {
		return c.reply(ctx, under, "This is too long for Telegram: see holdgate show "+p.request+" --full")
	}
	m := t.message(under.Chat)
	m.Entities = append(m.Entities, entity{Type: "text_mention", Length: len("You"), User: &account{ID: p.user}})
	m.Reply, m.Markup = &replyTo{Message: under.Message, Lenient: true}, forceReply{Force: true, Selective: true}
	at, err := c.send(ctx, m)
	if err != nil {
		return err
	}
	if !c.beside(p.request, p.nonce, at, &p) {
		return c.close(ctx, p.request, at, saidOver)
	}
	return nil
}

// beside notes a message about a request besides those that show it, and what
// it waits for. It reports false where the request has ended or changed while
// the message was sent.
func (c *Channel) beside(request, nonce string, at post, p *prompt) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.open[request]
	if q == nil || q.notice.Nonce != nonce {
		return false
	}
	q.asides = append(q.asides, at)
	if p != nil {
		c.prompts[at] = *p
	}
	return true
}

// written deals with a message: the reply to a prompt, or nothing of ours.
func (c *Channel) written(ctx context.Context, m message, answer sdk.Answerer) error {
	if m.ReplyTo == nil || m.ReplyTo.From == nil || m.ReplyTo.From.ID != c.bot || m.From == nil {
		return nil
	}
	to, at := post{m.Chat.ID, m.ReplyTo.ID}, post{m.Chat.ID, m.ID}
	c.mu.Lock()
	p, known := c.prompts[to]
	var n sdk.Notice
	if q := c.open[p.request]; known && q != nil {
		n = q.notice
	}
	c.mu.Unlock()
	switch {
	case !c.users[m.From.ID] || m.From.IsBot || m.SenderChat != nil || m.Forward != nil || m.ViaBot != nil:
		c.log.Warn("a stranger's reply was ignored", "account", m.From.ID)
		return nil
	case !known || n.ID == "":
		return c.reply(ctx, at, "Nothing was decided: this was not asked, or is over. Press a button of an open request first.")
	case p.user != m.From.ID:
		return c.reply(ctx, at, saidOthers)
	case strings.TrimSpace(m.Text) == "":
		return c.reply(ctx, at, "Nothing was decided: reply with text.")
	}
	p.answer.By = fmt.Sprint(m.From.ID)
	return c.heard(ctx, p, n, at, m.Text, answer)
}

// heard puts a person's words into their answer. What approves is asked again,
// with a button.
func (c *Channel) heard(ctx context.Context, p prompt, n sdk.Notice, at post, words string, answer sdk.Answerer) error {
	a := p.answer
	switch a.Decision {
	case sdk.Deny:
		a.Reason = words
	case sdk.Steer:
		a.Instructions = words
	case sdk.Choose:
		a.Instructions = words
		return c.again(ctx, at, n, a, p.user)
	case sdk.Approve:
		if strings.TrimSpace(words) != page.Word(n) {
			return c.reply(ctx, at, "Nothing was decided: these are not the words.")
		}
		return c.again(ctx, at, n, a, p.user)
	case sdk.Edit:
		a.Arguments = words
		if err := editable(words); err != nil {
			return c.reply(ctx, at, "Nothing was decided: "+err.Error())
		}
		return c.again(ctx, at, n, a, p.user)
	}
	said, _ := outcome(ctx, a, answer)
	return c.reply(ctx, at, said)
}

// editable says what is wrong with arguments that a person has written.
func editable(words string) error {
	v := jsontext.Value(words)
	if !v.IsValid() || v.Kind() != '{' {
		return errors.New("this is no JSON object; perhaps the keyboard has put in other quotes")
	}
	if i := strings.IndexFunc(words, func(r rune) bool { return !strings.ContainsRune("\n\r\t", r) && !unicode.IsPrint(r) }); i >= 0 {
		return fmt.Errorf("there is a character in it that does not show, at byte %d: write it as \\u", i)
	}
	return nil
}

// twice reports whether an answer is asked for again.
func twice(n sdk.Notice, a sdk.Answer) bool {
	switch a.Decision {
	case sdk.Approve, sdk.Choose:
		return page.Word(n) != ""
	case sdk.Edit:
		return true
	}
	return false
}

// again asks a person a second time, with buttons of their own.
func (c *Channel) again(ctx context.Context, under post, n sdk.Notice, a sdk.Answer, user int64) error {
	head, block := second(n, a)
	t := say(head, block)
	if !t.whole {
		return c.reply(ctx, under, "This is too long for Telegram. Nothing was decided: see holdgate show "+n.ID+" --full")
	}
	b := button{request: n.ID, chat: under.Chat, user: user, pair: rand.Text(), answer: a, ready: time.Now().Add(c.minShown)}
	no, yes := b, b
	no.do, yes.do = doCancel, doConfirm
	m := t.message(under.Chat)
	m.Reply = &replyTo{Message: under.Message, Lenient: true}
	m.Markup = &keyboard{Rows: [][]key{{{Text: "No, go back", Data: c.once(no)}}, {{Text: "Yes, I mean it", Data: c.once(yes)}}}}
	at, err := c.send(ctx, m)
	if err != nil {
		return err
	}
	if !c.beside(n.ID, n.Nonce, at, nil) {
		return c.close(ctx, n.ID, at, saidOver)
	}
	return nil
}

// second is what a second question says.
func second(n sdk.Notice, a sdk.Answer) (head, block string) {
	risk := headline(n)
	switch a.Decision {
	case sdk.Edit:
		return risk + "\nApprove the call with these arguments instead?", changes(n.Editable, a.Arguments)
	case sdk.Choose:
		for _, o := range n.Options {
			if o.ID == a.Choice {
				block = o.ID + ": " + o.Label
			}
		}
		if a.Instructions != "" {
			block += "\n" + a.Instructions
		}
		return risk + "\nChoose this?", block
	}
	return risk + "\nApprove this call?", short(n.Call.Target, 200) + "\n" + short(n.Summary, 400)
}

// changes is the new arguments as the difference to the old, both laid out
// alike.
func changes(before, after string) string {
	for _, s := range []*string{&before, &after} {
		if v := jsontext.Value(*s); v.Indent(jsontext.WithIndent("  ")) == nil {
			*s = string(v) + "\n"
		}
	}
	if before == after {
		return "(nothing is changed)"
	}
	return udiff.Unified("before", "after", before, after)
}

// reply says something under a message.
func (c *Channel) reply(ctx context.Context, under post, s string) error {
	m := say("Holdgate", s).message(under.Chat)
	m.Reply = &replyTo{Message: under.Message, Lenient: true}
	_, err := c.send(ctx, m)
	return err
}

// close says that a second question is over.
func (c *Channel) close(ctx context.Context, request string, at post, s string) error {
	c.mu.Lock()
	if q := c.open[request]; q != nil {
		q.asides = slices.DeleteFunc(q.asides, func(p post) bool { return p == at })
	}
	c.mu.Unlock()
	if err := c.edit(ctx, at, say(s, ""), nil); !gone(err) {
		return err
	}
	return nil
}
