package desktop

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// What buttons do besides giving an answer as it is.
const (
	doDenyWhy = "deny, why"
	doOpen    = "open"
	doConfirm = "confirm" // give the answer of a second question
	doCancel  = "cancel"
)

// Keys that the specification, and KDE beside it, give a meaning.
const (
	keyDefault = "default"      // a click on the notification itself
	keyReply   = "inline-reply" // a field for text, and the capability to show one
)

// A button is what its key stands for.
type button struct {
	request string
	do      string // an answer of the SDK's, or one of the above
	choice  string
	label   string
	answer  sdk.Answer // of a second question
}

// offers are the buttons of a request, the most important first. What decides
// against a call comes before what lets it run.
func (c *Channel) offers(n sdk.Notice, s *server, whole bool) (all []button) {
	if !s.does("actions") {
		return nil
	}
	types := s.does(keyReply)
	room := c.conf.Buttons
	if room == 0 {
		room = 3
		if types {
			room = 6
		}
	}
	add := func(may bool, label, do, choice string) {
		if may && len(all) < room {
			all = append(all, button{request: n.ID, do: do, choice: choice, label: label})
		}
	}
	add(n.May(sdk.Deny), "Deny", sdk.Deny, "")
	if trusts := c.trusts(n, s, whole); n.Kind == "choice" && len(n.Options) <= room-len(all) {
		for i, o := range n.Options {
			add(trusts && n.May(sdk.Choose) && (types || !o.Other), fmt.Sprintf("%d. %s", i+1, short(o.Label, maxLabel)), sdk.Choose, o.ID)
		}
	} else {
		label := "Approve"
		if page.Word(n) != "" {
			label = "Approve…"
		}
		add(trusts && n.May(sdk.Approve) && (types || n.Risk != sdk.RiskCritical), label, sdk.Approve, "")
	}
	add(c.conf.Page != "", "Open page", doOpen, "")
	add(types && n.May(sdk.Steer), "Do something else…", sdk.Steer, "")
	add(types && n.May(sdk.Deny), "Deny and say why…", doDenyWhy, "")
	return all
}

// trusts reports whether a person may let the call run from here: they see all
// of it, and the agent cannot press the button.
func (c *Channel) trusts(n sdk.Notice, s *server, whole bool) bool {
	if !whole || !n.Whole || !s.does("body") {
		return false
	}
	switch c.conf.Approve {
	case always:
		return true
	case confined:
		return n.Agent.Confinement == "strong" || n.Agent.Confinement == "weak"
	}
	return false
}

// key is the key of a button that shows a request: known to those who know the
// nonce, and another one as soon as the call is.
func key(n sdk.Notice, b button) string {
	h := sha256.New()
	for _, field := range []string{"holdgate desktop button", n.ID, n.Nonce, n.Digest, b.do, b.choice} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(field)))
		h.Write(size[:])
		h.Write([]byte(field))
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:15]))
}

// know makes buttons known, in place of those that the request had, and returns
// them as the bus takes them: keys and labels in turns. Those of a second
// question are worth nothing after a restart, and those of a notice that is no
// longer the question's are worth nothing at all.
func (c *Channel) know(q *question, n sdk.Notice, buttons []button, once bool) (actions []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disown(q)
	actions = []string{}
	for _, b := range buttons {
		k := key(n, b)
		if once {
			k = strings.ToLower(rand.Text())
		}
		if q.notice.Nonce == n.Nonce && !q.notice.Ended() {
			c.buttons[k] = b
			q.keys = append(q.keys, k)
		}
		actions = append(actions, k, b.label)
	}
	return actions
}

// disown makes the question's buttons worth nothing. It needs the lock.
func (c *Channel) disown(q *question) {
	for _, k := range q.keys {
		delete(c.buttons, k)
	}
	q.keys = nil
}
