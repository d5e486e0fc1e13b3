package verdict

import "github.com/holdgate/holdgate"

// Document is a decision in the members of the policy contract, as JSON to be:
// what a policy would have to say to decide so, and the revision that did.
func Document(d holdgate.Decision) map[string]any {
	doc := map[string]any{"action": d.Action, "rule": d.Rule, "reason": d.Reason, "revision": d.Revision}
	if d.Risk != "" {
		doc["risk"] = d.Risk
	}
	if d.Would != nil {
		doc["would"] = d.Would
	}
	if len(d.Redact) > 0 {
		doc["redact"] = d.Redact
	}
	if len(d.Also) > 0 {
		doc["also"] = d.Also
	}
	if d.Action == holdgate.Hold {
		doc["hold"] = holdDocument(d.Hold)
	}
	return doc
}

func holdDocument(h holdgate.HoldSpec) map[string]any {
	doc := map[string]any{
		"kind": h.Kind, "timeout": h.Timeout.String(), "on_timeout": h.OnTimeout, "required": h.Required,
		"approvers": approversDocument(h.Approvers), "allow": h.Allow,
	}
	for name, text := range map[string]string{"gate": h.Gate, "message": h.Message} {
		if text != "" {
			doc[name] = text
		}
	}
	if len(h.Options) > 0 {
		doc["options"] = h.Options
	}
	if len(h.Show) > 0 {
		doc["show"] = h.Show
	}
	for name, is := range map[string]bool{"passes": h.Passes, "once": h.Once, "tool": h.Tool} {
		if is {
			doc[name] = true
		}
	}
	if h.Learn.Approvals > 0 {
		doc["learn"] = h.Learn
	}
	return doc
}

func approversDocument(a holdgate.Approvers) map[string]any {
	doc := map[string]any{}
	for name, list := range map[string][]string{"roles": a.Roles, "users": a.Users} {
		if len(list) > 0 {
			doc[name] = list
		}
	}
	if a.Quorum > 0 {
		doc["quorum"] = a.Quorum
	}
	if a.Assurance != "" {
		doc["assurance"] = a.Assurance
	}
	if a.Passkey {
		doc["passkey"] = true
	}
	if a.FourEyes {
		doc["four_eyes"] = true
	}
	var escalate []map[string]any
	for _, e := range a.Escalate {
		step := map[string]any{"after": e.After.String()}
		for name, list := range map[string][]string{"roles": e.Roles, "users": e.Users} {
			if len(list) > 0 {
				step[name] = list
			}
		}
		escalate = append(escalate, step)
	}
	if escalate != nil {
		doc["escalate"] = escalate
	}
	return doc
}
