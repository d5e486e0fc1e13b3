// Package push tells browsers that something waits: Web Push (RFC 8030), to those in which
// a person has asked for it on the page.
//
// A message goes by way of a service of the browser's maker. So it is encrypted for the
// browser (RFC 8291), always of the same length, and says only the risk of what waits and
// the request's ID, with which a tap opens the page. Who decides signs in there as ever: a
// message is no way to answer.
//
// Where it goes is a browser's word. It must be an https address of the public network,
// which is looked at when it is dialled, and no redirect is followed.
//
// # What is stored
//
//	push/HASH    a subscription, by the hash of its address
package push

import (
	"cmp"
	"context"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

const (
	prefix = "push/"
	// MaxOf is how many browsers of a person are told; the oldest gives way.
	MaxOf        = 10
	maxEndpoint  = 1024 // bytes of an address
	maxBrowser   = 200  // bytes of a browser's name
	sizeOfSecret = 16   // bytes that a browser makes
)

// ErrSubscription says that a browser's subscription is none that messages are sent to.
var ErrSubscription = errors.New("this is no subscription that can be used")

// A Subscription is a browser that a person wants to be told in.
type Subscription struct {
	record.Header

	ID       string    `json:"id"`
	Person   string    `json:"person"`
	Browser  string    `json:"browser,omitempty"` // its own word
	Endpoint string    `json:"endpoint"`
	Key      []byte    `json:"key"`    // P-256, uncompressed: messages are encrypted for it
	Secret   []byte    `json:"secret"` // that the browser and the sidecar share
	At       time.Time `json:"at"`
}

// Config is what a Sender needs. All fields but Logger must be set.
type Config struct {
	Store  store.Store
	Queue  *approvals.Queue
	People func() *people.People
	// Seed makes the key by which services know the sidecar: 32 bytes that stay the same.
	Seed []byte
	// Contact is whom services can turn to: a URL, https or mailto; empty is nobody.
	Contact func() string
	// Refuse says why an address is none of the public network, or nothing.
	Refuse func(netip.Addr) string
	Logger *slog.Logger
}

// A Sender keeps subscriptions and sends messages. It is safe for concurrent use.
type Sender struct {
	c      Config
	key    *ecdsa.PrivateKey
	public []byte
	client *http.Client
	apart  time.Duration // between messages to one browser
}

// New returns a Sender.
func New(c Config) (*Sender, error) {
	if c.Store == nil || c.Queue == nil || c.People == nil || c.Contact == nil || c.Refuse == nil {
		return nil, errors.New("push: store, queue, people, contact and refuse must all be set")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	key, err := keyOf(c.Seed)
	if err != nil {
		return nil, err
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	return &Sender{c: c, key: key, public: public, client: client(c.Refuse), apart: apart}, nil
}

// keyOf makes a key of a seed, always the same.
func keyOf(seed []byte) (*ecdsa.PrivateKey, error) {
	if len(seed) != sha256.Size {
		return nil, errors.New("push: the seed must have 32 bytes")
	}
	for range 100 { // but for one seed in four billion the first will do
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed); err == nil {
			return key, nil
		}
		sum := sha256.Sum256(seed)
		seed = sum[:]
	}
	return nil, errors.New("push: the seed makes no key")
}

// PublicKey is what browsers subscribe with (applicationServerKey).
func (s *Sender) PublicKey() string { return base64.RawURLEncoding.EncodeToString(s.public) }

// Add has a person told in a browser from now on.
func (s *Sender) Add(ctx context.Context, sub Subscription) error {
	if err := check(sub); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(sub.Endpoint))
	sub.Header, sub.ID, sub.At = record.Current(), hex.EncodeToString(sum[:8]), record.Now()
	sub.Browser = sub.Browser[:min(len(sub.Browser), maxBrowser)]
	return s.c.Store.Update(ctx, func(tx store.Tx) error {
		list, err := all(tx)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(o Subscription) bool { return o.Person != sub.Person || o.ID == sub.ID })
		slices.SortFunc(list, func(a, b Subscription) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
		for _, o := range list[:max(len(list)-MaxOf+1, 0)] {
			if err := tx.Delete(prefix + o.ID); err != nil {
				return err
			}
		}
		return record.Write(tx, prefix+sub.ID, sub)
	})
}

// check refuses what is no address of a service, or no key.
func check(sub Subscription) error {
	u, err := url.Parse(sub.Endpoint)
	host := ""
	if err == nil {
		host = u.Hostname()
	}
	_, numeric := netip.ParseAddr(host)
	switch {
	case err != nil, len(sub.Endpoint) > maxEndpoint, u.Scheme != "https", u.User != nil, host == "", u.Port() != "" && u.Port() != "443":
		return fmt.Errorf("%w: its address must be https, at the usual port", ErrSubscription)
	case numeric == nil || !strings.Contains(strings.Trim(host, "."), ".") || strings.HasSuffix(strings.TrimSuffix(host, "."), ".localhost"):
		return fmt.Errorf("%w: its address names no host of the public network", ErrSubscription)
	case len(sub.Secret) != sizeOfSecret:
		return fmt.Errorf("%w: its secret must have %d bytes", ErrSubscription, sizeOfSecret)
	case sub.Person == "":
		return fmt.Errorf("%w: it is nobody's", ErrSubscription)
	}
	if _, err := ecdh.P256().NewPublicKey(sub.Key); err != nil {
		return fmt.Errorf("%w: its key is no point of P-256", ErrSubscription)
	}
	return nil
}

// List lists a person's subscriptions, the oldest first.
func (s *Sender) List(ctx context.Context, person string) (list []Subscription, err error) {
	err = s.c.Store.View(ctx, func(tx store.Tx) error {
		list, err = all(tx)
		return err
	})
	list = slices.DeleteFunc(list, func(o Subscription) bool { return o.Person != person })
	slices.SortFunc(list, func(a, b Subscription) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return list, err
}

// Remove has a person told in a browser no longer.
func (s *Sender) Remove(ctx context.Context, person, id string) error {
	return s.c.Store.Update(ctx, func(tx store.Tx) error {
		var sub Subscription
		switch err := record.Read(tx, prefix+id, &sub); {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return err
		case sub.Person != person:
			return nil
		}
		return tx.Delete(prefix + id)
	})
}

// all reads all subscriptions.
func all(tx store.Tx) (list []Subscription, err error) {
	for p, err := range tx.Scan(prefix, "") {
		if err != nil {
			return nil, err
		}
		var sub Subscription
		if err := record.Decode(p.Key, p.Value, &sub); err != nil {
			return nil, err
		}
		list = append(list, sub)
	}
	return list, nil
}
