package snippet

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// TestTypeScript holds that programs with types are read as what is left without them.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ language, code, want string }{
		{"tsx", "const xs: number[] = [1, 2];\nfor (const x of xs as ReadonlyArray<number>) console.log(x satisfies number);", "prints"},
		{"bun", "import { readFileSync } from 'node:fs';\nconst s: string = readFileSync('README.md', 'utf8');\nconsole.log(s.length);", "reads README.md"},
		{"ts-node", "import type { P } from './p';\nconst p: P = { a: 1 } as P;\nconsole.log(p!.a);", "prints"},
		{"tsx", "import { P } from './p';\nlet p: P | undefined;\nconsole.log(p);", "project ./p"},
		{"tsx", "interface A { run(): void }\nconst { rmSync } = require('fs') as typeof import('fs');\nrmSync('src' as string, { recursive: true });", "deletes src"},
		{"deno", "const c: any = require('child_process');\nc.execSync('id' as string);", "shell id"},
		{"tsx", "enum E { A = (process as any)['ki' + 'll'](1) }", "process.kill"},
		{"node", "const x: number = 1;", "not read"},
		{"tsx", "const x: = ;", "not read"},
	} {
		if got := outcome.Describe(Read(test.language, test.code)); got != test.want && !(len(test.want) > 5 && strings.Contains(got, test.want)) {
			t.Errorf("%s %q\n got %s\nwant %s", test.language, test.code, got, test.want)
		}
	}
}
