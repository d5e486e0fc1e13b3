package collect

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// Classes of paths, for [Path].
const (
	ClassSecret      = "secret"
	ClassPersistence = "persistence"
	ClassSystem      = "system"
)

// The rules below are matched against the last segments of a path, without
// regard to case (macOS and Windows have none). One that ends in "/" covers
// the folder and all beneath; one that starts with "/" starts at the root.

// secretRules are files that hold credentials.
const secretRules = `
.env .env.* *.env .envrc *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *.token *.kubeconfig
id_rsa id_dsa id_ecdsa id_ed25519 id_rsa.* id_ed25519.* id_ecdsa_sk id_ed25519_sk
.ssh/ .gnupg/ .aws/credentials .aws/config .aws/sso/ .aws/ .azure/ .kube/ kubeconfig .config/gcloud/ application_default_credentials.json
.docker/config.json .dockercfg .netrc _netrc .npmrc .yarnrc.yml .pypirc .pgpass .my.cnf .git-credentials .htpasswd
.vault-token .config/gh/ .config/glab-cli/ .config/op/ .config/rclone/ .password-store/ .local/share/keyrings/ library/keychains/
.cargo/credentials .cargo/credentials.toml .gem/credentials .terraform.d/credentials.tfrc.json .terraformrc *.tfvars *.tfstate
credentials credentials.json client_secret*.json service-account*.json service_account*.json secrets.yaml secrets.yml secrets.json secrets.toml secret.yaml secret.json
.config/chromium/ .config/google-chrome/ .config/bravesoftware/ .config/microsoft-edge/ .mozilla/ .thunderbird/ google/chrome/
*firebase-adminsdk*.json .subversion/auth/ .config/hub .config/containers/auth.json .config/git/credentials .config/doctl/ .config/heroku/ .config/netlify/ .config/stripe/ .config/hcloud/ .config/scw/ .config/linode-cli .config/ngrok/ .config/filezilla/ .config/sops/ .config/pypoetry/auth.toml
.fly/ .railway/ .pulumi/credentials.json .gradle/gradle.properties .m2/settings.xml .m2/settings-security.xml .nuget/nuget.config .composer/auth.json .huggingface/ .cache/huggingface/token .kaggle/ .databrickscfg .snowsql/ .dbt/profiles.yml
.mylogin.cnf .pg_service.conf .s3cfg .boto .mc/ .oci/ .cf/ .bluemix/ .cloudflared/ .wrangler/config/ .sentryclirc .circleci/cli.yml .fetchmailrc .msmtprc .node_repl_history .rediscli_history .sqlite_history *.agekey
.claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json .qwen/oauth_creds.json opencode/auth.json
.bash_history .zsh_history .psql_history .mysql_history .python_history
cookies.sqlite logins.json key4.db login?data
/etc/shadow /etc/shadow- /etc/gshadow /etc/sudoers /etc/sudoers.d/ /etc/ssl/private/ /proc/*/environ /proc/*/mem /proc/self/ /run/secrets/ /var/run/secrets/
wp-config.php database.yml master.key
`

// publicRules are exceptions to secretRules.
const publicRules = `
*.pub .env.example .env.sample .env.template .env.dist .env.defaults .env.schema example.env sample.env
.ssh/known_hosts .ssh/config
`

