package effects

import (
	"slices"
	"strings"
	"unicode"
)

// verbs are the words in which programs, tools and services say what they do to
// something. They tell a verb from a noun, and are no judgement.
var verbs = wordSet(`accept acknowledge activate add adopt allow amend analyze annotate apply approve archive assign associate attach
	authorize autoscale ban block book boot bootstrap bulk build buy cancel capture change charge check clean clear click clone close comment commit
	compile complete configure confirm connect convert copy cordon create deactivate debug decline decrypt delete demote deny deploy downgrade
	deprecate deregister describe destroy detach disable disassociate disconnect dismiss dispatch download drain draft drop duplicate
	edit eject email enable encrypt end enqueue erase evaluate evict execute expire export expose extract failover fetch fill find fix flush flushall flushdb follow
	fork format forward freeze generate get give grant halt hide import increase init initialize insert inspect install invalidate
	invite invoke join kill launch leave link list load lock login logout lower make mark merge message migrate modify monitor move
	mute navigate notify open optimize overwrite patch pause pay pin ping plan post prepare press preview promote provision prune publish pull purchase
	purge push put query raise read rebase reboot rebuild recover recreate refresh refund register reindex reject release reload remove rename reopen reorder repair
	replace reply report request reschedule reset resize resolve resume restart restore resubmit retire retrieve retry revert revoke rollback rollout rotate run
	save scale schedule scroll search select send set share show shred shutdown sign snapshot snooze spawn squash stage star start
	stop submit subscribe suspend swap switch sync synchronize tail taint terminate test toggle top track trade transfer transition trigger
	truncate turn type unarchive unassign unban unblock undelete undeploy undo uncordon unfollow uninstall unlink unlock unmute unpin unpublish unset
	unsubscribe untaint untag update upgrade upload upsert use validate verify view vote wait wipe withdraw write
	authenticate charge tag label comment`)

// rarely are verbs that are nouns as often: a word of them counts as the verb only
// where it begins a name, or where no other word is one.
var rarely = wordSet("build bulk charge check comment draft email export label link list lock message monitor order plan post preview query release report request run " +
	"search snapshot stage star tag test top track trade type use view vote update")

// readVerbs are verbs that change nothing.
var readVerbs = wordSet("analyze check describe fetch find get inspect list preview query read retrieve search show tail top verify view wait")

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// shortened are words that stand for a verb without being it.
var shortened = map[string]string{
	"rm": "remove", "rmi": "remove", "del": "delete", "mv": "move", "cp": "copy", "mb": "make", "rb": "remove", "un": "uninstall",
	"i": "install", "up": "bring up", "down": "take down", "exec": "run a command in", "rsync": "sync", "ls": "list", "kill": "end", "init": "initialize",
	"rollback": "roll back", "rollout": "roll out", "login": "log in", "logout": "log out", "shutdown": "shut down", "failover": "fail over",
}

func long(verb string) string {
	if l, ok := shortened[verb]; ok {
		return l
	}
	return verb
}

// destroying are what programs call it when something is gone afterwards.
var destroying = wordSet("clean clear delete deregister destroy detach disassociate downgrade drop empty end erase evict flush flushall flushdb prune purge remove " +
	"reset shred take terminate truncate uninstall unpublish wipe")

// destroys reports whether nothing is left of what the verb is done to.
func destroys(verb string) bool {
	first, _, _ := strings.Cut(verb, " ")
	return destroying[first]
}

// isVerb reports whether a word says what to do.
func isVerb(word string) bool { return verbs[word] || shortened[word] != "" }

// words takes a name apart, however it is written: "create_issue", "create-issue",
// "createIssue", "issues.create", "issues:create".
func words(name string) (list []string) {
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			list = append(list, strings.ToLower(b.String()))
			b.Reset()
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])):
			end()
		}
		b.WriteRune(r)
	}
	end()
	return list
}

// verbIn finds the verb among the words of one name: the first word, else the
// last, else one that is hardly ever a noun, else any; -1 where there is none.
func verbIn(list []string) int {
	last := len(list) - 1
	sure := func(w string) bool { return isVerb(w) && !rarely[w] }
	switch {
	case last < 0:
		return -1
	case isVerb(list[0]) && (last == 0 || !rarely[list[0]] || !sure(list[last])):
		return 0
	case sure(list[last]):
		return last
	}
	if i := slices.IndexFunc(list, sure); i >= 0 {
		return i
	}
	return slices.IndexFunc(list, isVerb)
}

// phrase is a subcommand as a verb and what it is done to: "terminate-instances"
// is to terminate instances, and "pg:reset" to reset pg. Behind are the words
// that come after the verb.
func phrase(subcommand []string) (verb, nouns string, behind []string) {
	at := -1
	for i, sub := range slices.Backward(subcommand) {
		own, v := verbOf(sub)
		if v < 0 {
			continue
		}
		if at < 0 || !rarely[own[v]] {
			at = i
		}
		if !rarely[own[v]] {
			break
		}
	}
	if at < 0 {
		return "", "", nil
	}
	var things []string
	for _, w := range subcommand[:at] {
		things = append(things, words(w)...)
	}
	own, v := verbOf(subcommand[at])
	return long(own[v]), strings.Join(slices.Concat(things, own[:v], own[v+1:]), " "), subcommand[at+1:]
}

// verbOf is the words of a subcommand, and which of them is the verb; -1 where none
// is, and where it is a file. What stands behind a colon is done to what stands
// before it.
func verbOf(sub string) ([]string, int) {
	own := words(sub)
	if strings.ContainsAny(sub, "/.") {
		return own, -1
	}
	if i := strings.LastIndexByte(sub, ':'); i >= 0 {
		last := words(sub[i:])
		if v := verbIn(last); v >= 0 {
			return own, len(own) - len(last) + v
		}
	}
	return own, verbIn(own)
}

// does is a verb as it begins a sentence: "apply" is "Applies".
func does(verb string) string {
	first, rest, more := strings.Cut(verb, " ")
	switch {
	case first == "":
		return "Does"
	case strings.HasSuffix(first, "y") && len(first) > 1 && !strings.ContainsAny(first[len(first)-2:len(first)-1], "aeiou"):
		first = first[:len(first)-1] + "ies"
	case strings.HasSuffix(first, "s"), strings.HasSuffix(first, "x"), strings.HasSuffix(first, "z"), strings.HasSuffix(first, "ch"), strings.HasSuffix(first, "sh"), strings.HasSuffix(first, "do"), first == "go":
		first += "es"
	default:
		first += "s"
	}
	if more {
		first += " " + rest
	}
	return strings.ToUpper(first[:1]) + first[1:]
}
