package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
)

// DefaultHold is a hold without detail.
func DefaultHold() holdgate.HoldSpec {
	return holdgate.HoldSpec{
		Kind:    holdgate.RequestApproval,
		Timeout: holdgate.DefaultHoldTimeout,
		Allow:   []string{"steer", "edit", "remember"},
	}
}

// readHold reads decision.hold over the defaults in h.
func readHold(v ast.Value, h *holdgate.HoldSpec) error {
	err := eachField(v, "decision.hold", func(name string, v ast.Value) (err error) {
		switch name {
		case "gate":
			h.Gate, err = Text(v)
		case "kind":
			h.Kind, err = oneOf(v, holdgate.RequestApproval, holdgate.RequestChoice)
		case "message":
			h.Message, err = Text(v)
		case "options":
			h.Options, err = readOptions(v)
		case "timeout":
			h.Timeout, err = duration(v)
		case "on_timeout":
			var s string
			if s, err = oneOf(v, "deny", "approve"); err == nil {
				err = h.OnTimeout.UnmarshalText([]byte(s))
			}
		case "required":
			h.Required, err = boolean(v)
		case "approvers":
			err = ReadApprovers(v, &h.Approvers)
		case "allow":
			h.Allow, err = ways(v)
		case "show":
			h.Show, err = Texts(v)
		case "passes":
			h.Passes, err = boolean(v)
		case "once":
			h.Once, err = boolean(v)
		case "tool":
			h.Tool, err = boolean(v)
		case "learn":
			h.Learn, err = readLearn(v)
		default:
			err = errUnknownField
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case h.Kind == holdgate.RequestChoice && len(h.Options) == 0:
		return errors.New("decision.hold is a choice without options")
	case h.Required && h.OnTimeout == holdgate.TimeoutApprove:
		return errors.New("decision.hold is required, so silence cannot approve it")
	case h.Required && (h.Learn.Approvals > 0 || h.Once || h.Tool):
		return errors.New("decision.hold is required, so no approval stands for another")
	}
	return nil
}

// Bounds of what may be learned.
const (
	maxLearnApprovals = 100
	maxLearnDays      = 365
)

func readLearn(v ast.Value) (l holdgate.Learn, err error) {
	err = eachField(v, "decision.hold.learn", func(name string, v ast.Value) (err error) {
		switch name {
		case "approvals":
			l.Approvals, err = count(v)
		case "days":
			l.Days, err = count(v)
		default:
			err = errUnknownField
		}
		return err
	})
	if err == nil && (l.Approvals < 1 || l.Approvals > maxLearnApprovals || l.Days < 1 || l.Days > maxLearnDays) {
		err = fmt.Errorf("decision.hold.learn: want approvals from 1 to %d and days from 1 to %d", maxLearnApprovals, maxLearnDays)
	}
	return l, err
}

func ReadApprovers(v ast.Value, a *holdgate.Approvers) error {
	return eachField(v, "decision.hold.approvers", func(name string, v ast.Value) (err error) {
		switch name {
		case "roles":
			a.Roles, err = Texts(v)
		case "users":
			a.Users, err = Texts(v)
		case "quorum":
			a.Quorum, err = count(v)
		case "assurance":
			a.Assurance, err = oneOf(v, "text", "interactive", "local", "strong")
		case "passkey":
			a.Passkey, err = boolean(v)
		case "four_eyes":
			a.FourEyes, err = boolean(v)
		case "escalate":
			a.Escalate, err = readEscalations(v)
		default:
			err = errUnknownField
		}
		return err
	})
}

// readEscalations reads who is asked too, and after how long, earliest first.
func readEscalations(v ast.Value) ([]holdgate.Escalation, error) {
	var list []holdgate.Escalation
	err := eachItem(v, func(v ast.Value) error {
		var e holdgate.Escalation
		err := eachField(v, "decision.hold.approvers.escalate", func(name string, v ast.Value) (err error) {
			switch name {
			case "after":
				e.After, err = duration(v)
			case "roles":
				e.Roles, err = Texts(v)
			case "users":
				e.Users, err = Texts(v)
			default:
				err = errUnknownField
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case e.After == 0:
			return errors.New("an escalation does not say after how long")
		case len(e.Roles)+len(e.Users) == 0:
			return errors.New("an escalation names neither roles nor users")
		}
		list = append(list, e)
		return nil
	})
	slices.SortStableFunc(list, func(a, b holdgate.Escalation) int { return cmp.Compare(a.After, b.After) })
	return list, err
}

func readOptions(v ast.Value) ([]holdgate.Option, error) {
	var options []holdgate.Option
	seen := map[string]bool{}
	err := eachItem(v, func(v ast.Value) error {
		var o holdgate.Option
		err := eachField(v, "decision.hold.options", func(name string, v ast.Value) (err error) {
			switch name {
			case "id":
				o.ID, err = Text(v)
			case "label":
				o.Label, err = Text(v)
			case "effect":
				o.Effect, err = oneOf(v, holdgate.EffectApprove, holdgate.EffectDeny, holdgate.EffectSteer)
			case "other":
				o.Other, err = boolean(v)
			default:
				err = errUnknownField
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case o.ID == "":
			return errors.New("an option has no id")
		case seen[o.ID]:
			return fmt.Errorf("two options have the id %q", o.ID)
		}
		seen[o.ID] = true
		if o.Other {
			o.Effect = holdgate.EffectSteer
		}
		if o.Label == "" {
			o.Label = o.ID
		}
		options = append(options, o)
		return nil
	})
	return options, err
}

// duration reads a Go duration ("90s", "1h") or a number of seconds.
func duration(v ast.Value) (time.Duration, error) {
	var d time.Duration
	switch v := v.(type) {
	case ast.String:
		var err error
		if d, err = time.ParseDuration(string(v)); err != nil {
			return 0, fmt.Errorf("%q is no duration: want 90s, 10m or 1h, or a number of seconds", string(v))
		}
	case ast.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil || f > maxTimeout.Seconds() {
			return 0, fmt.Errorf("%s seconds is no duration: want at most %v", v, maxTimeout)
		}
		d = time.Duration(f * float64(time.Second))
	default:
		return 0, errors.New("want a duration such as 90s, 10m or 1h, or a number of seconds")
	}
	if d <= 0 || d > maxTimeout {
		return 0, fmt.Errorf("%v is out of range: want more than 0 and at most %v", d, maxTimeout)
	}
	return d, nil
}

// maxTimeout bounds a hold's timeout: a year.
const maxTimeout = 365 * 24 * time.Hour

// ways reads the ways in which a hold may be answered besides yes and no.
func ways(v ast.Value) ([]string, error) {
	list := []string{}
	err := eachItem(v, func(v ast.Value) error {
		w, err := oneOf(v, "steer", "edit", "remember")
		list = append(list, w)
		return err
	})
	return list, err
}
