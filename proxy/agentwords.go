package proxy

import (
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/rego"
)

// nameless returns a [*sessions.FieldError] where a name that an agent gives holds a
// credential: names are kept, listed and answered with as they are, so that nothing
// can be left out of them.
func nameless(field, name string) error {
	if rego.Conceal(name) == name {
		return nil
	}
	return &sessions.FieldError{Field: field, What: "holds what looks like a credential, which people and the log would be shown: give it another name"}
}

// namelessOptions returns the first fault of the options of a gate, see [nameless].
func namelessOptions(options []holdgate.Option) error {
	for i, o := range options {
		for name, s := range map[string]string{"id": o.ID, "label": o.Label} {
			if err := nameless(fmt.Sprintf("options[%d].%s", i, name), s); err != nil {
				return err
			}
		}
	}
	return nil
}

// concealed is a report without the credentials in its words.
func concealed(r sessions.Report) sessions.Report {
	r.Reasons = slices.Clone(r.Reasons)
	for i, why := range r.Reasons {
		r.Reasons[i] = rego.Conceal(why)
	}
	if r.Verification != nil {
		v := *r.Verification
		v.Checks = slices.Clone(v.Checks)
		for i := range v.Checks {
			v.Checks[i].Name = rego.Conceal(v.Checks[i].Name)
		}
		r.Verification = &v
	}
	return r
}
