package config

import "time"

// A Store says where the queue and the audit log are kept: in the state folder,
// where nothing else is set.
type Store struct {
	Postgres Postgres `yaml:"postgres"`
}

// Postgres keeps the store in a PostgreSQL database. Of several sidecars with the
// same one, one works and the others stand by.
type Postgres struct {
	// URL is a connection string of libpq; URLFile holds one, and is of mode 0600.
	URL     string `yaml:"url"`
	URLFile string `yaml:"url_file"`
	// PasswordFile, of mode 0600, or PasswordCommand, which prints it, is asked
	// before each new connection.
	PasswordFile    string   `yaml:"password_file"`
	PasswordCommand []string `yaml:"password_command"`
	// Member names this sidecar to the others; the host's name where it is not set.
	Member string `yaml:"member"`
	// TakeOver is how long after the last sign of life of the sidecar that works
	// another takes its place; 12s where it is not set.
	TakeOver Duration `yaml:"take_over"`
}

// On reports whether it is configured.
func (p Postgres) On() bool { return p.URL != "" || p.URLFile != "" }

// store checks that one place is named.
func (f *faults) store(s Store) {
	const key = "store.postgres"
	p := s.Postgres
	switch {
	case p.URL != "" && p.URLFile != "":
		f.add("%s: url and url_file: leave one out", key)
	case !p.On() && (p.PasswordFile != "" || len(p.PasswordCommand) > 0 || p.Member != ""):
		f.add("%s: no database is named: set url or url_file", key)
	case p.TakeOver != 0 && time.Duration(p.TakeOver) < time.Second:
		f.add("%s.take_over: %s: want 1s at least", key, p.TakeOver)
	case p.PasswordFile != "" && len(p.PasswordCommand) > 0:
		f.add("%s: password_file and password_command: leave one out", key)
	}
}
