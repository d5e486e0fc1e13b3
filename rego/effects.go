package rego

import (
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/effects"
	"github.com/holdgate/holdgate/rego/facts"
)

// effects are what a call does, for people and for rules that read
// input.facts.effects. They are worked out where one of them does: what is
// allowed unseen costs nothing.
func (p *policy) effects(c holdgate.Call, f facts.Facts) []holdgate.Effect {
	if h := c.HTTP; h != nil && h.Operation == "" {
		named := *h
		named.Operation = p.operation(h)
		c.HTTP = &named
	}
	tables := p.tables
	if len(tables.classes) == 0 {
		tables = packTables()
	}
	return effects.Of(c, f, tables.known)
}

// packTables are the shipped pack's, for the effects of a policy that has none.
var packTables = sync.OnceValue(func() commandTables {
	pack, err := readPack()
	if err != nil {
		return commandTables{}
	}
	data, err := readData(pack.data)
	if err != nil {
		return commandTables{}
	}
	return readCommandTables(data)
})

// shown are the effects for people. A fault in there costs a sentence, never a
// decision that was made: the list is then empty.
func (p *policy) shown(c holdgate.Call, f facts.Facts) (list []holdgate.Effect) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	return p.effects(c, f)
}

// known is what the tables say of a command.
func (t commandTables) known(c facts.Command) effects.Known {
	class, subcommand := t.of(c)
	return effects.Known{Class: class, Subcommand: subcommand, Operands: t.operands(c, subcommand), Target: t.target(c)}
}

// valuedAnywhere are options that take a value in most programs that have them.
var valuedAnywhere = strings.Fields("-m --message -f --file --filename -n --namespace --context --title --body --notes --registry --index-url --extra-index-url -i -c --config --region --profile --project --zone -o --output -r --requirement -t --tag --token --format --jq --json -u --user --password --var --var-file --set --values --version --timeout --repo -R --branch --base --head --target --env --environment --scope -w --workspace --filter --prefix --dir --cwd --app --confirm")

// operands are the words of a command behind its subcommand that are no options
// and no values of options. Where the tables do not know an option, what follows
// it counts.
func (t commandTables) operands(c facts.Command, subcommand []string) (words []string) {
	rest := c.Argv[min(1, len(c.Argv)):]
	for _, sub := range subcommand {
		rest = rest[slices.Index(rest, sub)+1:]
	}
	name, _, _ := t.program(c.Program)
	own, sub := t.grammars[name], t.grammars[strings.Join(append([]string{name}, subcommand...), " ")]
	for i := 0; i < len(rest); i++ {
		word := rest[i]
		switch {
		case word == "--":
			return append(words, rest[i+1:]...)
		case len(word) < 2 || word[0] != '-':
			words = append(words, word)
		case strings.Contains(word, "="):
		case word == "-f" && (i+1 == len(rest) || !strings.ContainsAny(rest[i+1], "./")): // --force
		case own[word].valued, sub[word].valued, slices.Contains(valuedAnywhere, word):
			i++
		}
	}
	return words
}
