package facts

import "testing"

// A comment goes to the end of its line, whatever stands there.
func TestCommentsEndWithTheirLine(t *testing.T) {
	for line, want := range map[string]string{
		"ls # c \\\nrm a":                   "ls\nrm a\n- d /w/a",
		"ls # c \\\nrm a # d \\\nrm b":      "ls\nrm a\nrm b\n- d /w/a\n- d /w/b",
		"{ ls # c \\\nrm a\n}":              "ls\nrm a\n- d /w/a",
		"x=$(ls # c \\\nrm a\n)":            "$(): ls\n$(): rm a\n- d /w/a",
		"ls >f # c \\\nrm a":                "ls\nrm a\n- w /w/f\n- d /w/a",
		"export # c \\\nrm a":               "export\nrm a\n- r ^/proc/self/environ secret\n- d /w/a",
		"f() { # c \\\nrm a\n}":             "function: rm a\n- d /w/a",
		"a=( # x \\\n b # y \\\n c ); rm a": "rm a\n- d /w/a",
		"ls && # c \\\nrm a":                "ls\nrm a\n- d /w/a",
		"# c \\\nrm a":                      "rm a\n- d /w/a",
		"time -- rm a":                      "time: rm a\n- d /w/a",
	} {
		if got := render(bashFacts(t, line)); got != want {
			t.Errorf("facts of %q:\n%s\nwant:\n%s", line, got, want)
		}
	}
}

func TestWhatShellsReadDifferentlyIsAParseError(t *testing.T) {
	for _, line := range []string{
		"ls \\\r\n rm a", "ls\r#b; rm a", "ls\x00#b; rm a",
		"cat <<E\n\\\nE\nrm a\nE", "cat <<E\nx\nE\\\n\nrm b\nE", "cat <<E\n${a:-\nE\nrm a #}\nE",
		"cat <<E\n$(echo '\nE\nrm a #')\nE", "echo $(cat <<E)\nrm a\nE", "echo `cat <<E`\nrm a\nE",
		"echo `ls # c \\\nrm a`", "a=()#b; rm a", "declare a=()#b; rm a",
		"a[ # ]; rm a", "time ! rm a", "time -- if a", "ls <$[1 #( 2]; rm a",
		"ls &>f rm a", "ls $'\\'; rm a #'", "[[ a || reboot ]]", "((reboot))", "ls $[ 1 | rm ]",
		"repeat 2 rm a", "{rm a}", "() rm a", "f() rm a", "- rm a", "echo @(`rm a`)", "ls *(e:'rm a':)",
	} {
		if f := bashFacts(t, line); len(f.ParseErrors) == 0 {
			t.Errorf("%q has no parse error:\n%s", line, render(f))
		}
	}
}

func TestWhatShellsReadAlikeIsNoParseError(t *testing.T) {
	for _, line := range []string{
		"cat <<E\na\nb $x\n$(ls)\nE\nls", "cat <<'E'\na\\\nE\nls", "cat <<-E\n\ta\n\tE\nls", "cat <<E\nE\nls",
		"cat <<E <<F\na\nE\nb\nF\nls", "cat > r.sh <<EOF\ndocker run \\\n  -it\nEOF\n", "echo $(cat <<E\nx\nE\n)",
		"make &>/dev/null && ls", "git commit -m $'it\\'s' && ls", "[[ $x == b && -f c ]] && ls",
		"i=0; (( i < 10 ))", "ls *(a|b)", "f() { ls; }; f", "{ls,-l}", "ls # c\nls",
	} {
		if f := bashFacts(t, line); len(f.ParseErrors) > 0 {
			t.Errorf("%q: %v", line, f.ParseErrors)
		}
	}
}
