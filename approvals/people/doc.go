// Package people says who may approve what. A person answers under one name,
// whatever the channel. A rule names the people who may approve a request by
// role or by name. Others may join them as time passes (escalation). Each of them
// may let another person vote in their place (delegation). Where a rule asks for
// four eyes, the person whom the agent works for does not count. If a demand
// cannot be checked, or no one qualifies, the request cannot be approved.
//
// [People] are a value that never changes, so that they are replaced as a whole.
package people
