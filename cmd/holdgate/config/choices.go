package config

import (
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
)

// choices are the words of keys that take no others, by key as docs/configuration-keys.md
// writes it. A list's are those of its items.
var choices = map[string][]string{
	"audit.inputs":             {InputsRedacted, InputsNone},
	"audit.sync":               {SyncAlways, SyncBatched},
	"credentials.*.form":       {"bearer", "basic", "plain"},
	"formats[].format":         route.FormatNames(),
	"gates.*.level":            {"mandatory", "conditional", "advisory"},
	"gates.*.on_timeout":       {"deny", "approve"},
	"gates.*.options[].effect": {holdgate.EffectApprove, holdgate.EffectDeny, holdgate.EffectSteer},
	"holds.mcp_tasks":          {TasksServer, TasksOffer, TasksOff},
	"holds.on_refusal":         {RefusalReply, RefusalContinue},
	"plugins.*.quiet.pass":     risks,
	"policy.adapter":           {"ai-sdk", "opa-tools"},
	"policy.mode":              {ModeEnforce, ModeObserve},
	"policy.on_error":          {"deny", "hold"},
	"routes[].match.risk":      risks,
	"sessions.mode":            {"auto", "manual", "confidence_threshold"},
	"unsupported":              {UnsupportedRefuse, UnsupportedAllow},
	"upstream_proxy.lookup":    {LookupHere, LookupProxy},
	"upstreams.*.format":       route.FormatNames(),
}

var risks = []string{"low", "medium", "high", "critical"}

// oneOf checks a word of a key. The pattern is the key in [choices].
func (f *faults) oneOf(pattern, key, got string) {
	if !slices.Contains(choices[pattern], got) {
		f.noneOf(key, got, choices[pattern])
	}
}

// oneOrNone is oneOf, for keys that may be empty.
func (f *faults) oneOrNone(pattern, key, got string) {
	if got != "" {
		f.oneOf(pattern, key, got)
	}
}
