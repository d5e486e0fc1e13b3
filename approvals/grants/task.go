package grants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// NoTask is why an approval cannot be remembered for a task.
const NoTask = "it is not known on which task the agent works; only a call in the answer to a request that shows the whole conversation with the agent's user says so"

// Task names the task that an agent works on: all that its user has said in the
// conversation so far. It changes with the user's next message, and as well where a
// client leaves out earlier ones. It is empty where nothing is known of what was said, and
// in the session of those that name none: other conversations are in it, too, and may
// begin with the same words.
//
// What was said is the word of the agent's program, as its session is.
func (k *Keeper) Task(session string, turns []string) holdgate.Digest {
	tasks := k.tasks(session, turns)
	if len(tasks) == 0 {
		return ""
	}
	return tasks[len(tasks)-1]
}

// tasks names all tasks of a conversation, in their order.
func (k *Keeper) tasks(session string, turns []string) (tasks []holdgate.Digest) {
	last := holdgate.Digest("")
	if session == holdgate.SessionDefault {
		return nil
	}
	for _, said := range turns {
		last = k.b.Digester.Fields("grant.task", session, string(last), said)
		tasks = append(tasks, last)
	}
	return tasks
}

// ofTask is behind the session of a grant for a task where it is stored: a Holdgate that
// knows no tasks takes it for none of the session.
const ofTask = "\x00task"

// session is the one that the grant was made in.
func (g *storedGrant) session() string { return strings.TrimSuffix(g.Session, ofTask) }

// during reports whether the call is of the task that the grant is for.
func (g *storedGrant) during(p *plea) bool {
	return g.Scope != record.ScopeTask || g.Task != "" && p.task != nil && g.Task == p.task()
}

// GoesOn ends the grants for earlier tasks of a conversation that goes on. turns is asked
// for what was said in it where there is such a grant in the session.
func (k *Keeper) GoesOn(ctx context.Context, agent, session string, turns func() []string) error {
	var earlier []holdgate.Digest
	asked := false
	return k.endTasks(ctx, grantsOf(agent), func(g *storedGrant) bool {
		if g.session() != session {
			return false
		}
		if !asked {
			asked = true
			if all := k.tasks(session, turns()); len(all) > 1 {
				earlier = all[:len(all)-1]
			}
		}
		return slices.Contains(earlier, g.Task)
	})
}

// EndTasks ends all grants for tasks of an agent whose run has ended.
func (k *Keeper) EndTasks(ctx context.Context, agent string) error {
	return k.endTasks(ctx, grantsOf(agent), func(*storedGrant) bool { return true })
}

// EndTasksOfRuns ends all grants for tasks of runs, but of the agents that goOn names.
func (k *Keeper) EndTasksOfRuns(ctx context.Context, goOn []string) error {
	return k.endTasks(ctx, prefixGrantOf, func(g *storedGrant) bool {
		return g.Confinement != "" && !slices.Contains(goOn, g.Agent)
	})
}

// endTasks ends those grants for tasks of an index of which over says that they are.
func (k *Keeper) endTasks(ctx context.Context, index string, over func(*storedGrant) bool) error {
	var ids []string
	err := k.b.Store.View(ctx, func(tx store.Tx) error {
		now := record.Now()
		return eachGrant(tx, index, func(g *storedGrant) {
			if g.Scope == record.ScopeTask && !g.ended(now) && over(g) {
				ids = append(ids, g.ID)
			}
		})
	})
	for _, id := range ids {
		err = errors.Join(err, k.endTask(ctx, id))
	}
	if err != nil {
		return fmt.Errorf("ending grants for tasks that are over: %w", err)
	}
	return nil
}

func (k *Keeper) endTask(ctx context.Context, id string) error {
	return k.b.Change(ctx, func(c *record.Change) error {
		g, err := k.find(c, id)
		if errors.Is(err, ErrNoGrant) || err == nil && g.ended(c.Now) {
			return nil
		}
		if err != nil {
			return err
		}
		g.Over = true
		if _, err := c.Append(g.entry(audit.TypeGrant, fmt.Sprintf("its task is over; uses: %d", g.Uses))); err != nil {
			return err
		}
		return k.write(c, g)
	})
}
