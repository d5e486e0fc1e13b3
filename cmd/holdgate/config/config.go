// Package config reads what Holdgate is told: defaults, then the file, then
// the environment, then flags, each over the one before. Every key has a
// default, so that no file at all works.
//
// The file is the one that --config or HOLDGATE_CONFIG names, else the one at
// its usual place ([Place]). None is ever looked for in the working directory:
// the agent can write there, and what decides over the agent must not come
// from it.
//
// The file is strict YAML: an unknown or repeated key is an error that names
// its line. [Config.Validate] tells all faults at once. Values that may be
// secret print as "<secret>".
package config

import (
	"time"

	"github.com/holdgate/holdgate"
)

// Config is the whole configuration. It is a value: nobody changes it once
// [Load] has returned it.
type Config struct {
	// File is the file that was read: as it was named, or absolute where it was
	// found. Empty: none. Digest is SHA-256 of what it holds, in hex.
	File   string `yaml:"-"`
	Digest string `yaml:"-"`
	Listen Listen `yaml:"listen"`
	// StateDir is the folder of what must be found by name: the token, the
	// socket, keys, the database. Absolute.
	StateDir  string              `yaml:"state_dir"`
	Store     Store               `yaml:"store"`
	Policy    Policy              `yaml:"policy"`
	Upstreams map[string]Upstream `yaml:"upstreams"` // by the NAME of /up/NAME
	MCP       map[string]MCP      `yaml:"mcp"`       // by the NAME of /mcp/NAME
	Formats   []Format            `yaml:"formats"`
	// TLS, UpstreamProxy and PassThrough say how upstreams are reached.
	TLS           TLS           `yaml:"tls"`
	UpstreamProxy UpstreamProxy `yaml:"upstream_proxy"`
	PassThrough   []PassThrough `yaml:"pass_through"`

	Plugins   map[string]Plugin `yaml:"plugins"`
	Routes    []Route           `yaml:"routes"`
	Limits    Limits            `yaml:"limits"`
	Undo      Undo              `yaml:"undo"`
	Retention Retention         `yaml:"retention"`
	Holds     Holds             `yaml:"holds"`
	Audit     Audit             `yaml:"audit"`
	Sessions  Sessions          `yaml:"sessions"`
	Run       Run               `yaml:"run"`
	// Gates are types of gate by name. The settings here are added to those of a type
	// that is known, and win. A name that is not known is a new type.
	Gates      map[string]Gate `yaml:"gates"`
	Confidence Confidence      `yaml:"confidence"`
	Prices     Prices          `yaml:"prices"`
	// Unsupported says what becomes of model APIs whose tool calls Holdgate
	// cannot see: [UnsupportedRefuse] or [UnsupportedAllow].
	Unsupported string `yaml:"unsupported"`
	// Approver is the name under which the holder of the state folder's token
	// votes. Where People does not name them they have all roles.
	Approver string `yaml:"approver"`
	People   People `yaml:"people"`
	OIDC     OIDC   `yaml:"oidc"`
	// Agents are known by what they show, by name.
	Agents     map[string]Agent `yaml:"agents"`
	Kubernetes Kubernetes       `yaml:"kubernetes"`
	// Credentials are what Holdgate holds for agents, by name.
	Credentials map[string]*Credential `yaml:"credentials"`
}

// Listen says where the doors are, as "HOST:PORT"; port 0 takes any.
type Listen struct {
	Agents    string `yaml:"agents"`
	Approvers string `yaml:"approvers"`
	// ApproversTLS is what the approvers' port shows; nothing: it speaks plain HTTP,
	// and must be of a loopback address.
	ApproversTLS ApproversTLS `yaml:"approvers_tls"`
	// AgentsSocket is a unix socket that is the agents' door too; empty: none.
	AgentsSocket string `yaml:"agents_socket"`
	// AuthZENURL is the address of a server in front of the agents' door by which policy
	// enforcement points reach it; empty: the one that they use.
	AuthZENURL string `yaml:"authzen_url"`
	// Transparent is where connections are taken that netfilter redirects, of a
	// loopback address or localhost, which stands for both; empty: nowhere.
	Transparent string `yaml:"transparent"`
	// ExtAuthz is where filters of Envoy's ask, over gRPC without TLS, of a loopback
	// address; empty: nowhere.
	ExtAuthz string `yaml:"ext_authz"`
	// Metrics is where scrapers read metrics without a token; empty: nowhere. Only
	// those of MetricsFrom may, networks as 10.0.0.0/8, and this host; the address is a
	// loopback one where there are none.
	Metrics     string   `yaml:"metrics"`
	MetricsFrom []string `yaml:"metrics_from"`
	// PushContact is whom push services can turn to about this sidecar's messages, as
	// mailto:ADDRESS or https://PLACE; empty: where the page is, under TLS, else nobody.
	PushContact string `yaml:"push_contact"`
}

