package suspect_test

import (
	"slices"
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/suspect"
)

func TestWhatAProgramHolds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ language, code, want string }{
		{"python", "import numpy as np\nprint(np.percentile(x, 90))", ""},
		{"python", "# remove what was sent before\nx = 1  # delete nothing\nprint('they were removed and sent')", ""},
		{"python", "x = 'a # b'; lib.remove(y)", suspect.Sink},
		{"python", "getattr(lib, 're' + 'move')(x)", suspect.Computed},
		{"python", "lib.__dict__['x']()", suspect.Computed},
		{"python", "print(os.environ['AWS_SECRET_ACCESS_KEY'])", suspect.Credential},
		{"python", "print(os.environ)", suspect.Credential},
		{"python", "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')", ""},
		{"python", "db.run('DROP TABLE orders')", suspect.Sink},
		{"python", "import django\nOrder.objects.create(id=1)", suspect.Sink},
		{"python", "import django\nprint(Order.objects.filter(id=1).count())", ""},
		{"node", "fs.promises['unlink'](p)", suspect.Sink},
		{"node", "(()=>{})['constructor']('x')()", suspect.Computed},
		{"node", "import('https://x.example/a.js')", suspect.Remote},
		{"ruby", "puts `id`", suspect.Sink},
		{"ruby", "open('|id')", suspect.Sink},
		{"ruby", "File.open('a.csv').each_line { |l| puts l }", ""},
		{"ruby", "x = \"#{system('id')}\"", suspect.Sink},
		{"go", "import \"os/exec\"", suspect.Sink},
		{"go", "func main() { fmt.Println(time.Now()) }", ""},
		{"go", "os.RemoveAll(home)", suspect.Sink},
		{"c", "#include <stdlib.h>\nint main(void) { return system(\"id\"); }", suspect.Sink},
		{"java", "System.out.println(Math.round(2.5));", ""},
		{"java", "new ProcessBuilder(a).start();", suspect.Sink},
		{"elixir", "System.cmd(\"id\", [])", suspect.Sink},
		{"r", "m <- lm(a ~ b, data = d); print(summary(m))", ""},
		{"r", "install.packages('x')", suspect.Remote},
		{"c", "setuid(0);", suspect.Privilege},
		{"perl", "print 1", suspect.Unread},
		{"python", "print(f\"{lib.remove(1)}\")", suspect.Sink},
	} {
		got := suspect.Of(tt.language, tt.code, suspect.Options{})
		if tt.want == "" && len(got) > 0 || tt.want != "" && !slices.Contains(got, tt.want) {
			t.Errorf("%s: %s\n got %v, want %q", tt.language, tt.code, got, tt.want)
		}
	}
}

// What a reader followed is not held against a program; what it did not understand is.
func TestWhatAReaderSaidOfAProgram(t *testing.T) {
	t.Parallel()
	code := "import subprocess\nsubprocess.run(['git', 'status'])\nlib.tidy()"
	if got := suspect.Of("python", code, suspect.Options{Followed: true}); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	for said, want := range map[string]string{
		"subprocess.run, handed on":                  suspect.Sink,
		"the module paramiko":                        suspect.Sink,
		"shutil.chown":                               suspect.Sink,
		"the module smtpd":                           suspect.Sink,
		"a computed property of fs":                  suspect.Computed,
		"all variables of the environment":           suspect.Credential,
		"the environment's STRIPE_KEY":               suspect.Credential,
		"requests.get: an address that is not known": suspect.Sink,
	} {
		if got := suspect.Of("python", "lib.tidy()", suspect.Options{Followed: true, Unseen: []string{said}}); !slices.Contains(got, want) {
			t.Errorf("%s: got %v, want %s", said, got, want)
		}
	}
	if got := suspect.Of("python", "lib.tidy()", suspect.Options{Followed: true, Unseen: []string{"the module sqlalchemy", ".scan of what is not known"}}); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}
