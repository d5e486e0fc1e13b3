package approvals

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// A circle is who may approve one request: what policy demands, seen with the
// people that there are. A demand that cannot be checked is not met.
type circle struct {
	people      *People
	approvers   holdgate.Approvers
	owner       string // whom the agent works for, as it is labelled
	widened     int    // how many escalations have come
	delegations []storedDelegation
}

func (r *storedRequest) circle(p *People) circle {
	return circle{people: p, approvers: r.Approvers, owner: r.Owner, widened: r.Escalated, delegations: r.Delegations}
}

// Approvers are those of the people who may approve a pending request as it
// is. There are none where nobody is configured.
func (p *People) Approvers(r Request) (able []Person) {
	if p.alone {
		return nil
	}
	c := circle{people: p, approvers: r.Approvers, owner: r.Owner, widened: r.Escalated}
	for _, d := range r.Delegations {
		c.delegations = append(c.delegations, storedDelegation(d))
	}
	for _, n := range p.persons {
		if c.refuses(n) == nil {
			able = append(able, n)
		}
	}
	return able
}

// refuses says why the person may not approve, or nil.
func (c circle) refuses(n Person) error {
	for _, d := range c.delegations {
		if c.people.same(d.By, n.Name) {
			return fmt.Errorf("%w: you have left it to %s", ErrNotEntitled, d.To)
		}
	}
	own := c.refusesOwn(n)
	if own == nil {
		return nil
	}
	for _, d := range c.delegations {
		by, known := c.people.Find(d.By)
		if d.To == n.Name && known && c.refusesOwn(by) == nil && c.refusesAnyway(n) == nil {
			return nil
		}
	}
	return own
}

// refusesOwn is refuses without what others have delegated.
func (c circle) refusesOwn(n Person) error {
	if err := c.refusesAnyway(n); err != nil {
		return err
	}
	roles, users := c.members()
	if len(roles) == 0 && len(users) == 0 {
		return nil
	}
	if slices.ContainsFunc(roles, n.Has) || c.names(users, n) {
		return nil
	}
	return fmt.Errorf("%w: it is for %s", ErrNotEntitled, describeCircle(roles, users))
}

// refusesAnyway says what neither a role nor a delegation makes good.
func (c circle) refusesAnyway(n Person) error {
	if !n.Has(RoleApprove) {
		return fmt.Errorf("%w: approving takes the role %s, which %s does not have", ErrNotEntitled, RoleApprove, n.Name)
	}
	if !c.approvers.FourEyes {
		return nil
	}
	owner, err := c.worksFor()
	if err == nil && c.people.same(owner.Name, n.Name) {
		err = fmt.Errorf("%w: the agent works for %s, and somebody else must approve", ErrNotEntitled, n.Name)
	}
	return err
}

// worksFor is the person whom the agent works for.
func (c circle) worksFor() (Person, error) {
	name := c.owner
	if name == "" {
		name = c.people.owner
	}
	n, known := c.people.Find(name)
	if !known {
		return n, fmt.Errorf("%w: somebody else than the agent's owner must approve, and nobody knows who %q is", ErrNotEntitled, name)
	}
	return n, nil
}

// members are the roles and the users that may approve by now; none means
// everybody.
func (c circle) members() (roles, users []string) {
	roles, users = c.approvers.Roles, c.approvers.Users
	if len(roles) == 0 && len(users) == 0 {
		return nil, nil
	}
	for _, e := range c.approvers.Escalate[:min(c.widened, len(c.approvers.Escalate))] {
		roles = append(slices.Clip(roles), e.Roles...)
		users = append(slices.Clip(users), e.Users...)
	}
	return roles, users
}

// names reports whether one of the names is the person's; a rule may use an
// account.
func (c circle) names(users []string, n Person) bool {
	return slices.ContainsFunc(users, func(u string) bool {
		return u == n.Name || !c.people.alone && slices.Contains(n.Accounts, u)
	})
}

// check says why nobody can approve, or too few can, or nil.
func (c circle) check() error {
	if assurance(c.approvers.Assurance) > assurance("strong") {
		return fmt.Errorf("no channel is known to have the assurance %q", c.approvers.Assurance)
	}
	var able []string
	for _, n := range c.candidates() {
		if c.refuses(n) == nil {
			able = append(able, n.Name)
		}
	}
	quorum := max(c.approvers.Quorum, 1)
	if len(able) >= quorum {
		return nil
	}
	who := fmt.Sprintf("%d people", quorum)
	if quorum == 1 {
		who = "one person"
	}
	if roles, users := c.members(); len(roles) > 0 || len(users) > 0 {
		who += " of " + describeCircle(roles, users)
	}
	if c.approvers.FourEyes {
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
func (c circle) candidates() []Person {
	if !c.people.alone {
		return c.people.persons
	}
	n := c.people.persons[0]
	_, users := c.members()
	for _, u := range users {
		if strings.Contains(u, ":") && c.refuses(n) != nil {
			n.Name = u
		}
	}
	return []Person{n}
}

func describeCircle(roles, users []string) string {
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
