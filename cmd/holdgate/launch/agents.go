package launch

import (
	"path/filepath"
	"slices"
)

// An Agent is what is known of a program: which variables lead it to the sidecar,
// and what is seen of it there. Variables not named here were not seen to be
// heeded.
type Agent struct {
	Program string `json:"program"` // its base name
	Known   bool   `json:"known"`   // it was tried; else what holds for any program
	// Led is how it finds the sidecar, in a sentence.
	Led string `json:"led"`
	// Seen is what policy sees, Unseen what it does not, and Do what its user can
	// do about that; a sentence each.
	Seen   []string `json:"seen"`
	Unseen []string `json:"unseen"`
	Do     []string `json:"do"`

	// args stand before those that the person gave it: without them it would not
	// work behind the sidecar, or not go through it.
	args []string
	// baseURL are the variables that take the place of a provider's address,
	// with the path of the sidecar that they lead to.
	baseURL []baseURL
	// quiet are variables, as NAME=VALUE, by which its maker says that it sends and fetches
	// nothing by itself.
	quiet []string
	// note tells the person what to know before it runs; empty: nothing.
	note string
}

type baseURL struct{ variable, path string }

var (
	anthropicURL = baseURL{"ANTHROPIC_BASE_URL", "/up/anthropic"}
	openaiURL    = baseURL{"OPENAI_BASE_URL", "/up/openai/v1"}
	geminiURL    = baseURL{"GOOGLE_GEMINI_BASE_URL", "/up/gemini"}
)

// What holds for every agent.
const (
	seenHTTP     = "every other request by HTTP, its own and those of programs that it starts: method, host, path and headers"
	seenMCP      = "MCP servers that it asks over HTTP: each message, both ways"
	unseenStdio  = "MCP servers that it starts itself, on standard streams: only what the model asks of their tools"
	unseenLocal  = "what a program does on this machine that an allowed call has started, and commands that you type into the agent yourself"
	doStdio      = "put `holdgate mcp --` before the command of each MCP server that it starts"
	unseenServer = "tools that the provider runs on its own side, such as web search: the log shows them once they have run; policy can refuse the request that offers them (input.model.server_tools)"
)

// calls is what is seen of a model's calls.
func calls(format string) string {
	return "its model requests (" + format + "), and each tool call in the answers before the agent has it"
}

// agents is what was measured of the agents' command lines (November 2026).
// All of them heed HTTPS_PROXY, and the CA through a variable of [Environment].
func agents() []Agent {
	return []Agent{
		{Program: "claude", baseURL: []baseURL{anthropicURL},
			quiet:  []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1"},
			Led:    "HTTPS_PROXY; with --base-url ANTHROPIC_BASE_URL",
			Seen:   []string{calls("Anthropic Messages")},
			Unseen: []string{"its hooks, which it runs by itself at each tool call: keep .claude/settings.json from being changed unasked"},
			Do:     []string{"let Holdgate hold its API key, and give it the placeholder: docs/identity.md"}},
		{Program: "codex",
			// Its shared server, which it finds by a path socket, would be confined with
			// nobody, and led to no sidecar.
			args: []string{"--no-daemon"},
			Led:  "HTTPS_PROXY; a provider's address is in its config.toml alone",
			Seen: []string{calls("OpenAI Responses, over its WebSocket and over HTTP")},
			Do:   []string{"start it with --sandbox danger-full-access: its own sandbox cannot start inside Holdgate's confinement, which takes its place"},
			note: "codex's own sandbox cannot start inside another: give it --sandbox danger-full-access where it is confined"},
		{Program: "gemini", baseURL: []baseURL{geminiURL},
			Led:    "HTTPS_PROXY; with --base-url GOOGLE_GEMINI_BASE_URL",
			Seen:   []string{calls("the Gemini API")},
			Unseen: []string{"what it asks with a Google login instead of a key goes to another API (cloudcode-pa.googleapis.com), which Holdgate cannot read and policy decides as HTTP"},
			Do:     []string{"log in by GEMINI_API_KEY"}},
		{Program: "opencode",
			Led:    "HTTPS_PROXY; a provider's address is in its opencode.json alone",
			Seen:   []string{calls("Anthropic Messages, OpenAI Responses or Chat Completions, by its provider")},
			Unseen: []string{"its plugins, which run inside it: keep .opencode and opencode.json from being changed unasked"},
			note:   "opencode takes a provider's address from opencode.json alone: it is led by proxy variables"},
		{Program: "qwen", baseURL: []baseURL{openaiURL},
			Led:  "HTTPS_PROXY; with --base-url OPENAI_BASE_URL, which it takes with --auth-type openai only",
			Seen: []string{calls("Chat Completions")},
			note: "qwen takes OPENAI_BASE_URL with --auth-type openai only"},
		{Program: "cline",
			Led:    "HTTPS_PROXY; a provider's address is set by `cline auth` alone",
			Seen:   []string{calls("Anthropic Messages or Chat Completions")},
			Unseen: []string{"it ends a request that is held for 300 seconds before the answer begins, and does not ask again"},
			note:   "cline takes a provider's address from `cline auth` alone: it is led by proxy variables"},
	}
}

// find returns what is known of a program; for one that is not known, the
// variables that the providers' own libraries heed.
func find(program string) Agent {
	name := filepath.Base(program)
	for _, a := range agents() {
		if a.Program == name {
			a.Known = true
			return a
		}
	}
	return Agent{Program: name, baseURL: []baseURL{anthropicURL, openaiURL},
		Led:    "HTTPS_PROXY, if it heeds that, which was not tried; strongly confined, by the kernel whatever it heeds. With --base-url ANTHROPIC_BASE_URL and OPENAI_BASE_URL",
		Seen:   []string{calls("Anthropic Messages, OpenAI Responses and Chat Completions, Gemini, Bedrock, Ollama, Cohere, Mistral")},
		Unseen: []string{"models whose API Holdgate cannot read: at known providers such requests are refused"},
		Do:     []string{"try it: `holdgate run -- " + name + "`, and look for its calls in `holdgate audit query`"}}
}

// Known are the programs of which something was measured.
func Known() []string {
	var names []string
	for _, a := range agents() {
		names = append(names, a.Program)
	}
	slices.Sort(names)
	return names
}

// About is all that is known of a program.
func About(program string) Agent {
	a := find(program)
	a.Seen = append(slices.Clone(a.Seen), seenMCP, seenHTTP)
	a.Unseen = append(slices.Clone(a.Unseen), unseenServer, unseenStdio, unseenLocal)
	a.Do = append(slices.Clone(a.Do), doStdio)
	return a
}

// Arguments are those that the program is started with, where a person gave these.
func Arguments(program string, given []string) []string {
	return slices.Concat(find(program).args, given)
}

// Quiet are the variables, as NAME=VALUE, that keep a program from sending telemetry, but
// for those that the environment has already: the person has said otherwise.
func Quiet(program string, environment []string) []string {
	return slices.DeleteFunc(slices.Clone(find(program).quiet), func(v string) bool {
		return slices.ContainsFunc(environment, func(set string) bool { return name(set) == name(v) })
	})
}

// Note is what a person should know before the program runs behind Holdgate,
// or "".
func Note(program string) string { return find(program).note }
