// Package agents keeps which agents are paused or stopped, and what was seen of them.
//
// People with the role to operate pause, resume and stop an agent, or everybody
// ([Keeper.Intervene]). While an agent is paused its requests are asked and
// answered, and no approval of it is used. A stop cancels what is pending, and
// nothing new is asked until the agent is resumed. An agent goes on where
// neither it nor everybody is paused or stopped. Both are durable, and are looked
// at in the very transactions that ask and use; whoever releases calls that were
// never asked about looks at [Keeper.Status] first.
//
// # What is stored
//
//	agent/ID             who is paused or stopped; without an id, everybody
package agents
