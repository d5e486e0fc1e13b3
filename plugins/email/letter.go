package email

import (
	"fmt"
	"html/template"
	netmail "net/mail"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// width is that of a mail's text, in cells.
const width = 76

// above stands at the top of every mail, so that a reply can be told from what
// it quotes.
const above = "--- Please write above this line to answer by reply ---"

// A letter is a mail before it is one.
type letter struct {
	to      string
	subject string
	id      string // what stands before the @ in the Message-ID
	parent  string // the same of the mail that it follows, if any
	thread  string
	replyTo *netmail.Address
	lines   []page.Line
	after   []page.Line // how to answer
	link    string
}

// mail makes the mail.
func (c *Channel) mail(l letter) (*mail.Msg, error) {
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := m.From(c.conf.from.Address); err != nil {
		return nil, sdk.Permanent(err)
	}
	if err := m.To(l.to); err != nil {
		return nil, sdk.Permanent(err)
	}
	if l.replyTo != nil {
		m.ReplyToMailAddress(l.replyTo)
	}
	m.Subject(l.subject)
	m.SetMessageIDWithValue(c.messageID(l.id))
	root := "<" + c.messageID("thread."+l.thread) + ">"
	refs := []string{root}
	if l.parent != "" {
		refs = append(refs, "<"+c.messageID(l.parent)+">")
	}
	m.SetGenHeader(mail.HeaderReferences, strings.Join(refs, " "))
	m.SetGenHeader(mail.HeaderInReplyTo, refs[len(refs)-1])
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetGenHeader("X-Auto-Response-Suppress", "All")
	m.SetDateWithValue(c.clock())

	m.SetBodyString(mail.TypeTextPlain, l.text())
	html, err := l.html()
	if err != nil {
		return nil, sdk.Permanent(err)
	}
	m.AddAlternativeString(mail.TypeTextHTML, html)
	return m, nil
}

func (c *Channel) messageID(local string) string { return local + "@" + domain(c.conf.from) }

// text is the letter for people who read text.
func (l letter) text() string {
	var b strings.Builder
	if l.replyTo != nil {
		b.WriteString(above + "\n\n")
	}
	b.WriteString(page.Text(l.lines, width, false))
	for _, line := range l.after {
		b.WriteString("\n" + line.Text + "\n")
	}
	if l.link != "" {
		b.WriteString("\n  " + l.link + "\n")
	}
	return b.String()
}

// The look of a mail's lines. A mail cannot have a style sheet that every
// reader honours.
var lineStyles = map[page.Style]template.CSS{
	page.Strong:  "font-weight:bold",
	page.Alarm:   "font-weight:bold;color:#b00020",
	page.Added:   "color:#0a6b2d",
	page.Removed: "color:#b00020",
	page.Faint:   "color:#666666",
}

var asHTML = template.Must(template.New("mail").Parse(`<!DOCTYPE html>
<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"></head><body style="font-family:sans-serif;line-height:1.4">
{{with .Above}}<p style="color:#666666">{{.}}</p>
{{end}}{{with .Link}}<p><a href="{{.}}">Open the request</a></p>
{{end}}{{range .Parts}}{{if .Code}}<pre style="font-family:monospace;white-space:pre-wrap;overflow-wrap:anywhere;border-left:3px solid #bbbbbb;margin:.3em 0;padding:.2em 0 .2em .8em">{{range .Lines}}{{with .Look}}<span style="{{.}}">{{end}}{{.Text}}{{if .Look}}</span>{{end}}
{{end}}</pre>
{{else if .Said}}<blockquote style="color:#666666;border-left:3px dotted #bbbbbb;margin:.3em 0;padding:.2em 0 .2em .8em">{{range .Lines}}<div>{{.Text}}</div>{{end}}</blockquote>
{{else}}{{range .Lines}}<div style="margin:.15em 0;overflow-wrap:anywhere">{{with .Label}}<span style="color:#666666">{{.}}</span> {{end}}{{with .Look}}<span style="{{.}}">{{end}}{{.Text}}{{if .Look}}</span>{{end}}&nbsp;</div>
{{end}}{{end}}{{end}}{{range .After}}<p>{{.Text}}</p>
{{end}}{{with .Link}}<p><a href="{{.}}">Open the request</a></p>
{{end}}</body></html>
`))

// A htmlPart is lines of a page that look alike: prose, the call, or what the
// agent says.
type htmlPart struct {
	Code, Said bool
	Lines      []htmlLine
}

type htmlLine struct {
	Label, Text string
	Look        template.CSS
}

// parted puts lines that look alike together.
func parted(lines []page.Line) (parts []htmlPart) {
	for _, l := range lines {
		line := htmlLine{Label: strings.TrimSpace(l.Label), Text: l.Text, Look: lineStyles[l.Style]}
		last := len(parts) - 1
		if last < 0 || parts[last].Code != l.Code() || parts[last].Said != l.Said() {
			parts = append(parts, htmlPart{Code: l.Code(), Said: l.Said()})
			last++
		}
		parts[last].Lines = append(parts[last].Lines, line)
	}
	return parts
}

func (l letter) html() (string, error) {
	data := struct {
		Above, Link string
		Parts       []htmlPart
		After       []page.Line
	}{Parts: parted(l.lines), Link: l.link, After: l.after}
	if l.replyTo != nil {
		data.Above = above
	}
	var b strings.Builder
	if err := asHTML.Execute(&b, data); err != nil {
		return "", fmt.Errorf("drawing the mail: %w", err)
	}
	return b.String(), nil
}

// question is the mail that asks one person.
func (c *Channel) question(n sdk.Notice, address string, now time.Time) letter {
	l := letter{
		to: address, subject: subject(n), thread: c.thread(n.Thread, address),
		id: "r." + c.keys.token(forReply, n.ID, n.Digest, address), lines: page.Of(n, now),
	}
	when := ""
	if !n.ExpiresAt.IsZero() {
		when = " until " + n.ExpiresAt.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	if c.conf.imap != nil {
		l.replyTo = c.answersTo(n, address)
		how := "Reply with the line \"deny\" and your reason"
		if n.May(sdk.Steer) {
			how += ", or with \"steer\" and what to do instead"
		}
		l.say(how + when + ". A reply cannot approve.")
	}
	switch {
	case c.listener == nil:
		l.say("Anything else is answered with: holdgate show " + n.ID)
		return l
	case c.proves(address):
		l.say("Or open the request" + when + "; approving takes a code from your authenticator app:")
	default:
		l.say("Or open the request" + when + ", to deny or to steer:")
	}
	l.link = c.conf.page + "/#" + c.keys.token(forLink, n.ID, n.Digest, address)
	return l
}

func (l *letter) say(text string) { l.after = append(l.after, page.Line{Text: inert(text)}) }

// answersTo is where replies to the mail go.
func (c *Channel) answersTo(n sdk.Notice, address string) *netmail.Address {
	if !c.conf.plus {
		return c.conf.replyTo
	}
	local, host, _ := strings.Cut(c.conf.replyTo.Address, "@")
	return &netmail.Address{Address: local + "+" + c.keys.token(forReply, n.ID, n.Digest, address) + "@" + host}
}

// proves reports whether the person of the address can prove who they are.
func (c *Channel) proves(address string) bool {
	return c.conf.authenticators[strings.ToLower(address)] != nil
}

// thread names the thread of a session in the mails to one address.
func (c *Channel) thread(session, address string) string {
	return c.keys.token(forThread, session, address)
}

// risk is the request's risk in words of ours alone.
func risk(n sdk.Notice) string {
	if slices.Contains([]string{sdk.RiskLow, sdk.RiskMedium, sdk.RiskHigh, sdk.RiskCritical}, n.Risk) {
		return n.Risk + " risk"
	}
	return "unknown risk"
}

// subject says how risky what is, and who asks. What the call says in it is one
// line of bounded length; the mail's head is encoded by whoever writes it.
func subject(n sdk.Notice) string {
	s := "[Holdgate] " + risk(n)
	if n.Summary != "" {
		s += ": " + brief(n.Summary, 100)
	}
	if n.Agent.ID != "" {
		s += " (" + brief(n.Agent.ID, 30) + ")"
	}
	return s
}

// inSession names the session by the start of its thread, where that is what
// Holdgate makes.
func inSession(n sdk.Notice) string {
	if len(n.Thread) != 16 || strings.Trim(n.Thread, "0123456789abcdef") != "" {
		return ""
	}
	return " (session " + n.Thread[:8] + ")"
}

// brief is a text of at most so many characters, on one line.
func brief(s string, most int) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(inert(s)), " "), "=?", "= ?") // no text is encoded but by us
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// newsLetter is the mail that brings news.
func (c *Channel) newsLetter(n sdk.News, address string) letter {
	title := map[string]string{
		sdk.NewsPolicy: "the policy has changed", sdk.NewsPaused: "agents are paused", sdk.NewsResumed: "agents go on",
		sdk.NewsStopped: "agents are stopped", sdk.NewsSession: "a session has changed", sdk.NewsFinding: "something to look at",
		sdk.NewsCheckpoint: "the head of the audit log", sdk.NewsDown: "a channel is down", sdk.NewsUp: "a channel works again", sdk.NewsTest: "a test",
	}[n.Kind]
	if title == "" {
		title = "news"
	}
	l := letter{to: address, subject: "[Holdgate] " + title, id: "n." + c.keys.token(forMail, n.ID, address), thread: c.thread("news", address)}
	l.lines = append(l.lines, page.Line{Label: "  ", Text: inert(n.Title), Style: page.Strong})
	for _, line := range n.Lines {
		l.lines = append(l.lines, page.Line{Label: "  ", Text: inert(line)})
	}
	return l
}
