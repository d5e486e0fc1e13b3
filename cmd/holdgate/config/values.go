package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a length of time, written as "90s", "1h30m" or "2d".
type Duration time.Duration

// ParseDuration reads a Duration. Days have 24 hours.
func ParseDuration(s string) (Duration, error) {
	if n, ok := strings.CutSuffix(s, "d"); ok {
		if days, err := strconv.ParseUint(n, 10, 16); err == nil {
			return Duration(time.Duration(days) * 24 * time.Hour), nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: write it as 90s, 10m, 1h30m or 2d", s)
	}
	return Duration(d), nil
}

func (d Duration) String() string { return time.Duration(d).String() }

// UnmarshalYAML implements [yaml.Unmarshaler].
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	return scalar(n, d, ParseDuration)
}

// Size is a number of bytes, written as "512KiB", "32MiB" or "1048576".
type Size int64

// ParseSize reads a Size. Units are powers of 1024: B, KiB, MiB, GiB.
func ParseSize(s string) (Size, error) {
	num, unit := s, int64(1)
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}} {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			num, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(num, 10, 63)
	if err != nil || n > uint64(math.MaxInt64/unit) {
		return 0, fmt.Errorf("%q is not a size: write it as 512KiB, 32MiB or a number of bytes", s)
	}
	return Size(int64(n) * unit), nil
}

// String writes the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range []struct {
		suffix string
		bytes  Size
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if s != 0 && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (s *Size) UnmarshalYAML(n *yaml.Node) error {
	return scalar(n, s, ParseSize)
}

// scalar reads a node with a parser of text, and names the line in its error.
func scalar[T any](n *yaml.Node, into *T, parse func(string) (T, error)) error {
	if n.Kind != yaml.ScalarNode {
		return fault(n, "want one value, this is "+kindOf(n))
	}
	v, err := parse(n.Value)
	if err != nil {
		return fault(n, err.Error())
	}
	*into = v
	return nil
}

// fault is an error that the decoder collects, and goes on.
func fault(n *yaml.Node, text string) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %s", n.Line, text)}}
}

// Settings are a plugin's own keys. They may hold secrets: however they are
// printed, only the keys show.
type Settings map[string]any

// secret stands for a value that is not shown.
const secret = "<secret>"

// hidden is the settings with every value replaced.
func (s Settings) hidden() map[string]string {
	h := make(map[string]string, len(s))
	for k := range s {
		h[k] = secret
	}
	return h
}

func (s Settings) String() string   { return fmt.Sprint(s.hidden()) }
func (s Settings) GoString() string { return s.String() }

// LogValue implements [slog.LogValuer].
func (s Settings) LogValue() slog.Value { return slog.AnyValue(s.hidden()) }

// MarshalYAML implements [yaml.Marshaler].
func (s Settings) MarshalYAML() (any, error) { return s.hidden(), nil }

// MarshalJSON implements [json.Marshaler].
func (s Settings) MarshalJSON() ([]byte, error) { return json.Marshal(s.hidden()) }

// Reveal returns the values, for the plugin itself: those of settings inside
// settings too, which YAML reads as Settings of their own.
func (s Settings) Reveal() map[string]any {
	all := make(map[string]any, len(s))
	for k, v := range s {
		all[k] = revealed(v)
	}
	return all
}

func revealed(v any) any {
	switch v := v.(type) {
	case Settings:
		return v.Reveal()
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = revealed(one)
		}
		return list
	}
	return v
}
