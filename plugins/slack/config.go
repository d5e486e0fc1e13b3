package slack

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Config is the channel's configuration.
type Config struct {
	// Channel is the id of the channel to ask in, such as C024BE91L.
	Channel string `json:"channel"`
	// Users are the ids of those who may answer, such as U024BE7LH, besides those
	// whom Holdgate's own configuration names. They are mentioned where that names
	// nobody.
	Users []string `json:"users"`
	// BotTokenFile holds the token that messages are posted with (xoxb-).
	BotTokenFile string `json:"bot_token_file"`
	// AppTokenFile holds the token for Socket Mode (xapp-): answers come in
	// over a connection that is opened from here.
	AppTokenFile string `json:"app_token_file"`
	// SigningSecretFile holds the app's signing secret: answers come in as
	// signed requests to Listen. It or AppTokenFile is set, not both.
	SigningSecretFile string `json:"signing_secret_file"`
	// Listen is where signed requests are taken, as "HOST:PORT"; HOST is
	// 127.0.0.1 if empty, port 0 is any.
	Listen string `json:"listen"`
	// AllowRemote lets Listen be an address that other machines can reach.
	AllowRemote bool `json:"allow_remote"`
	// APIURL is Slack's Web API: https, or http to a loopback address;
	// https://slack.com/api/ if empty.
	APIURL string `json:"api_url"`
}

// The sizes that a token or secret may have, in bytes.
const (
	minToken = 16
	maxToken = 4096
)

// A secret prints as nothing.
type secret []byte

// Format implements [fmt.Formatter].
func (secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("<secret>")) }

var (
	channelID = regexp.MustCompile(`^[CGD][A-Z0-9]{2,20}$`)
	userID    = regexp.MustCompile(`^[UW][A-Z0-9]{2,20}$`)
)

// check reports what is wrong with the configuration, but for the files, and
// fills in what is left out.
func (conf *Config) check() error {
	if !channelID.MatchString(conf.Channel) {
		return errors.New("channel must be the id of a channel, such as C024BE91L: Slack shows it at the end of the channel's details")
	}
	for _, u := range conf.Users {
		if !userID.MatchString(u) {
			return fmt.Errorf("users: %q is no id of a user, such as U024BE7LH: Slack copies it from the menu of a profile", u)
		}
	}
	socket, signed := conf.AppTokenFile != "", conf.SigningSecretFile != ""
	switch {
	case socket == signed:
		return errors.New("set app_token_file, for Socket Mode, or signing_secret_file with listen, and not both: answers come in by one of them")
	case socket && conf.Listen != "":
		return errors.New("listen goes with signing_secret_file: Socket Mode listens to nothing")
	case signed && conf.Listen == "":
		return errors.New("listen is not set: where does Slack's request URL lead?")
	}
	if conf.APIURL == "" {
		conf.APIURL = "https://slack.com/api/"
	}
	if !strings.HasSuffix(conf.APIURL, "/") {
		conf.APIURL += "/"
	}
	u, err := url.Parse(conf.APIURL)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !sdk.Loopback(u.Hostname())) {
		return errors.New("api_url must be https, or http to a loopback address")
	}
	return nil
}

// readToken reads a token from a file that nobody else can read.
func readToken(key, path, prefix string) (secret, error) {
	token, err := sdk.ReadSecret(key, path, minToken, maxToken)
	switch {
	case err != nil:
		return nil, err
	case !bytes.HasPrefix(token, []byte(prefix)):
		return nil, fmt.Errorf("%s: what %s holds does not begin with %s: it is another kind of token", key, path, prefix)
	}
	return token, nil
}
