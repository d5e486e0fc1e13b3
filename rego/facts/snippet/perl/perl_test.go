package perl

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// perlRows are programs with what is found in them. An error is a program that is not
// read, and asked about.
var perlRows = []struct{ code, want string }{
	{`print if /total/`, "prints"},
	{`s/foo/bar/g`, "prints"},
	{`s/(\d+)/$1 + 1/ge`, "prints"},
	{`print $1 if /func New(.*?)\n}/s`, "prints"},
	{`print $F[2]`, "prints"},
	{`$s += $F[1]; END { printf "%.2f\n", $s / $. }`, "prints"},
	{`my %c; while (<STDIN>) { my @a = split /,/; $c{$a[0]} += $a[2] } print "$_ $c{$_}\n" for sort keys %c;`, "prints"},
	{`open(my $f, '<', 'data/x.csv') or die; while (<$f>) { print if /x/ }`, "reads data/x.csv"},
	{`open my $f, '>', 'out.txt' or die; print $f "x";`, "writes out.txt"},
	{`use List::Util qw(sum max); print sum(1..3), max(@ARGVS)`, "prints"},
	{`use JSON::PP; my $d = decode_json(join '', <STDIN>); print $d->{name}{first}, "\n"`, "prints"},
	{`sub double { my ($x) = @_; return $x * 2 } print double(4)`, "prints"},
	{`my %h = (system => 1, y => 2); print $h{system} // 3`, "prints"},

	{"system('id')", "ERROR"}, {"print `id`", "ERROR"}, {"exec 'id'", "ERROR"}, {`print "@{[ system 'id' ]}"`, "ERROR"},
	{`print "$h{system('id')}"`, "ERROR"}, {`s/x/system("id")/e`, "ERROR"}, {`s/x/y/ee`, "ERROR"}, {`/(?{ system("id") })/`, "ERROR"},
	{`qx{id}`, "ERROR"}, {`open(F, "|id")`, "ERROR"}, {`open(my $f, '-|', 'id')`, "ERROR"}, {`open(my $f, $x)`, "ERROR"},
	{`unlink "x"`, "ERROR"}, {`{ unlink }`, "ERROR"}, {`for (1) { rmdir }`, "ERROR"}, {`eval "x"`, "ERROR"}, {`do "/tmp/x.pl"`, "ERROR"}, {`require "/tmp/x.pl"`, "ERROR"},
	{`&$f("id")`, "ERROR"}, {`$f->("id")`, "ERROR"}, {`$h{a}("id")`, "ERROR"}, {`$x->$m()`, "ERROR"}, {`*{"main::x"} = 1`, "ERROR"},
	{`print $ENV{TOKEN}`, "ERROR"}, {`print "$ENV{TOKEN}"`, "ERROR"}, {`print %ENV`, "ERROR"}, {`print "$main::ENV{TOKEN}"`, "ERROR"}, {`print %{"ENV"}`, "ERROR"},
	{`$SIG{ALRM} = 1`, "ERROR"}, {`@ARGV = ("|id")`, "ERROR"}, {`push @INC, "/tmp"`, "ERROR"},
	{`use lib "/tmp"; print`, "ERROR"}, {`use POSIX; print`, "ERROR"}, {`use Evil`, "ERROR"}, {`print <*.c>`, "ERROR"}, {"print <<E;\nE\n", "ERROR"},
	{`time / 2; system("id"); # /`, "ERROR"}, {`shift / 2; unlink "x" #/`, "ERROR"}, {`if (1) { } / 2; unlink "x" #/`, "ERROR"},
	{"print 1;\n=pod\n\n=cut\nsystem('id')", "ERROR"}, {`print "x`, "ERROR"}, {`} system("id"); {`, "ERROR"}, {"rmdir\n=> 1", "ERROR"},
	{`sub foo { } foo / 2; system("id"); #/`, "ERROR"}, {`print "a" . "b" ? 1 : 2`, "prints"}, {`kill 9, 1`, "ERROR"},
	{`sub system { } system("id")`, "ERROR"}, {"# sub unlink {\nunlink 'x'", "ERROR"}, {`$ARGV[0] = "id|"; print while <>`, "ERROR"}, {`$_ = "id|" for $ARGV[0]; print <>`, "ERROR"}, {`binmode STDOUT, ":via(Evil)"`, "ERROR"},
	{`binmode(STDOUT, ":utf8"); printf "%d\n", $ARGV[0] * 2`, "prints"}, {`while (<>) { print "$ARGV:$.: $_" if /x/ }`, "prints"},
}

func TestPerl(t *testing.T) {
	for _, test := range perlRows {
		if got := outcome.Describe(Read(test.code, nil, false)); got != test.want && !(test.want == "ERROR" && strings.HasPrefix(got, "not read")) {
			t.Errorf("%s\n got %s\nwant %s", test.code, got, test.want)
		}
	}
}

// TestLoops holds that what is run for each line of its files changes none of their names.
func TestLoops(t *testing.T) {
	if _, err := Read(`$ARGV[0] = "id|"; print`, nil, true); err == nil {
		t.Error("an element of @ARGV is changed, and files are read by it")
	}
	if _, err := Read(`print "$ARGV: $_"`, nil, true); err != nil {
		t.Error(err)
	}
}

// FuzzPerl holds that no program makes the reader fail, and that nothing in it hides what
// stands behind it: a line that starts a program.
func FuzzPerl(f *testing.F) {
	for _, row := range perlRows {
		f.Add(row.code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		if _, err := Read(code+"\n;exec $zz;\n", nil, false); err == nil {
			t.Errorf("%q: what is run behind it is not seen", code)
		}
	})
}