// persistenceRules are files that run later by themselves, or tell a later
// run of an agent what to do.
const persistenceRules = `
azure-pipelines.yml azure-pipelines.yaml .buildkite/ .drone.yml .travis.yml .appveyor.yml appveyor.yml bitbucket-pipelines.yml .woodpecker.yml .woodpecker/ .semaphore/ .pryrc
.git .git/config .git/config.worktree .git/commondir .git/hooks/ .git/info/attributes .git/modules/ .git/worktrees/ .git/rebase-merge/ .git/rebase-apply/ .git/sequencer/ .gitconfig .config/git/ .gitattributes .husky/ .githooks/ lefthook.yml .pre-commit-config.yaml
.envrc .npmrc .yarnrc .yarnrc.yml pip.conf .pydistutils.cfg sitecustomize.py usercustomize.py *.pth .pythonrc .irbrc .cargo/config .cargo/config.toml
.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .oh-my-zsh/ .kshrc .mkshrc .cshrc .tcshrc .login .inputrc .config/fish/
.vimrc .exrc .nvimrc .vim/ .config/nvim/ .emacs .emacs.d/ .tmux.conf .screenrc .gdbinit .lldbinit .xinitrc .xprofile .xsession .pam_environment
.ssh/config .ssh/rc .ssh/environment .ssh/authorized_keys .ssh/authorized_keys2
.config/systemd/ .config/autostart/ .config/environment.d/ .local/share/systemd/ library/launchagents/ library/launchdaemons/ .local/share/applications/
/etc/cron* /etc/cron.d/ /etc/cron.daily/ /etc/cron.hourly/ /etc/cron.weekly/ /etc/cron.monthly/ /etc/crontab /etc/anacrontab /var/spool/cron/ /var/spool/at/
/etc/systemd/ /usr/lib/systemd/ /lib/systemd/ /usr/local/lib/systemd/ /etc/init.d/ /etc/rc.local /etc/rc.d/ /etc/xdg/autostart/ /etc/profile /etc/profile.d/ /etc/bash.bashrc /etc/bashrc /etc/zsh/ /etc/zshrc /etc/environment
/etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d/ /etc/pam.d/ /etc/sudoers /etc/sudoers.d/ /etc/ssh/ /etc/udev/rules.d/ /etc/apt/apt.conf.d/ /etc/modules /etc/modules-load.d/
node_modules/.bin/ .venv/bin/ venv/bin/ vendor/bin/
.vscode/ .idea/ .cursor/ .windsurf/ .zed/ .devcontainer/ .devcontainer.json
.claude/ .claude.json .codex/ .gemini/ .qwen/ .opencode/ .config/opencode/ opencode.json opencode.jsonc .cline/ documents/cline/ .clinerules .clinerules/ .continue/ .roo/ .aider.conf.yml
.kiro/ .amp/ .goose/ .goosehints .trae/ .augment/ .augmentrules .junie/ .crush/ crush.json .crush.json .factory/ .openhands/ .kilocode/ .kilocodemodes .amazonq/ .tabnine/ .cody/ .copilot/ .agents/ .agent/ .warp/ .void/ .roomodes .roorules .zencoder/ .qodo/ .codeium/ .claude-plugin/ .*/hooks/
.github/instructions/ .github/prompts/ .github/chatmodes/ .github/copilot/ .github/agents/ .github/hooks/ skill.md .gitmodules .gitea/workflows/ .forgejo/workflows/ .cirrus.yml .tekton/ buildspec.yml cloudbuild.yaml
.mcp.json mcp.json mcp_config.json mcp_settings.json claude_desktop_config.json cline_mcp_settings.json
claude.md claude.local.md agents.md agents.override.md gemini.md qwen.md .cursorrules .windsurfrules copilot-instructions.md
.github/workflows/ .github/actions/ .gitlab-ci.yml .circleci/ jenkinsfile
holdgate.yaml .config/holdgate/
`

// systemRoots are folders of the operating system.
const systemRoots = `/etc /usr /boot /bin /sbin /lib /lib32 /lib64 /libx32 /dev /proc /sys /run /opt /var/lib /var/log /var/spool /var/run /var/db /system /library /applications /private/etc /private/var/db`

// classRule is one rule, split into segments.
type classRule struct {
	segments []ruleSegment
	folder   bool
	rooted   bool
}

// A ruleSegment is one segment of a rule: a name, or a pattern as [path.Match]
// has it. Most patterns have one star and nothing else that is special; what is
// before and behind it is then all that there is to compare.
type ruleSegment struct {
	text           string
	pattern        bool
	oneStar        bool
	prefix, suffix string // around the one star
}

