package run

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// credentials are the files and folders to hide from the agent: those of the
// user's home that hold credentials, and those of the working folder. shown says
// that some stay readable.
func (r *agent) credentials(s confine.Spec) (hidden []string, shown bool, err error) {
	shown = len(r.Contained.Show) > 0
	show := make([]string, 0, len(r.Contained.Show))
	for _, path := range r.Contained.Show {
		show = append(show, r.meant(path))
	}
	add := func(path string) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return // not there
		}
		reaches := func(other string) bool { return within(real, other) || within(other, real) }
		switch {
		case slices.ContainsFunc(show, reaches):
		case within(s.Dir, real), slices.ContainsFunc(s.Write, func(w string) bool { return within(w, real) }):
			shown = true // the agent works in it
		case !slices.Contains(hidden, real):
			hidden = append(hidden, real)
		}
	}
	for _, path := range launch.Credentials(r.Program, r.Host.Getenv("HOME")) {
		add(path)
	}
	err = filepath.WalkDir(s.Dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil // gone meanwhile, or closed to the agent, too
		case err != nil:
			return err
		case e.IsDir() && (slices.Contains(never, e.Name()) || slices.ContainsFunc(hidden, func(h string) bool { return h == path })):
			return fs.SkipDir
		}
		rel, err := filepath.Rel(s.Dir, path)
		if err == nil && e.Type().IsRegular() && collect.HoldsCredentials(rel) && holdsCredentials(path, rel) {
			add(path)
		}
		return err
	})
	return hidden, shown, err
}

// never are folders of the working folder that hold what others have made.
var never = []string{".git", "node_modules", "__pycache__", ".tox"}

// forms are kinds of files that often hold nothing secret: settings of tools,
// and certificates. What is in them decides.
var (
	forms  = regexp.MustCompile(`(?i)(^|/)(\.npmrc|\.yarnrc\.yml|\.envrc|\.htpasswd|database\.yml|secrets?\.(ya?ml|json|toml)|wp-config\.php|[^/]*\.tfvars|nuget\.config|credentials)$`)
	secret = regexp.MustCompile(`(?i)(token|passw|secret|_auth|api_?-?key|private|access_?key|credential)[\w".-]*\s*[:=,>]\s*\S`)
	keys   = regexp.MustCompile(`(?i)\.(pem|key)$`)
	trials = regexp.MustCompile(`(?i)(^|/)(tests?|testdata|__tests__|fixtures?|__fixtures__|specs?)/`)
)

// readAtMost bounds what is read of a file to tell whether it holds credentials.
const readAtMost = 1 << 20

// holdsCredentials reports whether a file of a kind that holds credentials does.
func holdsCredentials(path, rel string) bool {
	form, key := forms.MatchString(rel), keys.MatchString(rel)
	if !form && !key {
		return true
	}
	if key && trials.MatchString(filepath.ToSlash(rel)) {
		return false // made for tests, and known to everybody who has them
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > readAtMost {
		return true
	}
	b, err := os.ReadFile(path)
	switch {
	case err != nil:
		return true
	case key:
		return bytes.Contains(b, []byte("PRIVATE KEY")) || !bytes.Contains(b, []byte("-----BEGIN "))
	}
	return secret.Match(b)
}

// modelKeys are variables with the credentials of the agent's own model.
var modelKeys = regexp.MustCompile(`^(ANTHROPIC|CLAUDE|OPENAI|CODEX|GEMINI|GOOGLE_API|GOOGLE_GENERATIVE_AI|OPENROUTER|MISTRAL|GROQ|DEEPSEEK|XAI|COHERE|CO_API|TOGETHER|FIREWORKS|CEREBRAS|AZURE_OPENAI|DASHSCOPE|QWEN|MOONSHOT|OLLAMA|AWS_BEARER_TOKEN_BEDROCK|CRUSH|GOOSE|AIDER|OPENCODE|CLINE)`)

// credentialName are names of variables that hold credentials.
var credentialName = regexp.MustCompile(`(?i)(TOKEN|SECRET|PASSW|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIAL|_AUTH$|_DSN$|DATABASE_URL|CONNECTION_STRING|_PAT$|^PGPASS)`)

// environ is the environment that the agent begins with.
func (r *agent) environ() []string {
	env := os.Environ()
	if r.private == nil {
		return env
	}
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return credentialName.MatchString(name) && !modelKeys.MatchString(name) && !slices.Contains(r.Contained.Show, "$"+name)
	})
}
