package config_test

import (
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// pathKey is how keys are called that name files, folders and programs.
var pathKey = regexp.MustCompile(`(^|_)(files?|path|dir|folder|cert|keys?|socket|command|config)$`)

// noFiles are keys that are called so and name none.
var noFiles = []string{"formats.path", "policy.bundle.exclude_files", "mcp.x.dir"}

// set gives every text, list and map below v a value, and returns the keys that by their
// names are files.
func set(v reflect.Value, key string) (keys []string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, how, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name == "-" || !f.IsExported() {
				continue
			}
			at := strings.Trim(key+"."+name, ".")
			if how == "inline" {
				at = key
			}
			below := set(v.Field(i), at)
			text := f.Type.Kind() == reflect.String || f.Type == reflect.TypeFor[[]string]()
			if text && pathKey.MatchString(name) && !slices.Contains(noFiles, at) {
				keys = append(keys, at)
			}
			keys = append(keys, below...)
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[config.Settings]() || v.Type().Key().Kind() != reflect.String {
			return nil
		}
		v.Set(reflect.MakeMap(v.Type()))
		one := reflect.New(v.Type().Elem()).Elem()
		keys = set(one, key+".x")
		v.SetMapIndex(reflect.ValueOf("x").Convert(v.Type().Key()), one)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return set(v.Elem(), key)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return set(v.Index(0), key)
	case reflect.String:
		v.SetString("/x")
	}
	return keys
}

// Each key that names a file is among Files, where it is said who may see and write it.
func TestFilesAreAllThatTheConfigurationNames(t *testing.T) {
	t.Parallel()
	var c config.Config
	want := set(reflect.ValueOf(&c).Elem(), "")
	var got []string
	for _, f := range c.Files() {
		got = append(got, f.Key)
	}
	for _, key := range want {
		if !slices.Contains(got, key) {
			t.Errorf("%s is not among the files", key)
		}
	}
	for _, key := range got {
		if !slices.Contains(want, key) {
			t.Errorf("%s is among the files, and no key is called so", key)
		}
	}
	if len(want) < 20 {
		t.Errorf("only %d keys are files: %v", len(want), want)
	}
}

func TestFilesOfCommandsAndPlugins(t *testing.T) {
	t.Parallel()
	shell, err := filepath.Abs("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("x")
	if err != nil {
		t.Fatal(err)
	}
	c := config.Config{
		Store:   config.Store{Postgres: config.Postgres{PasswordCommand: []string{"./x"}}},
		MCP:     map[string]config.MCP{"m": {Command: []string{"bin/m"}, Dir: "/srv"}, "n": {Command: []string{"no-such-program"}}},
		Plugins: map[string]config.Plugin{"slack": {Command: []string{shell}, Config: config.Settings{"bot_token_file": "/s/bot", "listen": "x"}}},
	}
	got := map[string]config.File{}
	for _, f := range c.Files() {
		got[f.Key] = f
	}
	for key, want := range map[string]string{"store.postgres.password_command": here, "mcp.m.command": "/srv/bin/m", "mcp.n.command": "", "plugins.slack.command": shell, "plugins.slack.config.bot_token_file": "/s/bot"} {
		if f := got[key]; f.Path != want || !f.Decides || f.Secret != f.Setting {
			t.Errorf("%s: %+v, want %s", key, f, want)
		}
	}
	if _, ok := got["plugins.slack.config.listen"]; ok {
		t.Error("a plugin's address is a file")
	}
}
