package identity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
)

// accountPrefix begins the user name of a service account.
const accountPrefix = "system:serviceaccount:"

// accountOf is NAMESPACE/NAME of a user name.
func accountOf(user string) (string, error) {
	rest, ok := strings.CutPrefix(user, accountPrefix)
	namespace, name, two := strings.Cut(rest, ":")
	if !ok || !two || namespace == "" || name == "" || strings.Contains(name, ":") {
		return "", errors.New("it is of no service account")
	}
	return namespace + "/" + name, nil
}

// A Reviewer has the cluster say whose a token is, by TokenReview
// (authentication.k8s.io/v1). A token that the cluster takes back counts for as
// long as an answer is remembered, half a minute.
type Reviewer struct {
	URL      string // of the API server
	Audience string // that tokens must be for
	// TokenFile holds the credential by which the sidecar asks; it is read each
	// time, for the cluster renews it. Empty: none.
	TokenFile string
	Client    *http.Client

	known *expirable.LRU[[sha256.Size]byte, string]
}

const (
	remembered = 30 * time.Second
	maxKnown   = 4096
	askingFor  = 5 * time.Second
	maxAnswer  = 1 << 20
)

// NewReviewer makes r ready for use.
func NewReviewer(r Reviewer) *Reviewer {
	r.known = expirable.NewLRU[[sha256.Size]byte, string](maxKnown, nil, remembered)
	return &r
}

// A tokenReview is what goes out and what comes back.
type tokenReview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Token     string   `json:"token,omitempty"`
		Audiences []string `json:"audiences"`
	} `json:"spec"`
	Status struct {
		Authenticated bool     `json:"authenticated"`
		Audiences     []string `json:"audiences"`
		User          struct {
			Username string `json:"username"`
		} `json:"user"`
	} `json:"status,omitzero"`
}

// ServiceAccount implements [Cluster].
func (r *Reviewer) ServiceAccount(ctx context.Context, token string) (string, error) {
	hash := Hash(token)
	if account, ok := r.known.Get(hash); ok {
		return account, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askingFor)
	defer cancel()
	answer, err := r.review(ctx, token)
	if err != nil {
		return "", fmt.Errorf("asking the cluster (TokenReview): %w", err)
	}
	if !answer.Status.Authenticated {
		return "", errors.New("the cluster does not take it")
	}
	if !slices.Contains(answer.Status.Audiences, r.Audience) { // one that knows no audiences names none
		return "", fmt.Errorf("it is not for the audience %q", r.Audience)
	}
	account, err := accountOf(answer.Status.User.Username)
	if err == nil {
		r.known.Add(hash, account)
	}
	return account, err
}

func (r *Reviewer) review(ctx context.Context, token string) (answer tokenReview, err error) {
	ask := tokenReview{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}
	ask.Spec.Token, ask.Spec.Audiences = token, []string{r.Audience}
	body, err := json.Marshal(ask)
	if err != nil {
		return answer, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(r.URL, "/")+"/apis/authentication.k8s.io/v1/tokenreviews", bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if r.TokenFile != "" {
		own, err := os.ReadFile(r.TokenFile)
		if err != nil {
			return answer, fmt.Errorf("reading the sidecar's own token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(own)))
	}
	resp, err := r.Client.Do(req)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return answer, fmt.Errorf("it answered %s: may the sidecar's service account create tokenreviews (the role system:auth-delegator)?", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil {
		return answer, fmt.Errorf("reading its answer: %w", err)
	}
	return answer, nil
}
