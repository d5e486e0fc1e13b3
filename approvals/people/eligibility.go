package people

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
)

// Eligibility is who may approve one request: what policy demands, seen with the
// people that there are. A demand that cannot be checked is not met.
type Eligibility struct {
	People      *People
	Approvers   holdgate.Approvers
	Owner       string // whom the agent works for, as it is labelled
	Widened     int    // how many escalations have come
	Delegations []Delegation
}

// A Delegation lets another person vote in the place of one who may.
type Delegation struct {
	By   string    `json:"by"`
	To   string    `json:"to"`
	Note string    `json:"note,omitempty"`
	At   time.Time `json:"at"`
}

// Able returns those who may approve. There are none where nobody is configured.
func (c Eligibility) Able() (able []Person) {
	if c.People.alone {
		return nil
	}
	for _, n := range c.People.persons {
		if c.Refuses(n) == nil {
			able = append(able, n)
		}
	}
	return able
}

// Entitles says why the person may not approve through a channel that is so sure
// of who speaks, or nil.
func (c Eligibility) Entitles(n Person, channel, sure string) error {
	if err := c.Refuses(n); err != nil {
		return err
	}
	a := c.Approvers.Demands()
	switch {
	case Assurance(a) <= Vouched(sure):
		return nil
	case a == "strong":
		return fmt.Errorf("%w: approving it takes a signature with your passkey, and an answer through %s has none; "+
			"answer on the page, which holdgate open shows", ErrNotEntitled, cmp.Or(channel, "this channel"))
	default:
		return fmt.Errorf("%w: approving it needs the assurance %s, and an answer through %s has less; "+
			"answer on the page, which holdgate open shows", ErrNotEntitled, a, cmp.Or(channel, "this channel"))
	}
}

// assurance ranks how sure a channel is of who speaks. What is not known ranks
// above everything.
func Assurance(name string) int {
	i := slices.Index([]string{"", "text", "interactive", "local", "strong"}, name)
	if i < 0 {
		return 5
	}
	return i
}

// vouched is the rank of a vote's assurance; what nobody vouches for is text.
func Vouched(name string) int {
	if i := Assurance(name); i > 0 && i <= Assurance("strong") {
		return i
	}
	return Assurance("text")
}

// refuses says why the person may not approve, or nil.
func (c Eligibility) Refuses(n Person) error {
	for _, d := range c.Delegations {
		if c.People.Same(d.By, n.Name) {
			return fmt.Errorf("%w: you have left it to %s, who answers in your place", ErrNotEntitled, d.To)
		}
	}
	own := c.RefusesOwn(n)
	if own == nil {
		return nil
	}
	for _, d := range c.Delegations {
		by, known := c.People.Find(d.By)
		if d.To == n.Name && known && c.RefusesOwn(by) == nil && c.RefusesAnyway(n) == nil {
			return nil
		}
	}
	return own
}

// refusesOwn is refuses without what others have delegated.
func (c Eligibility) RefusesOwn(n Person) error {
	if err := c.RefusesAnyway(n); err != nil {
		return err
	}
	roles, users := c.members()
	if len(roles) == 0 && len(users) == 0 {
		return nil
	}
	if slices.ContainsFunc(roles, n.Has) || c.names(users, n) {
		return nil
	}
	return fmt.Errorf("%w: it is for %s; ask one of them", ErrNotEntitled, DescribeApprovers(roles, users))
}

// refusesAnyway says what neither a role nor a delegation makes good.
func (c Eligibility) RefusesAnyway(n Person) error {
	if !n.Has(RoleApprove) {
		return fmt.Errorf("%w: approving takes the role %s, which %s does not have; ask somebody who has it", ErrNotEntitled, RoleApprove, n.Name)
	}
	if !c.Approvers.FourEyes {
		return nil
	}
	owner, err := c.worksFor()
	if err == nil && c.People.Same(owner.Name, n.Name) {
		err = fmt.Errorf("%w: the agent works for %s, and somebody else must approve", ErrNotEntitled, n.Name)
	}
	return err
}

// worksFor is the person whom the agent works for.
func (c Eligibility) worksFor() (Person, error) {
	name := c.Owner
	if name == "" {
		name = c.People.owner
	}
	n, known := c.People.Find(name)
	if !known {
		return n, fmt.Errorf("%w: somebody else than the agent's owner must approve, and nobody knows who %q is", ErrNotEntitled, name)
	}
	return n, nil
}

// members are the roles and the users that may approve by now; none means
// everybody.
func (c Eligibility) members() (roles, users []string) {
	roles, users = c.Approvers.Roles, c.Approvers.Users
	if len(roles) == 0 && len(users) == 0 {
		return nil, nil
	}
	for _, e := range c.Approvers.Escalate[:min(c.Widened, len(c.Approvers.Escalate))] {
		roles = append(slices.Clip(roles), e.Roles...)
		users = append(slices.Clip(users), e.Users...)
	}
	return roles, users
}

// names reports whether one of the names is the person's; a rule may use an
// account.
func (c Eligibility) names(users []string, n Person) bool {
	return slices.ContainsFunc(users, func(u string) bool {
		return u == n.Name || !c.People.alone && slices.Contains(n.Accounts, u)
	})
}

// check says why nobody can approve, or too few can, or nil.
func (c Eligibility) Check() error {
	if Assurance(c.Approvers.Demands()) > Assurance("strong") {
		return fmt.Errorf("no channel is known to have the assurance %q", c.Approvers.Assurance)
	}
	var able []string
	for _, n := range c.candidates() {
		if c.Refuses(n) == nil {
			able = append(able, n.Name)
		}
	}
	quorum := max(c.Approvers.Quorum, 1)
	if len(able) >= quorum {
		return nil
	}
	who := fmt.Sprintf("%d people", quorum)
	if quorum == 1 {
		who = "one person"
	}
	if roles, users := c.members(); len(roles) > 0 || len(users) > 0 {
		who += " of " + DescribeApprovers(roles, users)
	}
	if c.Approvers.FourEyes {
		owner, err := c.worksFor()
		if err != nil {
			return errors.New("it takes somebody else than the person whom the agent works for, and nobody knows who that is")
		}
		who += " other than " + owner.Name + ", for whom the agent works"
	}
	switch {
	case len(able) == 0:
		return fmt.Errorf("it takes %s, and there is nobody", who)
	case able[0] == "":
		return fmt.Errorf("it takes %s, and there is one", who)
	}
	return fmt.Errorf("it takes %s, and there is only %s", who, strings.Join(able, ", "))
}

// candidates are those who could be counted. Where nobody is configured the
// one person may also answer under a channel's name that a rule asks for.
func (c Eligibility) candidates() []Person {
	if !c.People.alone {
		return c.People.persons
	}
	n := c.People.persons[0]
	_, users := c.members()
	for _, u := range users {
		if strings.Contains(u, ":") && c.Refuses(n) != nil {
			n.Name = u
		}
	}
	return []Person{n}
}

func DescribeApprovers(roles, users []string) string {
	var parts []string
	if len(roles) > 0 {
		parts = append(parts, "the role "+strings.Join(roles, " or "))
	}
	if len(users) > 0 {
		parts = append(parts, strings.Join(users, ", "))
	}
	if len(parts) == 0 {
		return "all people"
	}
	return strings.Join(parts, " or ")
}
