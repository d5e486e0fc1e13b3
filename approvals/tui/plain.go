package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// plain asks line by line, on a terminal that knows no escape sequences.
type plain struct {
	o     Options
	now   func() time.Time
	list  []approvals.Request
	later map[string]bool
	asked approvals.Request // as it was shown; without an id: none
	since time.Time         // it was
}

// A typed is a line, and when it was read.
type typed struct {
	line string
	at   time.Time
}

// run asks about each request that waits, one after the other.
func (p *plain) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.later = map[string]bool{}
	msgs, lines, ended := make(chan tea.Msg), make(chan typed), make(chan error, 1)
	go follow(ctx, p.o.API, retryAfter, func(m tea.Msg) {
		select {
		case msgs <- m:
		case <-ctx.Done():
		}
	})
	go func() { ended <- p.read(ctx, lines) }()
	p.say("Waiting. What policy holds is asked about here. q and Enter leaves.")
	for {
		p.showNext()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return err
		case m := <-msgs:
			p.receive(m)
		case t := <-lines:
			switch {
			case t.line == "q" || t.line == "quit":
				return nil
			case p.asked.ID == "":
			case t.at.Sub(p.since) < minShown:
				p.say("nothing was decided: that was typed before the request could be read")
				p.printPrompt(ask{r: p.asked, full: true})
			default:
				p.answer(ctx, t.line)
			}
		}
	}
}

// showNext asks about the next request where none is asked about, and anew about one
// that has changed.
func (p *plain) showNext() {
	if p.asked.ID != "" {
		switch i := indexOf(p.list, p.asked.ID); {
		case i < 0:
			p.say("It waits no longer.")
		case state(p.list[i]) != state(p.asked):
			p.say("This request has changed: look at it again.")
			p.show(p.list[i])
			return
		default:
			return
		}
	}
	p.next()
}

