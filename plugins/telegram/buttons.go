package telegram

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// What buttons do besides giving an answer as it is.
const (
	doDenyWhy = "deny, why"
	doConfirm = "confirm" // give the answer of a second question
	doCancel  = "cancel"
)

// A button is what its opaque data stand for.
type button struct {
	request string
	chat    int64
	do      string // an answer of the SDK's, or one of the above
	choice  string

	// Of a second question:
	pair   string // both buttons have the same
	user   int64  // whose it is
	ready  time.Time
	answer sdk.Answer
}

// keys are the buttons of a request in a chat, nil where there are none. What
// decides stands apart from what asks for words, and approving comes last.
func (c *Channel) keys(n sdk.Notice, chat int64, whole bool) *keyboard {
	k := &keyboard{}
	row := func(buttons ...key) { k.Rows = append(k.Rows, buttons) }
	b := func(label, do, choice string) key {
		return key{Text: label, Data: c.button(n, button{request: n.ID, chat: chat, do: do, choice: choice})}
	}
	if n.May(sdk.Deny) {
		row(b("Deny", sdk.Deny, ""), b("Deny and say why", doDenyWhy, ""))
	}
	if n.May(sdk.Steer) {
		row(b("Do something else", sdk.Steer, ""))
	}
	if n.May(sdk.Claim) && n.Claim == nil {
		row(b("I am looking at it", sdk.Claim, ""))
	}
	if n.May(sdk.Unclaim) && n.Claim != nil {
		row(b("I no longer look at it", sdk.Unclaim, ""))
	}
	if n.May(sdk.Edit) && whole && len(n.Editable) <= maxMessage {
		row(b("Change the arguments", sdk.Edit, ""))
	}
	if n.May(sdk.Choose) && whole {
		for i, o := range n.Options {
			row(b(fmt.Sprintf("%d. %s", i+1, short(o.Label, maxLabel)), sdk.Choose, o.ID))
		}
	}
	if n.May(sdk.Approve) && whole {
		label := "Approve"
		if page.Word(n) != "" {
			label = "Approve…"
		}
		row(b(label, sdk.Approve, ""))
	}
	if len(k.Rows) == 0 {
		return nil
	}
	return k
}

// button makes a button of a request known, and returns its data.
func (c *Channel) button(n sdk.Notice, b button) string {
	mac := hmac.New(sha256.New, c.macs[:])
	for _, field := range []string{n.ID, n.Nonce, n.Digest, b.do, b.choice, fmt.Sprint(b.chat)} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(field)))
		mac.Write(size[:])
		mac.Write([]byte(field))
	}
	data := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:24])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.know(data, b)
	return data
}

// once makes a button for one person and one answer known.
func (c *Channel) once(b button) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	data := rand.Text()
	c.know(data, b)
	return data
}

// know needs the lock.
func (c *Channel) know(data string, b button) {
	q := c.open[b.request]
	if q == nil {
		return
	}
	if _, known := c.buttons[data]; !known {
		q.keys = append(q.keys, data)
	}
	c.buttons[data] = b
}

// spend forgets both buttons of a second question, and reports whether it was
// the first to do so: each is answered once.
func (c *Channel) spend(b button) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for data, other := range c.buttons {
		if other.pair == b.pair {
			delete(c.buttons, data)
			first = true
		}
	}
	return first
}
