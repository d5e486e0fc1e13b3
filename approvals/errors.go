package approvals

import (
	"github.com/holdgate/holdgate/approvals/record"

	"errors"
	"fmt"
	"time"
)

// ErrNotFound says that there is no such request.
var ErrNotFound = record.ErrNotFound

// Errors of a decision. Nothing has been decided where one is returned.
var (
	ErrDigest          = errors.New("the digest is not that of the call which waits: look at it again")
	ErrSteerEmpty      = errors.New("steering needs instructions")
	ErrArtifact        = errors.New("not an artifact")
	ErrSteerNotAllowed = errors.New("this request cannot be steered: approve or deny it")
	ErrAnswer          = record.ErrAnswer
	ErrEditRefused     = errors.New("policy refuses the edited call")
	ErrClaimed         = errors.New("somebody has claimed this request")
	ErrVoted           = fmt.Errorf("%w: you have voted already, and it takes more people", ErrAnswer)
)

// ErrOver says that an exchange has ended and nothing more can be asked in it.
var ErrOver = errors.New("the exchange is over")

// Errors of a use.
var (
	ErrNotApproved = errors.New("not approved")
	ErrUsed        = errors.New("the approval has been used already")
)

// An EndedError says that a request had ended before the vote came.
type EndedError struct {
	Request Request
}

// Error says who ended the request, and when.
func (e *EndedError) Error() string {
	o := e.Request.Outcome
	if o == nil {
		return fmt.Sprintf("request %s has ended", e.Request.ID)
	}
	return fmt.Sprintf("already decided by %s at %s: %s", o.By, o.At.UTC().Format(time.RFC3339), e.Request.Status)
}
