package snippet

import "testing"

// TestFilters holds what is found in programs of awk and sed.
func TestFilters(t *testing.T) {
	for _, test := range []struct{ language, code, want string }{
		{"awk", `{print $1}`, "prints"},
		{"awk", `$3 > max { max = $3 } END { print (max > 1) }`, "prints"},
		{"awk", `/system/ {print}`, "prints"},
		{"awk", `{ if ($1 ~ /a|b/) print "x|y > z" }`, "prints"},
		{"awk", `{print $1 | "sort -u"}`, "shell sort -u"},
		{"awk", `{print $1, $2 > "out.txt"}`, "writes out.txt"},
		{"awk", `{print > $1}`, "UNSEEN a file whose name is not known"},
		{"awk", `{print "x" > f}`, "UNSEEN a file whose name is not known"},
		{"awk", `{print "x" > "/etc/" f}`, "UNSEEN a file whose name is not known"},
		{"awk", `{print "x" > ("/etc/" f)}`, "UNSEEN a file whose name is not known"},
		{"awk", `{print "x" >> "a\x2fb"}`, "UNSEEN a file whose name is not known"},
		{"awk", `BEGIN{print "" | c}`, "UNSEEN a program that is not known"},
		{"awk", `BEGIN{print "" |& "/inet/tcp/0/h/1"}`, "UNSEEN a program that is not known"},
		{"awk", `BEGIN{"rm -rf " d | getline}`, "UNSEEN a program that is not known"},
		{"awk", `BEGIN{while(("git log" | getline l) > 0) n++}`, "shell git log"},
		{"awk", `BEGIN{while((getline l < "a.txt") > 0) n++; print n}`, "reads a.txt"},
		{"awk", `BEGIN{system("rm -rf x")}`, "shell rm -rf x"},
		{"awk", `BEGIN{system("rm -rf " x)}`, "UNSEEN system of what is not known"},
		{"awk", `BEGIN{awk::system(x)}`, "UNSEEN system of what is not known"},
		{"awk", `BEGIN{f = "system"; @f("x")}`, "UNSEEN what @ loads or calls"},
		{"awk", "@include \"x\"\nBEGIN{}", "UNSEEN what @ loads or calls"},
		{"awk", `BEGIN{ARGV[1] = "/etc/shadow"; ARGC = 2}`, "UNSEEN ARGV; UNSEEN ARGC"},
		{"awk", `{a /b; system(x) /c}`, "UNSEEN system of what is not known"},
		{"awk", `{a++ /b; system(x) /c}`, "UNSEEN system of what is not known"},
		{"awk", `{if (1) /"/; else system(x) #"` + "\n}", "UNSEEN system of what is not known"},
		{"awk", `{f(1) /"/; system("x") #"` + "\n}", "prints"}, // a division for awk, too
		{"awk", "# it's\n{print}", "prints"},
		{"awk", "BEGIN{sys\\\ntem(x)}", "prints"},
		{"awk", `/[/]"/{print; system(x)}`, "UNSEEN system of what is not known"},
		{"sed", `s/a/b/g`, "prints"},
		{"sed", `s/a/e/`, "prints"},
		{"sed", `s/a/b/e`, "UNSEEN lines that are run"},
		{"sed", `s/a/b/w /etc/x`, "writes /etc/x"},
		{"sed", `s,a,b,gw/etc/x`, "writes /etc/x"},
		{"sed", `s/a\/e/x/;s|x|y|2ge`, "UNSEEN lines that are run"},
		{"sed", `s/[/]e/x/e`, "not read: / in brackets"},
		{"sed", `s/[^]]*]/x/`, "prints"},
		{"sed", `s/x/[/`, "prints"},
		{"sed", `1!e`, "UNSEEN lines that are run"},
		{"sed", `/a/I,/b/Me ls`, "shell ls"},
		{"sed", `\,a,w out`, "writes out"},
		{"sed", `0~3W/etc/x`, "writes /etc/x"},
		{"sed", `$!{e` + "\n}", "UNSEEN lines that are run"},
		{"sed", `/start/,/end/p`, "prints"},
		{"sed", `:e;N;be`, "prints"},
		{"sed", `y/abe/xyz/`, "prints"},
		{"sed", `y/a/b/w x`, "not read: \"w\" behind the command y"},
		{"sed", `a w /etc/x`, "prints"},
		{"sed", "i\\\nw /etc/x\nw y", "writes y"},
		{"sed", `r /etc/shadow`, "reads /etc/shadow"},
		{"sed", `/x/{s/a/b/;w out` + "\n}", "writes out"},
		{"sed", `5q;# it's` + "\np", "prints"},
		{"sed", `p;k`, "not read: the command k"},
		{"sed", `1,5`, "not read: no command behind an address"},
	} {
		if got := describe(Read(test.language, test.code)); got != test.want {
			t.Errorf("%s %q:\n got %s\nwant %s", test.language, test.code, got, test.want)
		}
	}
}
