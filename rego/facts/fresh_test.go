package facts

import (
	"slices"
	"strings"
	"testing"
)

// TestFilesThatTheLineWrites holds that a file which the line has shown is read where
// it runs, and that any doubt about what it holds leaves it a file nobody was shown.
func TestFilesThatTheLineWrites(t *testing.T) {
	const good, evil = "cat > /tmp/a.py <<'E'\nprint(1)\nE\n", "cat > /tmp/a.py <<'E'\nimport os; os.remove('x')\nE\n"
	for _, test := range []struct {
		text string
		seen bool
	}{
		{good + "python3 /tmp/a.py", true},
		{good + "chmod +x /tmp/a.py\npython3 /tmp/a.py", true},
		{"cat > /tmp/a.sh <<'E'\n#!/bin/bash\nls\nE\nchmod +x /tmp/a.sh; /tmp/a.sh", true},
		{"cat > /tmp/a.go <<'E'\npackage main\nfunc main() { println(1) }\nE\ngo run /tmp/a.go", true},
		{evil + good + "python3 /tmp/a.py", true},
		{evil + "python3 /tmp/a.py", false},
		{"cat > /tmp/a.go <<'E'\npackage main\nimport \"os\"\nfunc main() { os.Remove(\"x\") }\nE\ngo run /tmp/a.go", false},
		{"false && " + good + "python3 /tmp/a.py", false},
		{"if x; then\n" + good + "fi\npython3 /tmp/a.py", false},
		{good + "cp b.py /tmp/a.py\npython3 /tmp/a.py", false},
		{good + "cp a.py /tmp/\npython3 /tmp/a.py", false},
		{good + "echo 'import os' >> /tmp/a.py\npython3 /tmp/a.py", false},
		{good + "sed -i s/1/2/ /tmp/*.py\npython3 /tmp/a.py", false},
		{good + "cat x > /private/tmp/A.py\npython3 /tmp/a.py", false},
		{"ln -s /tmp/a.py /tmp/b.py\n" + good + "cat x > /tmp/b.py\npython3 /tmp/a.py", false},
		{good + "tar xf x.tar -C /tmp\npython3 /tmp/a.py", false},
		{"(sleep 1; cat x > /tmp/a.py) &\n" + good + "sleep 2\npython3 /tmp/a.py", false},
		{good + "(sleep 1; python3 /tmp/a.py) &\n" + evil, false},
		{"trap 'cat x > /tmp/a.py' DEBUG\n" + good + "python3 /tmp/a.py", false},
		{"exec 3> /tmp/a.py\n" + good + "echo x >&3\npython3 /tmp/a.py", false},
		{"cat > /tmp/a.py <<E\n$X\nE\npython3 /tmp/a.py", false},
		{good + "cd \"$X\"\npython3 a.py", false},
	} {
		f := bashFacts(t, test.text)
		seen := len(f.ParseErrors) == 0 && !slices.ContainsFunc(f.Commands, func(c Command) bool {
			return len(c.Unresolved) > 0 || slices.ContainsFunc(c.Unbound, func(u string) bool { return !slices.Contains(c.Project, u) })
		})
		if seen != test.seen {
			t.Errorf("%s\n seen %t, want %t: %+v %v", test.text, seen, test.seen, f.Commands, f.ParseErrors)
		}
	}
}

