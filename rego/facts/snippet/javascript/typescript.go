package javascript

import (
	"fmt"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// ParseTyped reads a program of a runtime that takes TypeScript. One that is no
// JavaScript is read without its types, as such a runtime runs it. Imports stay where
// they are: some runtimes load a module of which nothing but a type is used.
func ParseTyped(src string) (*tree.Expr, error) {
	program, err := Parse(src, true)
	if err == nil {
		return program, nil
	}
	if plain := plain(src); plain != nil {
		return nil, plain
	}
	out := api.Transform(src, api.TransformOptions{
		Loader: api.LoaderTS, Target: api.ESNext, LogLevel: api.LogLevelSilent, Charset: api.CharsetUTF8,
		TsconfigRaw: `{"compilerOptions": {"verbatimModuleSyntax": true, "useDefineForClassFields": true}}`,
	})
	if len(out.Errors) > 0 {
		return nil, fmt.Errorf("no TypeScript: %.80s", out.Errors[0].Text)
	}
	return Parse(string(out.Code), true)
}
