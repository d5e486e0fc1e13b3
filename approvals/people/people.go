package people

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// Roles that mean something to Holdgate. Any other is a name that rules may
// ask for.
const (
	// RoleApprove may answer requests in every way.
	RoleApprove = "approve"
	// RoleOperate may stop, pause, resume and redirect agents, and say no: it
	// denies and steers, and approves nothing.
	RoleOperate = "operate"
	// RoleAdmin may change the policy, and all that operate may.
	RoleAdmin = "admin"
)

// Who ends a request where no person does.
const (
	ByPolicy   = "policy"
	ByHoldgate = "holdgate"
)

// maxName is how long a name may be, in bytes.
const MaxName = 256

// ErrNotEntitled says that a person may not do what they ask for.
var ErrNotEntitled = errors.New("you may not do this")

// A Person may answer for what agents do.
type Person struct {
	Name  string
	Roles []string // RoleApprove, RoleOperate, RoleAdmin, and those that rules ask for
	// Accounts are the names under which channels know the person, each as
	// "channel:user".
	Accounts []string
	// Passkeys are the fingerprints of keys that count because the configuration names them.
	Passkeys []string
}

// Has reports whether the person has the role, by itself or through another.
func (p Person) Has(role string) bool {
	return slices.Contains(p.Roles, role) || role == RoleOperate && slices.Contains(p.Roles, RoleAdmin)
}

// People is who there is: a value that never changes, so that it is replaced
// as a whole. The zero value knows nobody.
type People struct {
	persons  []Person
	accounts map[string]string // channel:user -> name
	owner    string
	alone    bool // nobody is configured: whoever a channel lets in is the one person
}

// Alone is where nobody is configured: there is one person, the holder of the
// local token, with RoleApprove, RoleOperate and RoleAdmin. Whoever a channel
// lets in counts as that person, so that no quorum over one is ever reached.
func Alone(name string) *People {
	return &People{persons: []Person{{Name: name, Roles: []string{RoleApprove, RoleOperate, RoleAdmin}}}, owner: name, alone: true}
}

// New returns the people that are configured. The owner is the person
// that agents work for which are not labelled with another; it may be empty,
// or name nobody here. All faults are reported at once.
func New(owner string, persons []Person) (*People, error) {
	p := &People{accounts: make(map[string]string), owner: owner}
	var faults []error
	for _, n := range persons {
		if err := p.add(n); err != nil {
			faults = append(faults, err)
		}
	}
	if len(persons) == 0 {
		faults = append(faults, errors.New("there are no people"))
	}
	return p, errors.Join(faults...)
}

func (p *People) add(n Person) error {
	switch _, known := p.named(n.Name); {
	case known:
		return fmt.Errorf("person %q is there twice", n.Name)
	case !nameable(n.Name) || strings.ContainsAny(n.Name, ":,"):
		return fmt.Errorf("%q cannot be a person's name: at most %d bytes, no colon, comma, or characters that do not show", n.Name, MaxName)
	case n.Name == ByPolicy || n.Name == ByHoldgate:
		return fmt.Errorf("%q cannot be a person's name: Holdgate uses it", n.Name)
	case len(n.Roles) == 0:
		return fmt.Errorf("person %s has no role: want %s, %s, %s or one that rules ask for", n.Name, RoleApprove, RoleOperate, RoleAdmin)
	}
	for _, r := range n.Roles {
		if !nameable(r) {
			return fmt.Errorf("person %s: %q is no role", n.Name, r)
		}
	}
	for _, a := range n.Accounts {
		channel, user, ok := strings.Cut(a, ":")
		if !ok || channel == "" || user == "" || !nameable(a) {
			return fmt.Errorf("person %s: %q is no account: want channel:user", n.Name, a)
		}
		if other, taken := p.accounts[a]; taken {
			return fmt.Errorf("account %s is that of %s and of %s", a, other, n.Name)
		}
		p.accounts[a] = n.Name
	}
	p.persons = append(p.persons, Person{n.Name, slices.Clone(n.Roles), slices.Clone(n.Accounts), slices.Clone(n.Passkeys)})
	return nil
}

// Describe names everybody and their roles, for the log.
func (p *People) Describe() string {
	var all []string
	for _, n := range p.persons {
		all = append(all, n.Name+" ("+strings.Join(n.Roles, ", ")+")")
	}
	return strings.Join(all, ", ")
}

func nameable(s string) bool {
	return s != "" && len(s) <= MaxName && strings.TrimSpace(s) == s && s == holdgate.Visible(s)
}

// All returns everybody, in the order in which they were given.
func (p *People) All() []Person { return slices.Clone(p.persons) }

// Alone reports whether nobody is configured: see [Alone].
func (p *People) Alone() bool { return p.alone }

// Find returns the person of that name or account.
func (p *People) Find(who string) (Person, bool) {
	switch {
	case who == "" || who == ByPolicy || who == ByHoldgate:
		return Person{}, false
	case p.alone:
		n := p.persons[0]
		n.Name = who
		return n, true
	}
	if name, ok := p.accounts[who]; ok {
		who = name
	}
	return p.named(who)
}

func (p *People) named(name string) (Person, bool) {
	i := slices.IndexFunc(p.persons, func(n Person) bool { return n.Name == name })
	if i < 0 {
		return Person{}, false
	}
	return p.persons[i], true
}

// same reports whether two names are those of one person.
func (p *People) Same(a, b string) bool { return p.alone || a == b }

// Check says why nobody can approve under the demands, whatever happens, or
// nil where somebody can. owner is whom the agent works for, "" for the owner
// of agents without a label.
func (p *People) Check(a holdgate.Approvers, owner string) error {
	return Eligibility{People: p, Approvers: a, Owner: owner, Widened: len(a.Escalate)}.Check()
}

// acting finds who acts.
func (p *People) Acting(by string) (Person, error) {
	n, known := p.Find(by)
	switch {
	case known:
		return n, nil
	case by == "" || by == ByPolicy || by == ByHoldgate:
		return n, fmt.Errorf("%w: a vote needs a person's name", ErrNotEntitled)
	}
	return n, fmt.Errorf("%w: nobody knows who %q is; an admin adds people with holdgate people add", ErrNotEntitled, by)
}

// mayAnswer finds who acts, where that person may say at least no.
func (p *People) MayAnswer(by string) (Person, error) {
	n, err := p.Acting(by)
	if err == nil && !n.Has(RoleApprove) && !n.Has(RoleOperate) {
		err = fmt.Errorf("%w: it takes the role %s or %s, and %s has neither; ask somebody who has one", ErrNotEntitled, RoleApprove, RoleOperate, n.Name)
	}
	return n, err
}

// operator is the name of the person who acts, who must have the role to operate.
func (p *People) Operator(by string) (string, error) {
	n, err := p.Acting(by)
	if err != nil {
		return "", err
	}
	if !n.Has(RoleOperate) {
		return "", fmt.Errorf("%w: it takes the role %s, which %s does not have; ask somebody who has it", ErrNotEntitled, RoleOperate, n.Name)
	}
	return cmp.Or(n.Name, by), nil
}