// TestWhatTheLineMakesAndDeletes holds which deletions take nothing with them.
func TestWhatTheLineMakesAndDeletes(t *testing.T) {
	for _, test := range []struct {
		text  string
		fresh bool
	}{
		{`t=$(mktemp -d); trap 'rm -rf "$t"' EXIT`, true},
		{`t=$(mktemp); rm "$t"`, true},
		{`echo x > /tmp/a; rm /tmp/a`, true},
		{`rm /tmp/a`, false},
		{`rm -f /tmp/a.json /tmp/x/b.py`, true},
		{`rm -rf /tmp/a.json`, false},
		{`rm /tmp/*.json`, false},
		{`mv src/a.go /tmp/a.go && rm /tmp/a.go`, false},
		{`rm /tmp/x.sock`, false},
		{`rm /tmp/.x/a.log`, false},
		{`find /tmp -exec rm {} +`, false},
		{`rm -rf /tmp/a; echo x > /tmp/a`, false},
		{`touch /tmp/a; rm -rf /tmp/a`, false},
		{`mkdir -p /tmp/a; rm -rf /tmp/a`, false},
		{`cp -r x /tmp/a; rm -rf /tmp/a`, false},
		{`echo x > /tmp/a; rm -rf /tmp/*`, false},
		{`echo x > /tmp/a/b; rm -rf /tmp/a`, false},
		{`echo x > a; rm a`, true}, {`rm a; echo x > a; rm a`, false}, {`if b; then echo x > a; fi; rm a`, false}, {`echo x >> a; rm a`, false},
		{`ln -sf /etc/passwd a; echo x > a; rm a`, false}, {`cp b a && rm a`, true}, {`echo x > a; mv b a; rm a`, false}, {`mkdir /tmp/a && cp b /tmp/a && rm -rf /tmp/a`, true}, {`mkdir /tmp/a; rm -rf /tmp/a`, false},
		{`TMPDIR=/home/u; t=$(mktemp -d); rm -rf "$t"`, false},
		{`t=$(mktemp -d -p /home/u); rm -rf "$t"`, false},
		{`t=$(mktemp -d); rm -rf "$t/../x"`, false},
	} {
		fresh := true
		for _, p := range bashFacts(t, test.text).Paths {
			fresh = fresh && (p.Access != "delete" || p.Fresh)
		}
		if known := len(bashFacts(t, test.text).Paths) > 0; fresh != test.fresh && known {
			t.Errorf("%s\n fresh %t, want %t", test.text, fresh, test.fresh)
		}
	}
}

// TestNumbersThatCommandsPrint holds what may be reckoned with: what prints numbers
// alone, and nothing that could hold a subscript.
func TestNumbersThatCommandsPrint(t *testing.T) {
	for _, test := range []struct {
		command string
		number  bool
	}{
		{`stat -c %s f`, true}, {`stat -c %n f`, false}, {`stat -c "%s %n" f`, false},
		{`curl -s -o /dev/null -w '%{http_code}' localhost:3000`, true}, {`curl -s -w '%{http_code}' localhost:3000`, false}, {`curl -s -o /dev/null -w '%{url}' localhost:3000`, false},
		{`awk '{s+=$1} END {print s}' f`, true}, {`awk '{s=$1} END {print s}' f`, false}, {`awk '{s+=$1} END {print t}' f`, false}, {`awk -F, '{n++} END{print n}' f`, true},
		{`wc -l < f | tr -d ' '`, true}, {`cat f | tr -d ' '`, false}, {`du -s . | cut -f1`, true}, {`du -sh . | cut -f1`, false}, {`du -s . | cut -f2`, false},
		{`grep -n x f | head -1 | cut -d: -f1`, true}, {`grep -rn x /tmp | cut -d: -f1`, false}, {`grep -n x f | cut -d: -f2`, false}, {`grep x f | cut -d: -f1`, false},
		{`shuf -i 1-9 -n 1`, true}, {`shuf -e a b`, false},
	} {
		command := strings.ReplaceAll(test.command, " f", " /tmp/f") // what a file of the project says may be reckoned with
		f := bashFacts(t, "n=$("+command+"); echo $((n + 1))")
		if number := len(f.ParseErrors) == 0 && !slices.ContainsFunc(f.Commands, func(c Command) bool { return len(c.Unresolved) > 0 }); number != test.number {
			t.Errorf("%s: a number %t, want %t: %v", test.command, number, test.number, f.ParseErrors)
		}
	}
}
