package filter

import (
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// A filterRow is a program with what is found in them.
type filterRow struct{ code, want string }

var awkRows = []filterRow{
	{`{print $1}`, "prints"},
	{`$3 > max { max = $3 } END { print (max > 1) }`, "prints"},
	{`/system/ {print}`, "prints"},
	{`{ if ($1 ~ /a|b/) print "x|y > z" }`, "prints"},
	{`{print $1 | "sort -u"}`, "shell sort -u"},
	{`{print $1, $2 > "out.txt"}`, "writes out.txt"},
	{`{print > $1}`, "UNSEEN a file whose name is not known"},
	{`{print "x" > f}`, "UNSEEN a file whose name is not known"},
	{`{print "x" > "/etc/" f}`, "UNSEEN a file whose name is not known"},
	{`{print "x" > ("/etc/" f)}`, "UNSEEN a file whose name is not known"},
	{`{print "x" >> "a\x2fb"}`, "UNSEEN a file whose name is not known"},
	{`BEGIN{print "" | c}`, "UNSEEN a program that is not known"},
	{`BEGIN{print "" |& "/inet/tcp/0/h/1"}`, "UNSEEN a program that is not known"},
	{`BEGIN{"rm -rf " d | getline}`, "UNSEEN a program that is not known"},
	{`BEGIN{while(("git log" | getline l) > 0) n++}`, "shell git log"},
	{`BEGIN{while((getline l < "a.txt") > 0) n++; print n}`, "reads a.txt"},
	{`BEGIN{system("rm -rf x")}`, "shell rm -rf x"},
	{`BEGIN{system("rm -rf " x)}`, "UNSEEN system of what is not known"},
	{`BEGIN{awk::system(x)}`, "UNSEEN system of what is not known"},
	{`BEGIN{f = "system"; @f("x")}`, "UNSEEN what @ loads or calls"},
	{"@include \"x\"\nBEGIN{}", "UNSEEN what @ loads or calls"},
	{`BEGIN{ARGV[1] = "/etc/shadow"; ARGC = 2}`, "UNSEEN ARGV; UNSEEN ARGC"},
	{`{a /b; system(x) /c}`, "UNSEEN system of what is not known"},
	{`{a++ /b; system(x) /c}`, "UNSEEN system of what is not known"},
	{`{if (1) /"/; else system(x) #"` + "\n}", "UNSEEN system of what is not known"},
	{`{f(1) /"/; system("x") #"` + "\n}", "prints"}, // a division for awk, too
	{"# it's\n{print}", "prints"},
	{"BEGIN{sys\\\ntem(x)}", "prints"},
	{`/[/]"/{print; system(x)}`, "UNSEEN system of what is not known"},
}

var sedRows = []filterRow{
	{`s/a/b/g`, "prints"},
	{`s/a/e/`, "prints"},
	{`s/a/b/e`, "UNSEEN lines that are run"},
	{`s/a/b/w /etc/x`, "writes /etc/x"},
	{`s,a,b,gw/etc/x`, "writes /etc/x"},
	{`s/a\/e/x/;s|x|y|2ge`, "UNSEEN lines that are run"},
	{`s/[/]e/x/e`, "not read: / in brackets"},
	{`s/[^]]*]/x/`, "prints"},
	{`s/x/[/`, "prints"},
	{`1!e`, "UNSEEN lines that are run"},
	{`/a/I,/b/Me ls`, "shell ls"},
	{`\,a,w out`, "writes out"},
	{`0~3W/etc/x`, "writes /etc/x"},
	{`$!{e` + "\n}", "UNSEEN lines that are run"},
	{`/start/,/end/p`, "prints"},
	{`:e;N;be`, "prints"},
	{`y/abe/xyz/`, "prints"},
	{`y/a/b/w x`, "not read: \"w\" behind the command y"},
	{`a w /etc/x`, "prints"},
	{"i\\\nw /etc/x\nw y", "writes y"},
	{`r /etc/shadow`, "reads /etc/shadow"},
	{`/x/{s/a/b/;w out` + "\n}", "writes out"},
	{`5q;# it's` + "\np", "prints"},
	{`p;k`, "not read: the command k"},
	{`1,5`, "not read: no command behind an address"},
}

func TestAwk(t *testing.T) {
	for _, test := range awkRows {
		if got := outcome.Describe(Awk(test.code)); got != test.want {
			t.Errorf("%q:\n got %s\nwant %s", test.code, got, test.want)
		}
	}
}

// FuzzAwk holds that no program makes the reader fail, and that nothing in it hides what
// stands behind it: a line that runs what is not known.
func FuzzAwk(f *testing.F) {
	for _, row := range awkRows {
		f.Add(row.code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		if e, err := Awk(code + "\nBEGIN { system(x) }\n"); err == nil && len(e.Unseen) == 0 {
			t.Errorf("%q: what is run behind it is not seen", code)
		}
	})
}

func TestSed(t *testing.T) {
	for _, test := range sedRows {
		if got := outcome.Describe(Sed(test.code)); got != test.want {
			t.Errorf("%q:\n got %s\nwant %s", test.code, got, test.want)
		}
	}
}

// FuzzSed holds that no program makes the reader fail, and that nothing in it hides what
// stands behind it: a line that runs what is not known.
func FuzzSed(f *testing.F) {
	for _, row := range sedRows {
		f.Add(row.code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		if e, err := Sed(code + "\n\ne\n\ne\n\ne\n\ne\n\ne\n"); err == nil && len(e.Unseen) == 0 {
			t.Errorf("%q: what is run behind it is not seen", code)
		}
	})
}
