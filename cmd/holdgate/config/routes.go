package config

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Route says who is told of which requests, where, and who next if nobody
// looks at them. The first that fits a request counts.
type Route struct {
	Match Match `yaml:"match"`
	Step  `yaml:",inline"`
	Then  []Next `yaml:"then"`
}

// Step is who is told, where.
type Step struct {
	Tell   []string `yaml:"tell"`   // channels
	People []string `yaml:"people"` // besides those whom policy asks
	Roles  []string `yaml:"roles"`
}

// Next is who is told when nobody has looked at a request for a time.
type Next struct {
	After Duration `yaml:"after"`
	Step  `yaml:",inline"`
}

// Match says which requests a route is for: those that fit each list that is
// not empty. In rules, gates, tools and agents * stands for anything.
type Match struct {
	Risk   []string `yaml:"risk"`
	Rules  []string `yaml:"rules"`
	Gates  []string `yaml:"gates"`
	Tools  []string `yaml:"tools"`
	Agents []string `yaml:"agents"`
	Roles  []string `yaml:"roles"` // that policy asks for
	Hours  *Hours   `yaml:"hours"`
}

// Hours are a time of day: "22:00" to "07:00" ends on the next day.
type Hours struct {
	From Clock  `yaml:"from"`
	To   Clock  `yaml:"to"`
	Zone string `yaml:"zone"` // such as Europe/Vienna; empty: that of this machine
	Days []Day  `yaml:"days"` // on which they begin, such as mon; none: all
}

// Quiet are hours in which a channel tells of nothing new.
type Quiet struct {
	Hours `yaml:",inline"`
	// Pass are the risks that are told all the same: critical where it is not set.
	Pass *[]string `yaml:"pass"`
}

// Location is the zone of the hours; nil is that of this machine.
func (h Hours) Location() (*time.Location, error) {
	if h.Zone == "" {
		return nil, nil
	}
	return time.LoadLocation(h.Zone)
}

// Clock is a time of day, as time since midnight.
type Clock time.Duration

// UnmarshalYAML implements [yaml.Unmarshaler].
func (c *Clock) UnmarshalYAML(n *yaml.Node) error { return scalar(n, c, parseClock) }

func parseClock(s string) (Clock, error) {
	at, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time of day: want one such as \"22:00\"", s)
	}
	return Clock(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute), nil
}

// Day is a day of the week.
type Day time.Weekday

// UnmarshalYAML implements [yaml.Unmarshaler].
func (d *Day) UnmarshalYAML(n *yaml.Node) error { return scalar(n, d, parseDay) }

func parseDay(s string) (Day, error) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if s != "" && len(s) >= 3 && strings.HasPrefix(strings.ToLower(day.String()), strings.ToLower(s)) {
			return Day(day), nil
		}
	}
	return 0, fmt.Errorf("%q is not a day of the week: want one such as mon", s)
}

// routes checks who is told of what.
func (f *faults) routes(c Config) {
	for i, r := range c.Routes {
		key := fmt.Sprintf("routes[%d]", i)
		f.step(key, r.Step, c)
		for j, n := range r.Then {
			key := fmt.Sprintf("%s.then[%d]", key, j)
			f.step(key, n.Step, c)
			if n.After <= 0 {
				f.add("%s.after: must be more than 0: when is it told?", key)
			}
		}
		f.risks(key+".match.risk", r.Match.Risk)
		f.hours(key+".match.hours", r.Match.Hours)
	}
	for name, p := range c.Plugins {
		key := "plugins." + name
		if p.PerMinute < 0 {
			f.add("%s.per_minute: must be 0 or more", key)
		}
		if p.Quiet != nil {
			f.hours(key+".quiet", &p.Quiet.Hours)
			if p.Quiet.Pass != nil {
				f.risks(key+".quiet.pass", *p.Quiet.Pass)
			}
		}
	}
}

func (f *faults) step(key string, s Step, c Config) {
	if len(s.Tell) == 0 {
		f.add("%s.tell: must name a channel", key)
	}
	for _, name := range s.Tell {
		if _, ok := c.Plugins[name]; !ok {
			f.add("%s.tell: there is no channel %q under plugins", key, name)
		}
	}
	for _, name := range s.People {
		if _, ok := c.People[PersonName(name)]; !ok && name != c.Approver {
			f.add("%s.people: there is no person %q", key, name)
		}
	}
}

func (f *faults) risks(key string, list []string) {
	for _, r := range list {
		f.oneOf("routes[].match.risk", key, r)
	}
}

func (f *faults) hours(key string, h *Hours) {
	if h == nil {
		return
	}
	if _, err := h.Location(); err != nil {
		f.add("%s.zone: %q is no time zone that is known here", key, h.Zone)
	}
}
