package launch

import (
	"path/filepath"
)

// An agent is what is known of a program: which variables lead it to the
// sidecar. Variables not named here were not seen to be heeded.
type agent struct {
	program string // its base name
	// baseURL are the variables that take the place of a provider's address,
	// with the path of the sidecar that they lead to.
	baseURL []baseURL
	// note tells the person what to know before it runs; empty: nothing.
	note string
}

type baseURL struct{ variable, path string }

var (
	anthropicURL = baseURL{"ANTHROPIC_BASE_URL", "/up/anthropic"}
	openaiURL    = baseURL{"OPENAI_BASE_URL", "/up/openai/v1"}
	geminiURL    = baseURL{"GOOGLE_GEMINI_BASE_URL", "/up/gemini"}
)

// agents is what was measured of the agents' command lines (November 2026).
// All of them heed HTTPS_PROXY, and the CA through a variable of [Environment].
func agents() []agent {
	return []agent{
		{program: "claude", baseURL: []baseURL{anthropicURL}},
		{program: "qwen", baseURL: []baseURL{openaiURL}, note: "qwen takes OPENAI_BASE_URL with --auth-type openai only"},
		{program: "opencode", note: "opencode takes a provider's address from opencode.json alone: it is led by proxy variables; its OpenAI Responses requests are refused, for they are not gated yet"},
		{program: "cline", note: "cline takes a provider's address from `cline auth` alone: it is led by proxy variables"},
		{program: "codex", note: "codex speaks OpenAI Responses, which is not gated yet: its model requests are refused"},
		{program: "gemini", baseURL: []baseURL{geminiURL}, note: "gemini speaks the Gemini API, which is not gated yet: its model requests are refused"},
	}
}

// find returns what is known of a program; for one that is not known, the
// variables that the providers' own libraries heed.
func find(program string) agent {
	name := filepath.Base(program)
	for _, a := range agents() {
		if a.program == name {
			return a
		}
	}
	return agent{program: name, baseURL: []baseURL{anthropicURL, openaiURL}}
}

// Note is what a person should know before the program runs behind Holdgate,
// or "".
func Note(program string) string { return find(program).note }
