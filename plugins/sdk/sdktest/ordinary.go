package sdktest

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate/plugins/sdk"
)

//go:embed ordinary.json
var ordinary []byte

// Ordinary returns requests as Holdgate tells of them: thirty calls of ten kinds,
// from a download that is run to a message that is posted. The first screen of each
// should answer what happens, to what, whether it can be undone and who wants it.
func Ordinary() (notices []sdk.Notice) {
	if err := json.Unmarshal(ordinary, &notices); err != nil {
		panic(fmt.Sprintf("ordinary.json: %v", err))
	}
	now := time.Now().UTC().Truncate(time.Second)
	for i := range notices {
		n := &notices[i]
		n.Nonce, n.CreatedAt, n.ExpiresAt = "nonce-of-"+n.ID, now, now.Add(time.Hour)
		n.Answers = []string{sdk.Deny, sdk.Steer, sdk.Approve, sdk.Edit, sdk.Claim, sdk.Unclaim}
		n.Editable = strings.Join(n.Call.Arguments, "\n")
	}
	return notices
}