// read sends the lines that are typed. A terminal cannot be read with a deadline:
// the read is left to itself when ctx ends.
func (p *plain) read(ctx context.Context, lines chan<- typed) error {
	r := bufio.NewReader(p.o.Input)
	for {
		l, err := r.ReadString('\n')
		if err != nil && l == "" {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("reading your answer: %w", err)
		}
		select {
		case lines <- typed{strings.TrimSpace(l), p.now()}:
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *plain) say(text string) { fmt.Fprintln(p.o.Output, text) }

// receive takes what the sidecar tells.
func (p *plain) receive(msg tea.Msg) {
	b := inbox{list: p.list}
	switch msg := msg.(type) {
	case listMsg:
		b.replace(msg, p.now())
	case eventMsg:
		if msg.Request.ID != "" {
			b.update(msg.Request, p.now())
		}
	case lostMsg:
		p.say("Not connected: " + holdgate.Visible(msg.err.Error()))
	}
	p.list = b.list
}

// next asks about the most urgent request that was not put off.
func (p *plain) next() {
	p.asked = approvals.Request{}
	b := inbox{}
	b.replace(listMsg{list: p.list}, p.now())
	for _, i := range b.items {
		if !p.later[i.ID] {
			p.show(i.Request)
			return
		}
	}
}

// show prints a request, whole, and what can be typed. What was typed before is
// thrown away.
func (p *plain) show(r approvals.Request) {
	a := ask{r: r, full: !r.Briefing.Whole}
	p.asked = r
	p.say("\n" + page.Text(a.draw(80, p.now()), 79, false))
	p.printPrompt(a)
}

// printPrompt prints what can be typed.
func (p *plain) printPrompt(a ask) {
	words := []string{"d [REASON] deny"}
	a.layOut(80, 1<<30, p.now())
	switch w := a.word(); {
	case a.closed() != "":
		p.say("Not approved here: " + a.closed() + ".")
	case a.r.Kind == holdgate.RequestChoice:
		words = slices.Insert(words, 0, "c OPTION")
	case w != "":
		words = slices.Insert(words, 0, w+" (typed in full)")
	default:
		words = slices.Insert(words, 0, "a approve")
	}
	if a.allows("steer") {
		words = append(words, "s TEXT steer")
	}
	if p.o.Flush != nil {
		if err := p.o.Flush(); err != nil {
			p.say("What was typed before could not be thrown away: " + holdgate.Visible(err.Error()))
		}
	}
	p.since = p.now()
	fmt.Fprint(p.o.Output, strings.Join(append(words, "l later", "q quit"), ", ")+": ")
}

// answer takes a line about the request that was shown.
func (p *plain) answer(ctx context.Context, line string) {
	a := ask{r: p.asked, full: true}
	a.layOut(80, 1<<30, p.now())
	d, err := p.decision(&a, line)
	id := a.r.ID
	switch {
	case err != nil:
		p.say("nothing was decided: " + err.Error())
		p.show(a.r)
		return
	case d.Decision == "":
		p.later[id] = true
		p.asked = approvals.Request{}
		return
	}
	d.Digest = a.r.Call.Digest
	r, failed := p.o.API.Decide(ctx, id, d)
	p.say(became(decidedMsg{id, r, failed}))
	if failed != nil {
		if r, err = p.o.API.Request(ctx, id); err != nil {
			p.later[id] = true // it cannot be asked about; others can
		}
	} else {
		p.later[id] = true
	}
	if r.ID != "" {
		b := inbox{list: p.list}
		b.update(r, p.now())
		p.list = b.list
	}
	p.asked = approvals.Request{}
}

// decision is what a line says; none where the request is put off.
func (p *plain) decision(a *ask, line string) (api.Decision, error) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "l", "later":
		return api.Decision{}, nil
	case "d", "n", "deny":
		return api.Decision{Decision: holdgate.AnswerDeny, Reason: rest}, nil
	case "s", "steer":
		switch {
		case !a.allows("steer"):
			return api.Decision{}, errors.New("this call can be approved or denied, not steered")
		case rest == "":
			return api.Decision{}, errors.New("say what to do instead: s TEXT")
		}
		return api.Decision{Decision: holdgate.AnswerSteer, Instructions: rest}, nil
	case "a", "y", "approve":
		return p.approval(a, line)
	case "c", "choose":
		return p.choice(a, rest)
	}
	return api.Decision{}, fmt.Errorf("%s is no answer", quoted(word))
}

func (p *plain) approval(a *ask, line string) (api.Decision, error) {
	w := host.Word(a.r)
	switch {
	case a.r.Kind == holdgate.RequestChoice:
		return api.Decision{}, errors.New("this call needs one of its options: c OPTION")
	case a.closed() != "":
		return api.Decision{}, errors.New(a.closed())
	case w != "" && line != w:
		return api.Decision{}, fmt.Errorf("to approve this call type %s in full", quoted(w))
	case w == "" && line != "a" && line != "y" && line != "approve":
		return api.Decision{}, errors.New("to approve, type a alone")
	}
	return api.Decision{Decision: holdgate.AnswerApprove}, nil
}

// choice is an option with, where it takes one, a text behind it. The word that
// approving takes stands behind an option that lets the call go on.
func (p *plain) choice(a *ask, rest string) (api.Decision, error) {
	id, text, _ := strings.Cut(rest, " ")
	i := slices.IndexFunc(a.r.Options, func(o holdgate.Option) bool { return o.ID == id })
	if i < 0 {
		return api.Decision{}, fmt.Errorf("%s is none of the options", quoted(id))
	}
	line := prompt{kind: promptChoose, option: a.r.Options[i]}
	text = strings.TrimSpace(text)
	switch w := a.word(); {
	case !line.releases():
	case a.closed() != "":
		return api.Decision{}, errors.New(a.closed())
	case w != "" && text != w:
		return api.Decision{}, fmt.Errorf("to choose it type %s", quoted("c "+id+" "+w))
	}
	d := api.Decision{Decision: holdgate.AnswerChoose, Choice: id}
	if a.r.Options[i].Other {
		d.Instructions = text
	}
	return d, nil
}
