package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

func bob() config.Person {
	return config.Person{Roles: []config.Role{"approve", "security"}, TokenSHA256: config.TokenHash(bytes.Repeat([]byte{0xb0}, 32))}
}

func TestAPersonIsAddedAndNothingElseChanges(t *testing.T) {
	entry := bob().Entry("bob", "  ")
	for name, tt := range map[string]struct{ before, after string }{
		"no people":               {"approver: ada\n", "approver: ada\n\npeople:\n" + entry},
		"an empty file":           {"", "\npeople:\n" + entry},
		"no line feed at its end": {"approver: ada", "approver: ada\n\npeople:\n" + entry},
		"people without anybody":  {"people: # none yet\nlimits: {redeem: 1h}\n", "people: # none yet\n" + entry + "limits: {redeem: 1h}\n"},
		"people with somebody": {
			"# top\napprover: ada\npeople:\n    # first\n    ada: {roles: [approve]}   # x\n\nlimits: {redeem: 1h}\n",
			"# top\napprover: ada\npeople:\n" + bob().Entry("bob", "    ") + "    # first\n    ada: {roles: [approve]}   # x\n\nlimits: {redeem: 1h}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "holdgate.yaml")
			if err := os.WriteFile(file, []byte(tt.before), 0o640); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(t.TempDir(), "link.yaml")
			if err := os.Symlink(file, link); err != nil {
				t.Fatal(err)
			}
			was, err := config.AddPerson(link, "bob", bob())
			if err != nil || was != 0o640 {
				t.Fatalf("its mode was %v, %v", was, err)
			}
			got, err := os.ReadFile(file)
			if err != nil || string(got) != tt.after {
				t.Errorf("the file is\n%s\nwant\n%s(%v)", got, tt.after, err)
			}
			if info, err := os.Lstat(file); err != nil || info.Mode() != 0o640 {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}
			if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
				t.Errorf("beside it are %v, %v", entries, err)
			}
			c, err := config.Load(config.Flags{Config: file}, environment())
			if err != nil || c.People["bob"].TokenSHA256 != bob().TokenSHA256 {
				t.Errorf("it loads as %v, %v", c.People, err)
			}
		})
	}
}

func TestAFileThatIsNotEditedStaysAsItIs(t *testing.T) {
	for name, text := range map[string]string{
		"people in one line":       "people: {ada: {roles: [approve]}}\n",
		"bob is there":             "people:\n  bob: {roles: [admin]}\n",
		"people by an alias":       "people: *p\n",
		"people from a merge":      "a: &p {people: {ada: {roles: [approve]}}}\n<<: *p\n",
		"a key that is not known":  "polcy: {}\n",
		"two documents":            "approver: a\n---\napprover: b\n",
		"a text that goes on":      "approver: |\n  ada\npeople: |\n  x\n",
		"the end of the document":  "approver: ada\n...\n",
		"people in another object": "{approver: ada}\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "holdgate.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := config.AddPerson(file, "bob", bob())
			if err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("got %v, want an error that names the file", err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != text {
				t.Errorf("the file is\n%s\n(%v)", got, err)
			}
		})
	}
}
