package runs

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdgate/holdgate/cmd/holdgate/handover"
	"github.com/holdgate/holdgate/cmd/holdgate/takeover"
)

// keep notes what a run is served by.
func (r *Runs) keep(id string, doors handover.Opened) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaving != nil {
		return errReplaced
	}
	r.doors[id] = doors
	return nil
}

// errReplaced is what a run is told that comes when this process makes way.
var errReplaced = errors.New("another process is just taking this one's place: start the agent again in a moment")

// Leave is for when another process is to take this one's place: it goes on with the runs.
func (r *Runs) Leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaving = map[string]*takeover.Run{}
	for id, doors := range r.doors {
		d, files, err := doors.Files()
		if err != nil {
			r.c.Logger.Error("an agent ends with this process, for its listeners cannot be passed on", "agent", id, "err", err)
			continue
		}
		r.leaving[id] = &takeover.Run{Doors: d.Files, Files: files}
	}
}

// leaves reports whether another process goes on with a run.
func (r *Runs) leaves(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leaving[id] != nil
}

// pass puts a run aside, which is not served here any longer, where it stays and another
// process goes on with it.
func (r *Runs) pass(k *takeover.Run, stays bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.leaving[k.Agent]
	if l == nil {
		return false
	}
	if !stays { // it has ended meanwhile
		for _, f := range l.Files {
			_ = f.Close()
		}
		return false
	}
	k.Doors, k.Files, k.Lapsed, k.Accounts = l.Doors, l.Files, r.over[k.Agent], r.proxy.Accounts(k.Agent)
	r.passed = append(r.passed, *k)
	return true
}

// Left are the runs that another process goes on with, once this one has stopped.
func (r *Runs) Left() []takeover.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.passed
}

// EnterKept takes up runs that another sidecar has left to this one. It returns an error
// where the configuration does not let them run.
func (r *Runs) EnterKept(list []takeover.Run) error {
	r.mu.Lock()
	for _, k := range list {
		r.begin(k.Agent, k.Writable)
		if k.Lapsed {
			r.over[k.Agent] = true
		}
	}
	r.mu.Unlock()
	return r.Fits(r.c.InForce())
}

// ServeKept serves the runs that were taken up.
func (r *Runs) ServeKept(list []takeover.Run) {
	for _, k := range list {
		r.work.Go(func() { r.during(&k, r.goOn) })
	}
}

// goOn serves a run that another sidecar has served.
func (r *Runs) goOn(k *takeover.Run) (passed bool, err error) {
	_ = k.Conn.SetReadDeadline(time.Time{})
	doors, err := handover.Open(handover.Doors{Files: k.Doors}, k.Files)
	if err == nil {
		err = r.keep(k.Agent, doors)
	}
	if err != nil {
		doors.Close()
		return false, fmt.Errorf("taking its listeners: %w", err)
	}
	r.proxy.RunGoesOn(k.Agent, k.Accounts)
	return r.serve(k, doors, func() error { return nil })
}
