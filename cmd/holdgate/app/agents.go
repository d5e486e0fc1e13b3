package app

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals/socket"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/authzen"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/identity"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// book has the agents that the configuration knows by what they show, service
// accounts by what the cluster says.
func book(c config.Config, cl identity.Cluster) (*identity.Book, error) {
	var list []identity.Agent
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.Agents[name]
		known := identity.Agent{ID: name, Labels: a.Labels, UID: a.UID, ServiceAccounts: a.ServiceAccounts}
		if a.TokenSHA256 != (config.TokenHash{}) {
			known.Tokens = [][sha256.Size]byte{a.TokenSHA256}
		}
		list = append(list, known)
	}
	return identity.New(list, cl)
}

// listenOwnSocket is the agents' door as a unix socket; nil where none is
// configured. Who connects is told by the kernel, so everybody may.
func (a *App) listenOwnSocket() (net.Listener, error) {
	path := a.c.Listen.AgentsSocket
	if path == "" {
		return nil, nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("listen.agents_socket: %s is there and no socket", path)
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("listen.agents_socket: %w", err)
	}
	if mode := dir.Mode(); mode.Perm()&0o022 != 0 && mode&os.ModeSticky == 0 {
		return nil, fmt.Errorf("listen.agents_socket: others may write in %s (mode %04o), and could put a socket of theirs in its place, to which agents would show their tokens: chmod go-w %[1]s, or name another folder", filepath.Dir(path), mode.Perm())
	}
	if len(path) > socket.Max { // agents connect by any program
		return nil, fmt.Errorf("listen.agents_socket: %w", &socket.TooLongError{Path: path})
	}
	ln, err := a.listenSocket(path)
	if err != nil {
		return nil, fmt.Errorf("listen.agents_socket: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// cluster verifies service accounts' tokens; nil where there is none.
func cluster(k config.Kubernetes) (identity.Cluster, error) {
	if !k.IsSet() {
		return nil, nil
	}
	t := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: 5 * time.Second, IdleConnTimeout: time.Minute}
	if k.CAFile != "" {
		text, err := os.ReadFile(k.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ca_file: %s holds no certificate", k.CAFile)
		}
	}
	// Redirects are not followed: a token is for the server that was named.
	client := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if k.APIServer != "" {
		return identity.NewReviewer(identity.Reviewer{URL: k.APIServer, Audience: k.Audience, TokenFile: k.TokenFile, Client: client}), nil
	}
	return &identity.Issued{Issuer: k.Issuer, Audience: k.Audience, Keys: k.Keys, Client: client}, nil
}

// credentials are what the configuration has Holdgate hold. One that is not there
// keeps the sidecar from starting; what a command prints is seen when it is used.
func credentials(c config.Config, getenv func(string) string) (list []*credential.Credential, err error) {
	for _, name := range slices.Sorted(maps.Keys(c.Credentials)) {
		k := c.Credentials[name].WithDefaults()
		s := credential.Spec{
			Name: name, Header: http.CanonicalHeaderKey(k.Header), Form: k.Form, Agents: k.Agents, Placeholder: k.Placeholder,
			File: k.File, Command: k.Command, Timeout: time.Duration(k.Timeout), For: time.Duration(k.For),
		}
		urls, uerr := k.URLs()
		err = errors.Join(err, uerr)
		for _, u := range urls {
			s.Origins = append(s.Origins, upstream.Origin(u))
			if aerr := c.Asked(u); aerr != nil {
				err = errors.Join(err, fmt.Errorf("credentials.%s.hosts: %w", name, aerr))
			}
		}
		if k.Env != "" {
			if s.Value = strings.TrimSpace(getenv(k.Env)); s.Value == "" || s.Value == k.Placeholder {
				err = errors.Join(err, fmt.Errorf("credentials.%s.env: the variable %s is not set here: set it for the sidecar, or use file or command", name, k.Env))
			}
		}
		if k.File != "" {
			if _, ferr := credential.ReadFile(k.File); ferr != nil {
				err = errors.Join(err, fmt.Errorf("credentials.%s.file: %w", name, ferr))
			}
		}
		list = append(list, &credential.Credential{Spec: s})
	}
	return list, err
}

// enforcementPoint says whether an agent may ask for decisions of what others do, and how.
func (a *App) enforcementPoint(agent string) (authzen.Client, bool) {
	c := a.current.Load().c.Agents[agent].AuthZEN
	if c == nil {
		return authzen.Client{}, false
	}
	return authzen.Client{Trusted: c.Subject == config.SubjectTrusted, Wait: time.Duration(c.Wait)}, true
}