func newRuleSegment(text string) ruleSegment {
	s := ruleSegment{text: text, pattern: strings.ContainsAny(text, "*?")}
	prefix, suffix, found := strings.Cut(text, "*")
	if found && !strings.ContainsAny(prefix+suffix, `*?[\`) {
		s.oneStar, s.prefix, s.suffix = true, prefix, suffix
	}
	return s
}

// covers reports whether the segment stands for a name, which holds no slash.
func (s ruleSegment) covers(name string) bool {
	switch {
	case s.oneStar:
		return len(name) >= len(s.prefix)+len(s.suffix) && strings.HasPrefix(name, s.prefix) && strings.HasSuffix(name, s.suffix)
	case s.pattern:
		return GlobMatch(s.text, name)
	}
	return s.text == name
}

// A ruleSet is a list of rules, with those that begin with a plain name
// indexed by it.
type ruleSet struct {
	all     []classRule
	byFirst map[string][]classRule
	globs   []classRule // begin with a pattern
}

var classRules = sync.OnceValue(func() (sets struct{ secret, public, persistence ruleSet }) {
	sets.secret = parseRules(secretRules)
	sets.public = parseRules(publicRules)
	sets.persistence = parseRules(persistenceRules)
	return sets
})

func parseRules(list string) ruleSet {
	set := ruleSet{byFirst: make(map[string][]classRule)}
	for _, text := range strings.Fields(list) {
		r := classRule{folder: strings.HasSuffix(text, "/"), rooted: strings.HasPrefix(text, "/")}
		for segment := range strings.SplitSeq(strings.Trim(text, "/"), "/") {
			r.segments = append(r.segments, newRuleSegment(segment))
		}
		set.all = append(set.all, r)
		if first := r.segments[0]; first.pattern {
			set.globs = append(set.globs, r)
		} else {
			set.byFirst[first.text] = append(set.byFirst[first.text], r)
		}
	}
	return set
}

// Classify names the class of a path. What is a secret and runs by itself (a
// .npmrc) is a secret to read and persistence to write.
func Classify(p, access string) string {
	p = strings.ToLower(p)
	rooted := strings.HasPrefix(p, "/")
	segments := strings.Split(strings.Trim(p, "/"), "/")
	rules := classRules()
	secret := rules.secret.match(segments, rooted, likelySegment) && !rules.public.match(segments, rooted, exactSegment)
	persistent := rules.persistence.match(segments, rooted, likelySegment)
	switch {
	case persistent && (access != AccessRead || !secret):
		return ClassPersistence
	case secret:
		return ClassSecret
	case rooted && system("/"+strings.Join(segments, "/")):
		return ClassSystem
	}
	return ""
}

// HoldsCredentials reports whether a path is one of those that hold credentials.
func HoldsCredentials(path string) bool { return Classify(path, AccessRead) == ClassSecret }

func system(p string) bool {
	if p == "/" || p == "/home" || p == "/users" || p == "/root" || p == "/var" {
		return true
	}
	first, _, _ := strings.Cut(p[1:], "/")
	if strings.ContainsAny(first, "*?[") {
		return true
	}
	for root := range strings.FieldsSeq(systemRoots) {
		if p == root || strings.HasPrefix(p, root+"/") {
			return true
		}
	}
	return false
}

// match reports whether a rule covers the path. All rules are tried, and as
// odd says, only on a path that is itself a pattern.
func (s ruleSet) match(segments []string, rooted bool, odd segmentMatch) bool {
	if slices.ContainsFunc(segments, isPattern) {
		return anyMatch(s.all, segments, rooted, odd)
	}
	for _, seg := range segments {
		if anyMatch(s.byFirst[seg], segments, rooted, ruleSegment.covers) {
			return true
		}
	}
	return anyMatch(s.globs, segments, rooted, ruleSegment.covers)
}

func isPattern(segment string) bool { return strings.ContainsAny(segment, "*?[") }

func anyMatch(rules []classRule, segments []string, rooted bool, match segmentMatch) bool {
	for i := range rules {
		if rules[i].match(segments, rooted, match) {
			return true
		}
	}
	return false
}

func (r *classRule) match(segments []string, rooted bool, match segmentMatch) bool {
	n := len(r.segments)
	if n > len(segments) || r.rooted && !rooted {
		return false
	}
	first, last := len(segments)-n, len(segments)-n
	if r.folder {
		first = 0
	}
	if r.rooted {
		if !r.folder && len(segments) != n {
			return false
		}
		first, last = 0, 0
	}
	for i := first; i <= last; i++ {
		if r.matchAt(segments[i:i+n], match) {
			return true
		}
	}
	return false
}

func (r *classRule) matchAt(segments []string, match segmentMatch) bool {
	for j, want := range r.segments {
		if want.text != segments[j] && !match(want, segments[j]) {
			return false
		}
	}
	return true
}

// segmentMatch compares a segment of a rule with one of a path that differs
// from it.
type segmentMatch func(rule ruleSegment, segment string) bool

// exactSegment takes a pattern for no name.
func exactSegment(rule ruleSegment, segment string) bool {
	return rule.pattern && !isPattern(segment) && rule.covers(segment)
}

// likelySegment takes a pattern for what it could stand for.
func likelySegment(rule ruleSegment, segment string) bool {
	return rule.pattern && rule.covers(segment) || couldBe(segment, rule.text)
}

// GlobMatch reports whether a name is one that the pattern stands for, as
// [path.Match] has it.
func GlobMatch(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// couldBe reports whether a segment that is itself a pattern (.en?) could
// stand for the rule's name. A bare star is no such claim, nor is one before
// an extension: they would make every "*" and "*.json" a secret.
func couldBe(segment, rule string) bool {
	ext, isExt := strings.CutPrefix(segment, "*.")
	if !isPattern(segment) || isExt && !strings.ContainsAny(ext, "*?[") {
		return false
	}
	literal := strings.Map(func(r rune) rune {
		if strings.ContainsRune("*?[]", r) {
			return -1
		}
		return r
	}, segment)
	if len(literal) < 2 && !strings.HasPrefix(segment, ".") && !strings.HasPrefix(segment, "[.]") {
		return false
	}
	return GlobMatch(segment, strings.NewReplacer("*", "x", "?", "x").Replace(rule))
}
