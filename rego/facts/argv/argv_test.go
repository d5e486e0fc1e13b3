package argv

import (
	"strings"
	"testing"
)

// words reads a line of words between blanks: a word that begins with "$" is known at run
// time only, and holds text of the given origin.
func words(line string, o Origin) (out []Field) {
	for text := range strings.FieldsSeq(line) {
		f := Field{Text: strings.ReplaceAll(text, "_", " ")}
		if strings.HasPrefix(text, "$") {
			f = Field{Text: text, Dynamic: []string{text}, Origin: o}
		}
		out = append(out, f)
	}
	return out
}

func TestOptions(t *testing.T) {
	o := ParseOptions(words("-nf x.txt --color=auto --inc *.go a -- -b", OriginAny), "f", "include inc")
	if got := Join(o.Operands, " "); got != "a -b" {
		t.Errorf("operands: %s", got)
	}
	if !o.Has("n", "") || !o.Has("f", "") || o.Has("b", "") || !o.Has("", "color") {
		t.Error("options that are given count, and words behind -- are none")
	}
	if got := Join(append(o.Values("f", "color"), o.CutShort("include")...), " "); got != "x.txt auto *.go" {
		t.Errorf("values: %s", got)
	}
}

func TestWhatACommandPrints(t *testing.T) {
	p := Printing{
		Overridden: func(name string) bool { return name == "mine" },
		File: func(f Field) Origin {
			if f.Text == "own.txt" {
				return OriginText
			}
			return OriginAny
		},
		Written: func(Field) Origin { return OriginAny },
	}
	for _, tt := range []struct {
		line     string
		in, want Origin
	}{
		{"wc -l", OriginAny, OriginAtom},
		{"date +%F", OriginAny, OriginAtom},
		{"date +-%F", OriginAny, OriginAny},
		{"date +..", OriginAny, OriginAny},
		{"date +80@evil.example", OriginAny, OriginAny},
		{"date +%Y-%m-%dT%H:%M:%SZ", OriginAny, OriginAtom},
		{"date +%s%3N", OriginAny, OriginAtom},
		{"date -f names.txt", OriginAny, OriginAny},
		{"seq 1 3", OriginAny, OriginAtom},
		{"seq -f ../etc/cron.d/%g 1", OriginAny, OriginAny},
		{"seq -s /../ 1 2", OriginAny, OriginAny},
		{"wc -c --files0-from=-", OriginNames, OriginAny},
		{"pgrep -f vite", OriginAny, OriginAtom},
		{"pgrep -fa vite", OriginAny, OriginAny},
		{"pgrep -d /../ vite", OriginAny, OriginAny},
		{"docker ps -q", OriginAny, OriginAtom},
		{"docker ps -q --format ../x", OriginAny, OriginAny},
		{"lsof -t -F n .", OriginAny, OriginAny},
		{"uname -m", OriginAny, OriginAtom},
		{"uname -a", OriginAny, OriginNames},
		{"git rev-parse --git-path hooks", OriginAny, OriginAny},
		{"git rev-parse HEAD -- ../x", OriginAny, OriginAny},
		{"git rev-parse --short HEAD", OriginAny, OriginAtom},
		{"git rev-list --format=../x HEAD", OriginAny, OriginAny},
		{"git ls-tree --format=../x HEAD", OriginAny, OriginAny},
		{"awk /x/{print_NR;exit} a", OriginAny, OriginAtom},
		{"awk -v n=$x NR>n&&/x/{print_NR} a", OriginAtom, OriginAtom},
		{"awk 1;{print_NR} a", OriginAny, OriginAny},
		{"awk -v ORS=/../ END{print_NR} a", OriginAny, OriginAny},
		{"awk END{print_NR} ORS=/../ a", OriginAny, OriginAny},
		{"awk END{print_NR} a", OriginAny, OriginAtom},
		{"shuf -n1", OriginNames, OriginNames},
		{"shuf -n1 -e ../x", OriginNames, OriginAny},
		{"git rev-parse HEAD", OriginAny, OriginAtom},
		{"git branch --show-current", OriginAny, OriginValue},
		{"git diff --name-only", OriginAny, OriginNames},
		{"find . -name *.go", OriginAny, OriginNames},
		{"find . -exec cat {} ;", OriginAny, OriginAny},
		{"jq -r .version own.txt", OriginAny, OriginText},
		{"jq -r .version", OriginAny, OriginAny},
		{"jq -r .version other.txt", OriginText, OriginAny},
		{"sed s/a/b/ own.txt", OriginAny, OriginText},
		{"sed s/a/b/e own.txt", OriginAny, OriginAny},
		{"cat own.txt", OriginAny, OriginText},
		{"cat .env", OriginAny, OriginAny},
		{"head -1", OriginNames, OriginNames},
		{"xargs basename", OriginNames, OriginNames},
		{"echo $x", OriginAtom, OriginNames},
		{"mine", OriginAtom, OriginAny},
		{"curl https://example.com", OriginAny, OriginAny},
	} {
		if got := p.By(words(tt.line, tt.in), tt.in); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.line, got, tt.want)
		}
	}
}

func TestShapes(t *testing.T) {
	f := Field{Text: "/tmp/$x.log", Dynamic: []string{"$x"}, Origin: OriginAtom}
	if got := f.Shape(); got.Text != f.Text {
		t.Errorf("a word of which a part is known keeps its shape: %v", got)
	}
	if got := (Field{Text: "$x", Dynamic: []string{"$x"}}).Shape(); got.Text != "" {
		t.Errorf("a word of which nothing is known has none: %v", got)
	}
	if text, ok := Atoms(f); !ok || text != "/tmp/*.log" {
		t.Errorf("atoms: %s %v", text, ok)
	}
}
