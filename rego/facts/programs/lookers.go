package programs

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// lookers are subcommands that show what a word names, and do no more whatever the
// word is: a pod, a run, a request, a container. By program; a subcommand may have
// two words.
var lookers = map[string]string{
	"kubectl": "logs describe top rollout-status rollout-history explain", "oc": "logs describe status rollout-status rollout-history", "k": "logs describe top", "stern": "*",
	"gh":   "run-view run-watch run-list pr-view pr-diff pr-checks pr-list issue-view issue-list release-view release-list workflow-view label-list cache-list",
	"glab": "mr-view mr-diff mr-list issue-view issue-list ci-view ci-status ci-trace release-view",
	"helm": "status history", "argocd": "app-get app-history app-diff app-list app-resources", "flux": "get logs tree",
	"docker": "logs top port stats diff history compose-logs compose-ps compose-top compose-images compose-port container-logs", "podman": "logs top port stats diff history", "docker-compose": "logs ps top images port",
	"npm": "view info ls explain why outdated", "pnpm": "why list ls view", "yarn": "why info", "pip": "show", "pip3": "show", "cargo": "tree", "go": "doc", "brew": "info deps", "apt": "show", "apt-cache": "show policy", "dpkg": "-s -L", "gem": "info list", "composer": "show why",
	"systemctl": "status is-active is-enabled show", "journalctl": "*", "ps": "*", "pgrep": "*", "lsof": "*", "nproc": "*",
	"redis-cli": "type ttl pttl exists strlen llen scard zcard hlen get hget hgetall hkeys lrange smembers zrange object memory TYPE TTL PTTL EXISTS STRLEN LLEN SCARD ZCARD HLEN GET HGET HGETALL LRANGE SMEMBERS ZRANGE",
	"gcloud":    "projects-describe projects-list", "heroku": "ps logs", "fly": "status logs", "flyctl": "status logs",
}

const (
	lookerValued = "nRLlcofbswHtaFpu"
	lookerLong   = "namespace context cluster user selector output tail since since-time container field-selector sort-by repo limit json jq template branch workflow status state label author assignee search log-level kubeconfig project-name file app filter format type job unit lines profile region query"
)

// awsLooks begin the operations of AWS that show something.
var awsLooks = lazyregexp.New(`^(describe|list|get|head|filter|lookup|batch-get)-`)

// ledAway are programs of these that an option leads to another host or account, or lets
// run or delete something.
const ledAway = "kubectl oc k stern helm argocd flux aws cargo journalctl systemctl apt apt-cache gcloud"

// mayBeOption reports whether the word at i, which is known at run time only, can turn
// out to be an option.
func mayBeOption(words []argv.Field, i int) bool {
	w := words[i]
	if w.Origin >= argv.OriginLabel || !w.Bare && !w.Stdin && soleName(words, i) {
		return false
	}
	known := len(w.Dynamic) > 0 && !strings.HasPrefix(w.Text, w.Dynamic[0])
	if known && (w.Text[0] != '-' || strings.Contains(w.Text, "=")) {
		return w.Bare
	}
	value := i > 1 && words[i-1].Known() && strings.HasPrefix(words[i-1].Text, "-") && !strings.Contains(words[i-1].Text, "=")
	return w.Bare || !value
}

// wantName are subcommands of these that refuse, before they reach anything, where no
// operand is left to show.
var wantName = map[string]string{"kubectl": "logs", "oc": "logs", "helm": "status history", "argocd": "get history diff"}

// soleName reports whether the word at i is all that such a command is told to show: were
// it an option, the command would be none.
func soleName(words []argv.Field, i int) bool {
	operands := argv.ParseOptions(words[1:], "nclsf", "namespace container context cluster user tail since since-time kube-context").Operands
	if n := len(operands); n < 2 || operands[n-1].Text != words[i].Text || !wordlist.Has(wantName[words[0].Text], operands[n-2].Text) ||
		n > 2 && (words[0].Text != "argocd" || n != 3 || operands[0].Text != "app") {
		return false
	}
	return !slices.ContainsFunc(words, func(f argv.Field) bool {
		return strings.HasPrefix(f.Text, "-l") || strings.HasPrefix(f.Text, "--sel") || strings.HasPrefix(f.Text, "--all-pod")
	})
}

// looksAt reports whether a command only shows what the word at i names. The
// subcommand is known, and stands before the word.
func looksAt(name string, words []argv.Field, i int) bool {
	verbs, ok := lookers[name]
	if !ok && name != "aws" || wordlist.Has(ledAway, name) && mayBeOption(words, i) {
		return false
	}
	if verbs == "*" {
		return !strings.HasPrefix(words[i].Text, "-")
	}
	operands := argv.ParseOptions(words[1:], lookerValued, lookerLong).Operands
	if len(operands) == 0 || !operands[0].Known() {
		return false
	}
	first, second := operands[0], argv.Field{}
	if len(operands) > 1 {
		second = operands[1]
	}
	if name == "aws" {
		return second.Known() && awsLooks.MatchString(second.Text)
	}
	if wordlist.Has(verbs, first.Text) {
		return slices.ContainsFunc(words[1:i], func(f argv.Field) bool { return f.Text == first.Text }) || strings.HasPrefix(words[i-1].Text, "-")
	}
	if strings.HasPrefix(name, "kubectl") && first.Text == "get" {
		return len(operands) > 1 && second.Known() && !strings.Contains(strings.ToLower(second.Text), "secret") && !strings.Contains(second.Text, "/") && second.Text != words[i].Text
	}
	return second.Known() && wordlist.Has(verbs, first.Text+"-"+second.Text)
}

// loopbackAddress begins an address of this machine: what follows the slash is
// no part of its host.
var loopbackAddress = lazyregexp.New(`^(https?://)?(localhost|127\.0\.0\.1|\[::1\])(:[1-9][0-9]{0,4})?[/?]`)

// toLoopback reports whether the word at i of curl is a part of a request to this
// machine: of the address behind the host, or of what is sent there. A value that
// stands by itself may be the name of a file.
func toLoopback(words []argv.Field, i int) bool {
	sent := false
	for j, w := range words[1:] {
		before := words[j].Text
		option := strings.HasPrefix(w.Text, "-")
		value := strings.HasPrefix(before, "-") && curlTakes.MatchString(before)
		switch {
		case option && !w.Known():
			return false
		case option, value:
		case !loopbackAddress.MatchString(w.Text) && (!w.Known() || !loopbackAddress.MatchString(w.Text+"/")):
			return false
		default:
			sent = true
		}
	}
	w := words[i]
	if !sent || w.Bare && w.Origin < argv.OriginNames {
		return false
	}
	if loopbackAddress.MatchString(w.Text) {
		return true
	}
	return curlSends.MatchString(words[i-1].Text) && w.Text != "" && !strings.HasPrefix(w.Text, "@") && !strings.HasPrefix(w.Text, w.Dynamic[0])
}

var (
	curlTakes = lazyregexp.New(`^(-[sSfivINkLg]*[omwHAXdbcuT]|--(output|max-time|connect-timeout|write-out|header|user-agent|request|retry|retry-delay|retry-max-time|data|data-raw|data-binary|data-urlencode|json|cookie|cookie-jar|user))$`)
	curlSends = lazyregexp.New(`^(-[sSfivIN]*[Hd]|--(header|data|data-raw|json))$`)
)
