package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdgate/holdgate/approvals/api"
)

// People returns who may answer, and those of the configuration who were removed.
func (c *Client) People(ctx context.Context) ([]api.PersonState, error) {
	return get[[]api.PersonState](ctx, c, "/v1/people", nil)
}

// PutPerson adds a person, or changes one who was added so. It returns who may answer
// then.
func (c *Client) PutPerson(ctx context.Context, name string, p api.PersonPut) ([]api.PersonState, error) {
	return send[[]api.PersonState](ctx, c, http.MethodPut, personPath(name), p)
}

// RemovePerson removes a person. It returns who may answer then.
func (c *Client) RemovePerson(ctx context.Context, name string) ([]api.PersonState, error) {
	resp, err := c.do(ctx, http.MethodDelete, personPath(name), nil, nil)
	if err != nil {
		return nil, err
	}
	return read[[]api.PersonState](resp)
}

// RestorePerson takes back that a person of the configuration was removed. It returns
// who may answer then.
func (c *Client) RestorePerson(ctx context.Context, name string) ([]api.PersonState, error) {
	return send[[]api.PersonState](ctx, c, http.MethodPost, personPath(name)+"/restore", api.Nothing{})
}

func personPath(name string) string { return "/v1/people/" + url.PathEscape(name) }