// ApproversTLS is a certificate in files, or one of the sidecar's own CA.
type ApproversTLS struct {
	// Cert and Key are files in PEM, read again when they change. Absolute.
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// OwnCA has a CA of the state folder, which is for the page alone, sign a certificate.
	OwnCA bool `yaml:"own_ca"`
	// Names are hosts and addresses under which browsers come; links have the first.
	// With files they are those of the certificate where none are named.
	Names []string `yaml:"names"`
}

// On reports whether the approvers' port speaks TLS.
func (t ApproversTLS) On() bool { return t.OwnCA || t.Cert != "" || t.Key != "" }

// Policy says which rules decide.
type Policy struct {
	// Path is a file, folder or bundle (.tar.gz) of the user's own rules; empty:
	// the shipped pack alone. Absolute.
	Path    string   `yaml:"path"`
	Mode    string   `yaml:"mode"`     // [ModeEnforce] or [ModeObserve]
	OnError string   `yaml:"on_error"` // "deny" or "hold": what a failing policy does
	Timeout Duration `yaml:"timeout"`  // of one evaluation, which is tried twice
	Bundle  Bundle   `yaml:"bundle"`
	// OPAConfig is an OPA configuration file with the servers that bundles come
	// from, in place of Path, and that decision logs go to. Absolute.
	OPAConfig string `yaml:"opa_config"`
	// Adapter is the shape of policies written for other programs: "ai-sdk",
	// "opa-tools" or empty; Query is then the rule to ask.
	Adapter string `yaml:"adapter"`
	Query   string `yaml:"query"`
}

// Bundle says which bundles are to be trusted.
type Bundle struct {
	// Key is a file with a public key in PEM, or with the secret of an HS
	// algorithm. Where it is set, only signed bundles load. Absolute.
	Key       string   `yaml:"key"`
	Algorithm string   `yaml:"algorithm"` // of the signature; RS256 where empty
	Scope     string   `yaml:"scope"`
	Exclude   []string `yaml:"exclude_files"`
}

// The modes of policy.
const (
	ModeEnforce = "enforce"
	ModeObserve = "observe" // decide, log, and let through
)

// Upstream is a model provider, or a server that speaks like one.
type Upstream struct {
	URL string `yaml:"url"`
	// Format is what is spoken there where no path tells: one of [route.FormatNames].
	Format string `yaml:"format"`
}

// Format says what is spoken at a host that agents reach through the forward
// proxy, where no path tells.
type Format struct {
	Host   string `yaml:"host"`   // HOST or HOST:PORT
	Path   string `yaml:"path"`   // the beginning of paths; empty: every path
	Format string `yaml:"format"` // one of [route.FormatNames]
}

// MCP is an MCP server: one that is reached over HTTP, or one that Holdgate
// starts and speaks with on its standard streams.
type MCP struct {
	URL     string   `yaml:"url"`
	Command []string `yaml:"command"` // in place of a URL
	// Env is all of the environment that the command gets, but for a PATH where
	// there is none here.
	Env       map[string]string `yaml:"env"`
	Dir       string            `yaml:"dir"`       // where it runs; empty: where Holdgate does
	Processes int               `yaml:"processes"` // at most, at a time; 16 where 0
}

// Plugin is a notifier.
type Plugin struct {
	// Command starts it; empty: the plugin of this name that is built in.
	Command []string `yaml:"command"`
	SHA256  string   `yaml:"sha256"` // of the program, in hex; empty: not checked
	Config  Settings `yaml:"config"`
	Quiet   *Quiet   `yaml:"quiet"`
	// PerMinute is how many new requests it tells of; 0: as many as there are.
	PerMinute int `yaml:"per_minute"`
}

