package email

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// One-time passwords are those of every authenticator app: HMAC-SHA-1, six
// digits, a new one every 30 seconds (RFC 6238 with its defaults).
const (
	stepSeconds = 30
	drift       = 1 // steps that a phone's clock may be off
	maxWrong    = 5 // wrong ones in wrongFor, and no more are looked at
	wrongFor    = 15 * time.Minute
)

// tries counts wrong passwords.
type tries struct {
	n     int
	since time.Time
}

// code is the one-time password of a time step (RFC 4226, section 5.3).
func code(key []byte, step uint64) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], step)
	m := hmac.New(sha1.New, key)
	m.Write(counter[:])
	sum := m.Sum(nil)
	at := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[at:])&0x7fffffff%1_000_000)
}

// prove checks the one-time password of a person. Each counts once, after a
// restart too. An error is a *[sdk.Refused], or says that it is not known.
func (c *Channel) prove(address, given string) error {
	who := strings.ToLower(address)
	key := c.conf.authenticators[who]
	if key == nil {
		return &sdk.Refused{Reason: "no authenticator is configured for you: you may deny and steer here"}
	}
	now := c.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	wrong := c.wrong[who]
	if now.Sub(wrong.since) >= wrongFor {
		wrong = tries{since: now}
	}
	if wrong.n >= maxWrong {
		return &sdk.Refused{Reason: "too many wrong codes: try again in a quarter of an hour"}
	}
	given = strings.ReplaceAll(strings.TrimSpace(given), " ", "")
	this := uint64(now.Unix()) / stepSeconds
	used := errors.New("used")
	err := errors.New("wrong")
	for step := this - drift; step <= this+drift; step++ {
		if subtle.ConstantTimeCompare([]byte(code(key, step)), []byte(given)) != 1 {
			continue
		}
		err = used
		if kept := c.store.changeState(func(s *mailState) bool {
			if step <= s.Steps[who] {
				return false
			}
			s.Steps[who], err = step, nil
			return true
		}); kept != nil {
			return kept
		}
		break
	}
	if err == nil {
		delete(c.wrong, who)
		return nil
	}
	wrong.n++
	c.wrong[who] = wrong
	if errors.Is(err, used) {
		return &sdk.Refused{Reason: "this code was used already: wait for the next one"}
	}
	return &sdk.Refused{Reason: "the code of the authenticator is wrong"}
}
