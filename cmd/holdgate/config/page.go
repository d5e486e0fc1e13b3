package config

import (
	"net/url"
	"strings"
)

const (
	// PageRequest stands for a request's id in holds.page.
	PageRequest = "{request}"
	// PageOff is holds.page where nobody is shown a page.
	PageOff = "off"
)

// page checks the address of the page on which people decide. The agent's side is
// told of it, so that nothing in it may be a credential.
func (f *faults) page(key, page string) {
	u, err := url.Parse(page)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		f.add("%s: %q is no http or https address", key, page)
	case !strings.Contains(page, PageRequest):
		f.add("%s: it must have %s where the request's id is to stand", key, PageRequest)
	case u.User != nil || otherwiseSet(u.RawQuery) || otherwiseSet(u.Fragment):
		f.add("%s: it goes to agents' clients and may hold no credential: no user, and no parameter but %s", key, PageRequest)
	}
}

// otherwiseSet reports whether one of several parameters is anything but the
// request's id.
func otherwiseSet(parameters string) bool {
	for p := range strings.SplitSeq(parameters, "&") {
		if _, value, set := strings.Cut(p, "="); set && value != PageRequest {
			return true
		}
	}
	return false
}