// Prices are what tokens of models cost, for what sessions have cost so far.
type Prices struct {
	Currency string `yaml:"currency"` // a word that is shown
	// Models are patterns for the name of a model or for PROVIDER/NAME, with * for
	// anything but a slash. The longest that fits counts.
	Models map[string]Price `yaml:"models"`
}

// A Price is that of a million tokens.
type Price struct {
	Input  *float64 `yaml:"input"`
	Output *float64 `yaml:"output"`
	// CacheRead and CacheWrite are of input that the provider had in its cache, or put
	// there; not set: as Input.
	CacheRead  *float64 `yaml:"cache_read"`
	CacheWrite *float64 `yaml:"cache_write"`
}

// Table is what the sidecar goes by. The configuration must be valid.
func (p Prices) Table() holdgate.Prices {
	t := holdgate.Prices{Currency: p.Currency, Models: map[string]holdgate.Price{}}
	for pattern, m := range p.Models {
		t.Models[pattern] = holdgate.Price{Input: *m.Input, Output: *m.Output, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite}
	}
	return t
}

// Limits bound what one exchange may take, what one agent may, and what stays
// free of the disk.
type Limits struct {
	Body   Size     `yaml:"body"`   // of a request or of a whole answer, decoded
	Call   Size     `yaml:"call"`   // of one call's arguments
	Redeem Duration `yaml:"redeem"` // how long an outcome waits for its call to come again
	Grant  Duration `yaml:"grant"`  // how long a standing approval may last at most

	Pending   int  `yaml:"pending"`              // requests of one agent that wait for people
	HeldBytes Size `yaml:"held_bytes"`           // of one agent's calls and answers that are kept while they wait
	Decisions int  `yaml:"decisions_per_second"` // that one agent may ask for
	LogBytes  Size `yaml:"log_bytes_per_hour"`   // that one agent's calls may add to the log

	// DiskReserve is how much room nothing new takes, so that what people decide
	// can still be written. It comes on top of what the database needs by itself.
	DiskReserve Size `yaml:"disk_reserve"`
}

// Undo bounds what `holdgate run --undo` keeps.
type Undo struct {
	MaxBytes Size     `yaml:"max_bytes"` // of one run
	AllBytes Size     `yaml:"all_bytes"` // of all runs: the oldest go first
	Keep     Duration `yaml:"keep"`      // how long a run is kept
}

// Retention is how long the queue keeps what is over, and how much the audit
// log keeps of what its entries say; their hashes it keeps for ever.
type Retention struct {
	Requests Duration `yaml:"requests"` // exchanges that are over, with their requests
	Events   Duration `yaml:"events"`   // events, and those that a consumer has not taken

	Audit      Duration `yaml:"audit"`       // 0: for ever
	AuditBytes Size     `yaml:"audit_bytes"` // 0: any number
}

// Holds says how held calls look to their client.
type Holds struct {
	// Notice puts a line into held model answers that says who is being asked.
	Notice bool `yaml:"notice"`
	// Rehydrate turns refused calls, which the agent's later requests have as
	// texts, back into calls with results that say that they were refused.
	Rehydrate bool `yaml:"rehydrate"`
	// OnRefusal says what becomes of an answer all of whose calls were refused:
	// [RefusalReply] or [RefusalContinue], at most Rounds times in one answer.
	OnRefusal string `yaml:"on_refusal"`
	Rounds    int    `yaml:"rounds"`
	// MCPWait is how long an MCP client waits for people that is not known to wait
	// for longer or shorter.
	MCPWait Duration `yaml:"mcp_wait"`
	// MCPProgress are the names of MCP clients that wait on as long as they hear of
	// progress, besides those that are known to.
	MCPProgress []string `yaml:"mcp_progress"`
	// MCPTasks says which held calls become tasks of their MCP clients': [TasksServer],
	// [TasksOffer] or [TasksOff].
	MCPTasks string `yaml:"mcp_tasks"`
	// Page is where people decide, with {request} for the id of what they decide:
	// MCP clients that can show pages are asked to show it. Empty: none is shown.
	Page string `yaml:"page"`
}

