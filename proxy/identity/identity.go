// Package identity knows agents by what they show: a token of their own, alone
// or together with the user that a unix socket says is at the other end, or the
// token of a Kubernetes service account.
//
// Tokens are kept as SHA-256 and compared in constant time; they are made by
// [NewToken], of 256 random bits, so that a hash that took long would add
// nothing. An error never holds what was shown.
package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// prefix begins every token that [NewToken] makes, so that one can be told from
// a provider's key, also by programs that look for secrets.
const prefix = "hgt_"

// NewToken makes a token.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: see its documentation
	return prefix + hex.EncodeToString(b[:])
}

// IsToken reports whether a text is a token as [NewToken] makes them, whoever's.
func IsToken(s string) bool {
	return strings.HasPrefix(s, prefix) && len(s) == len(prefix)+64
}

// HasToken reports whether a token as [NewToken] makes them is part of a text.
func HasToken(s string) bool {
	for {
		_, rest, found := strings.Cut(s, prefix)
		if !found {
			return false
		}
		if len(rest) >= 64 && strings.Trim(rest[:64], "0123456789abcdef") == "" {
			return true
		}
		s = rest
	}
}

// Hash is what is kept of a token.
func Hash(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// An Agent is one that can be known.
type Agent struct {
	ID     string
	Labels map[string]string
	// Tokens are the hashes of its tokens.
	Tokens [][sha256.Size]byte
	// UID, where it is set, is the user as whom its process runs: its tokens count
	// over a unix socket alone, from that user.
	UID *uint32
	// ServiceAccounts are those of Kubernetes, as NAMESPACE/NAME.
	ServiceAccounts []string
}

// Shown is what a request shows.
type Shown struct {
	User  string // the name that came with the token; empty: none
	Token string
	Peer  Peer
}

// A Peer is the process at the other end of a unix socket.
type Peer struct {
	Known bool
	UID   uint32
}

// A Cluster says whose a service account's token is, as NAMESPACE/NAME.
type Cluster interface {
	ServiceAccount(ctx context.Context, token string) (string, error)
}

// A Book has all agents that can be known. The zero value and nil have none. It
// may be used by several goroutines.
type Book struct {
	agents  []Agent
	cluster Cluster
}

// New makes a Book. cluster may be nil where no agent has a service account.
func New(agents []Agent, cluster Cluster) (*Book, error) {
	owner := map[[sha256.Size]byte]string{}
	for _, a := range agents {
		for _, h := range a.Tokens {
			if other, taken := owner[h]; taken {
				return nil, fmt.Errorf("agents %s and %s have the same token", other, a.ID)
			}
			owner[h] = a.ID
		}
		if len(a.ServiceAccounts) > 0 && cluster == nil {
			return nil, fmt.Errorf("agent %s has a service account, and no cluster is configured", a.ID)
		}
	}
	return &Book{agents: agents, cluster: cluster}, nil
}

// None reports whether no agent can be known.
func (b *Book) None() bool { return b == nil || len(b.agents) == 0 }

// Agents are those that can be known, as they are proven.
func (b *Book) Agents() []holdgate.Agent {
	if b == nil {
		return nil
	}
	list := make([]holdgate.Agent, len(b.agents))
	for i, a := range b.agents {
		list[i] = a.proven()
	}
	return list
}

func (a Agent) proven() holdgate.Agent {
	return holdgate.Agent{ID: a.ID, Proven: true, Labels: a.Labels}
}

// Find is whose credential it is, and the service account whose token it is, where it
// is one. Its errors are for the agent's user.
func (b *Book) Find(ctx context.Context, c Shown) (agent holdgate.Agent, account string, err error) {
	if b.None() {
		return holdgate.Agent{}, "", errors.New("the request has a credential for Holdgate, which knows no agent by one: name the agent under agents in the configuration, or leave the credential out")
	}
	a, account, err := b.owner(ctx, c.Token)
	if err != nil {
		return holdgate.Agent{}, "", err
	}
	if c.User != "" && c.User != a.ID {
		return holdgate.Agent{}, "", errors.New("the credential is of another agent than the user name says: the user name is the agent's name in the configuration")
	}
	if !a.takes(c.Peer) {
		return holdgate.Agent{}, "", fmt.Errorf("the token of %s counts over the agents' unix socket alone, from the user that the configuration names", a.ID)
	}
	return a.proven(), account, nil
}

// takes reports whether the agent's tokens count from the process.
func (a Agent) takes(p Peer) bool { return a.UID == nil || p.Known && p.UID == *a.UID }

// Still reports whether a credential that was found to be the agent's, and a token of
// the service account where one is named, would be found so now. It asks no cluster.
func (b *Book) Still(id string, c Shown, account string) bool {
	if b.None() {
		return false
	}
	a, found := b.byHash(c.Token)
	if !found && account != "" {
		a, found = b.byAccount(account)
	}
	return found && a.ID == id && (c.User == "" || c.User == id) && a.takes(c.Peer)
}

// owner is the agent whose token it is, and the service account that it is of.
func (b *Book) owner(ctx context.Context, token string) (Agent, string, error) {
	if a, found := b.byHash(token); found {
		return a, "", nil
	}
	if b.cluster == nil || strings.Count(token, ".") != 2 {
		return Agent{}, "", errors.New("the credential is of no agent that the configuration knows: `holdgate agents add NAME` makes a token")
	}
	account, err := b.cluster.ServiceAccount(ctx, token)
	if err != nil {
		return Agent{}, "", fmt.Errorf("the service account's token is not taken: %w", err)
	}
	a, found := b.byAccount(account)
	if !found {
		return Agent{}, "", fmt.Errorf("the service account %s is no agent's: name it under agents in the configuration", account)
	}
	return a, account, nil
}

// byHash is the agent that has this token. All hashes are compared, whichever fits.
func (b *Book) byHash(token string) (Agent, bool) {
	hash, found := Hash(token), -1
	for i, a := range b.agents {
		for _, h := range a.Tokens {
			if subtle.ConstantTimeCompare(h[:], hash[:]) == 1 {
				found = i
			}
		}
	}
	if found < 0 {
		return Agent{}, false
	}
	return b.agents[found], true
}

func (b *Book) byAccount(account string) (Agent, bool) {
	i := slices.IndexFunc(b.agents, func(a Agent) bool { return slices.Contains(a.ServiceAccounts, account) })
	if i < 0 {
		return Agent{}, false
	}
	return b.agents[i], true
}

// PeerOf is the process at the other end of a unix socket.
func PeerOf(c *net.UnixConn) Peer {
	uid, err := peerUID(c)
	return Peer{Known: err == nil, UID: uid}
}
