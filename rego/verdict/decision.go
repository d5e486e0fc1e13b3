// Package verdict reads the decisions that policies give, and writes them as JSON.
package verdict

import (
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
)

// ReservedPrefix begins the rules that Holdgate itself gives.
const ReservedPrefix = "holdgate."

// Read reads the value of data.holdgate.decision, and whether its rule
// only observes. A field or value that the contract does not know is an error:
// what a policy meant by it cannot be guessed.
func Read(v ast.Value) (d holdgate.Decision, observe bool, err error) {
	d.Hold = DefaultHold()
	acted := false
	err = eachField(v, "decision", func(name string, v ast.Value) (err error) {
		switch name {
		case "action":
			acted = true
			var s string
			if s, err = oneOf(v, "allow", "hold", "deny"); err == nil {
				d.Action, err = holdgate.ParseAction(s)
			}
		case "rule":
			if d.Rule, err = Text(v); err == nil && strings.HasPrefix(d.Rule, ReservedPrefix) {
				err = fmt.Errorf("%q begins with %q, which is Holdgate's own", d.Rule, ReservedPrefix)
			}
		case "reason":
			d.Reason, err = Text(v)
		case "risk":
			d.Risk, err = oneOf(v, holdgate.RiskLow, holdgate.RiskMedium, holdgate.RiskHigh, holdgate.RiskCritical)
		case "hold":
			err = readHold(v, &d.Hold)
		case "redact":
			d.Redact, err = pointers(v)
		case "taint":
			d.Taint, err = Texts(v)
		case "also":
			d.Also, err = readFindings(v)
		case "observe":
			observe, err = boolean(v)
		default:
			err = errUnknownField
		}
		return err
	})
	if err != nil {
		return holdgate.Decision{}, false, err
	}
	if !acted {
		return holdgate.Decision{}, false, errors.New("decision has no action: want allow, deny or hold")
	}
	if d.Action != holdgate.Hold {
		d.Hold, d.Also = holdgate.HoldSpec{}, nil
	}
	if d.Rule == "" {
		d.Rule = holdgate.RuleUnnamed
	}
	if d.Reason == "" && d.Action != holdgate.Allow {
		d.Reason = "The policy's rule " + d.Rule + " says so, without a reason."
	}
	return d, observe, nil
}

// readFindings reads the other rules of a decision.
func readFindings(v ast.Value) ([]holdgate.Finding, error) {
	var list []holdgate.Finding
	err := eachItem(v, func(v ast.Value) error {
		var f holdgate.Finding
		err := eachField(v, "decision.also", func(name string, v ast.Value) (err error) {
			switch name {
			case "rule":
				f.Rule, err = Text(v)
			case "reason":
				f.Reason, err = Text(v)
			case "risk":
				f.Risk, err = oneOf(v, holdgate.RiskLow, holdgate.RiskMedium, holdgate.RiskHigh, holdgate.RiskCritical)
			default:
				err = errUnknownField
			}
			return err
		})
		if err == nil && f.Rule == "" {
			err = errors.New("a finding names no rule")
		}
		list = append(list, f)
		return err
	})
	return list, err
}

// pointers reads a list of JSON pointers (RFC 6901) below the input's root.
func pointers(v ast.Value) ([]string, error) {
	list, err := Texts(v)
	for _, p := range list {
		if !strings.HasPrefix(p, "/") {
			return nil, fmt.Errorf("%q is no JSON pointer: it must begin with /", p)
		}
	}
	return list, err
}