// Which held calls of MCP clients become tasks.
const (
	TasksServer = "server" // where client and server both have tasks
	TasksOffer  = "offer"  // in revision 2026-07-28 also where the server has none
	TasksOff    = "off"
)

// What becomes of an answer all of whose calls were refused.
const (
	RefusalReply    = "reply"    // the agent gets it with notices in the calls' places
	RefusalContinue = "continue" // Holdgate tells the model, and what that says follows
)

// Continues is how often an answer goes on at most.
func (h Holds) Continues() int {
	if h.OnRefusal != RefusalContinue {
		return 0
	}
	return h.Rounds
}

// Audit says how the log is kept.
type Audit struct {
	Sync   string `yaml:"sync"`   // [SyncAlways] or [SyncBatched]
	Inputs string `yaml:"inputs"` // [InputsRedacted] or [InputsNone]

	Checkpoints Checkpoints `yaml:"checkpoints"`
}

// Checkpoints says where the log's signed checkpoints go by themselves.
type Checkpoints struct {
	File string `yaml:"file"` // that they are appended to; absolute
	URL  string `yaml:"url"`  // that they are posted to
	// Syslog is where they are sent as messages of RFC 5424: udp://HOST:PORT,
	// tcp://HOST:PORT or unix:///PATH.
	Syslog  string   `yaml:"syslog"`
	Command []string `yaml:"command"` // a program that gets each on its standard input
	Every   Duration `yaml:"every"`   // while the log grows; 0: 5 minutes
}

// How the audit log is kept.
const (
	SyncAlways     = "always"  // every entry is synced before it takes effect
	SyncBatched    = "batched" // plain allows are written before and synced within 100 ms
	InputsRedacted = "redacted"
	InputsNone     = "none"
)

// What becomes of model APIs whose tool calls Holdgate cannot see.
const (
	UnsupportedRefuse = "refuse"
	UnsupportedAllow  = "allow"
)

// Default is the configuration without file, environment and flags. user
// names the approver; stateDir is the state folder.
func Default(stateDir, user string) Config {
	return Config{
		Listen:   Listen{Agents: "127.0.0.1:7300", Approvers: "127.0.0.1:7301"},
		StateDir: stateDir,
		Policy:   Policy{Mode: ModeEnforce, OnError: "deny", Timeout: Duration(time.Second)},
		Upstreams: map[string]Upstream{
			"anthropic": {URL: "https://api.anthropic.com"},
			"openai":    {URL: "https://api.openai.com"},
			"gemini":    {URL: "https://generativelanguage.googleapis.com"},
			"bedrock":   {URL: "https://bedrock-runtime.us-east-1.amazonaws.com"},
			"ollama":    {URL: "http://127.0.0.1:11434"},
		},
		MCP:           map[string]MCP{},
		UpstreamProxy: UpstreamProxy{Environment: true, Lookup: LookupHere},
		Plugins:       map[string]Plugin{},
		Limits: Limits{
			Body: 32 << 20, Call: 8 << 20,
			Redeem:  Duration(time.Hour),
			Grant:   Duration(30 * 24 * time.Hour),
			Pending: 20, HeldBytes: 64 << 20, Decisions: 100, LogBytes: 256 << 20,
			DiskReserve: 64 << 20,
		},
		Undo:       Undo{MaxBytes: 8 << 30, AllBytes: 16 << 30, Keep: Duration(14 * 24 * time.Hour)},
		Retention:  Retention{Requests: Duration(30 * 24 * time.Hour), Events: Duration(24 * time.Hour)},
		Audit:      Audit{Sync: SyncBatched, Inputs: InputsRedacted},
		Holds:      Holds{Rehydrate: true, OnRefusal: RefusalReply, Rounds: 3, MCPWait: Duration(55 * time.Second), MCPTasks: TasksServer},
		Sessions:   Sessions{Mode: "auto"},
		Gates:      map[string]Gate{},
		Prices:     Prices{Currency: holdgate.ProviderCurrency, Models: map[string]Price{}},
		OIDC:       OIDC{NameClaim: "email", GroupsClaim: "groups", Scopes: []string{"profile", "email", "offline_access"}, Reread: Duration(maxReread)},
		Confidence: Confidence{Enabled: true, AutoEscalate: true, Threshold: 0.9},
		Approver:   user, Unsupported: UnsupportedRefuse,
	}
}
