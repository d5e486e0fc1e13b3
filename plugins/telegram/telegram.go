// Package telegram is the channel that asks in Telegram, by a bot of the
// user's own: messages with buttons, and answers by pressing them.
//
// # Who may answer
//
// The accounts that the configuration lists, by their numeric ids, which
// nobody can choose: names can be taken by others. Anybody else who presses a
// button is told so. Telegram vouches for who pressed, over TLS, to the holder
// of the bot's token; what a person types counts for steering, denying and
// drafts alone, and each approval is the press of a button.
//
// # A button
//
// The data of a button is a MAC under a key that only the bot's token yields,
// over the request, the nonce and digest of what is shown, and the chat. So
// nobody can make one up, one of a call that has changed is worth nothing, and
// a button works after a restart, when Holdgate has told of the request again.
// Where the risk is high, unknown or critical, or something is hidden, a
// second message asks again; its buttons are for the one who pressed, and count
// from 700 ms after they appeared.
//
// # A message
//
// What is shown is one block of plain text, the page that every screen shows,
// under a line of Holdgate's own. No markup is parsed, and Telegram finds no
// links, mentions or commands in such a block. Where the whole call does not
// fit, nobody can approve it there.
//
// # What is kept
//
// With state_file: how far updates were read, and which messages show which
// request, so that a restart shows nothing twice. The buttons rest on neither.
package telegram

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Config is the channel's configuration.
type Config struct {
	// TokenFile holds the bot's token, in a file that its owner alone can read.
	TokenFile string `json:"token_file"`
	// Chat is where requests are shown: the id of a group, or of a person who
	// has started the bot. Requests for certain people go to these alone.
	Chat int64 `json:"chat"`
	// Users are the accounts that may answer.
	Users []int64 `json:"users"`
	// StateFile is where the channel keeps what it has shown; nowhere if empty.
	StateFile string `json:"state_file"`
	// API is where the Bot API is; https://api.telegram.org if empty.
	API string `json:"api"`
}

// minShown is how long a button is shown before it counts.
const minShown = 700 * time.Millisecond

// A Channel asks with one bot.
type Channel struct {
	log      *slog.Logger
	minShown time.Duration
	pause    time.Duration // before the first second try to read updates

	api   api
	macs  [sha256.Size]byte // the key of the buttons
	bot   int64
	chat  int64
	users map[int64]bool
	state *state

	telling sync.Mutex // guards told
	told    []string   // the ids of the latest news

	mu      sync.Mutex // guards what follows
	open    map[string]*question
	buttons map[string]button
	prompts map[post]prompt
	deaf    error // why updates cannot be read at present
}

var _ sdk.Newscaster = (*Channel)(nil)

// A question is a request that waits for an answer.
type question struct {
	// showing is held while its messages change, so that two notices of it do
	// not both send one. It is taken before the channel's lock.
	showing sync.Mutex

	notice sdk.Notice
	keys   []string // of its buttons
	asides []post   // messages about it besides: prompts and second questions
}

// A post is a message in a chat.
type post struct {
	Chat    int64 `json:"chat"`
	Message int64 `json:"message"`
}

// New returns a channel that has to be configured.
func New(log *slog.Logger) *Channel {
	return &Channel{
		log: log, minShown: minShown, pause: time.Second, state: newState(""),
		open: make(map[string]*question), buttons: make(map[string]button), prompts: make(map[post]prompt),
		api: api{client: &http.Client{
			Transport:     &http.Transport{TLSHandshakeTimeout: 5 * time.Second, MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}},
	}
}

// Info implements [sdk.Channel].
func (c *Channel) Info() sdk.Info {
	return sdk.Info{Name: "telegram", Assurance: sdk.Interactive, Forgets: true, Edits: true, Claims: true}
}

// Configure implements [sdk.Channel]. It does not talk to Telegram: a place
// that is down is no reason not to start.
func (c *Channel) Configure(_ context.Context, config []byte) error {
	var conf Config
	if err := sdk.Decode(config, &conf); err != nil {
		return err
	}
	base, err := address(conf.API)
	if err != nil {
		return err
	}
	if c.api.token, c.bot, err = readToken(conf.TokenFile); err != nil {
		return err
	}
	if conf.Chat == 0 {
		return errors.New("chat is not set: the id of the group or person to ask")
	}
	if len(conf.Users) == 0 {
		return errors.New("users is empty: the ids of the accounts that may answer")
	}
	users := make(map[int64]bool)
	for _, u := range conf.Users {
		if u <= 0 {
			return fmt.Errorf("users has %d, which is no person's account", u)
		}
		users[u] = true
	}
	if c.state, err = readState(conf.StateFile); err != nil {
		return err
	}
	c.api.base, c.chat, c.users = base, conf.Chat, users
	c.macs = sha256.Sum256([]byte("holdgate telegram buttons\n" + string(c.api.token)))
	return nil
}

// Health implements [sdk.Channel]. It asks for the chat, so that a token of another bot and a
// private chat or group that the bot is not in are found before a request waits there.
func (c *Channel) Health(ctx context.Context) error {
	if c.api.base == "" {
		return errors.New("not configured")
	}
	c.mu.Lock()
	deaf := c.deaf
	c.mu.Unlock()
	if deaf != nil {
		return deaf
	}
	return c.api.call(ctx, "getChat", struct {
		Chat int64 `json:"chat_id"`
	}{c.chat}, nil)
}

// address checks where the Bot API is: the token is in every URL, so nothing
// goes over the network in the clear.
func address(raw string) (string, error) {
	if raw == "" {
		return "https://api.telegram.org", nil
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Host == "":
		return "", errors.New("api is no URL")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return "", errors.New("api must be a scheme, a host and perhaps a path")
	case u.Scheme == "https", u.Scheme == "http" && sdk.Loopback(u.Hostname()):
		return strings.TrimRight(raw, "/"), nil
	}
	return "", errors.New("api must be https, or http to a loopback address")
}

// tokens is what a token looks like: the bot's id, and a secret.
var tokens = regexp.MustCompile(`^([0-9]{1,18}):[A-Za-z0-9_-]{20,200}$`)

// readToken reads the token, and the bot's id from it.
func readToken(path string) (_ token, bot int64, err error) {
	if path == "" {
		return "", 0, errors.New("token_file is not set: the file with the token that BotFather gave")
	}
	raw, err := sdk.ReadSecret("token_file", path, 1, 1024)
	if err != nil {
		return "", 0, err
	}
	t := string(raw)
	m := tokens.FindStringSubmatch(t)
	if m == nil {
		return "", 0, fmt.Errorf("%s does not hold a bot's token, which looks like 123456:ABC-DEF", path)
	}
	if _, err := fmt.Sscan(m[1], &bot); err != nil {
		return "", 0, fmt.Errorf("%s: the bot's id is no number", path)
	}
	return token(t), bot, nil
}
