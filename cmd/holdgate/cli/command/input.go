package command

import (
	"fmt"
	"io"
	"os"
)

// ReadBounded reads arguments.
func ReadBounded(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxArguments+1))
	if err != nil {
		return nil, fmt.Errorf("reading the arguments: %w", err)
	}
	if len(raw) > maxArguments {
		return nil, Usage("the arguments are over %d bytes", maxArguments)
	}
	return raw, nil
}

// maxArguments bounds the arguments that are read, in bytes; the sidecar takes
// fewer.
const maxArguments = 1 << 20

// maxInput bounds an input of policy eval, in bytes.
const maxInput = 32 << 20

// ReadInput reads a file, or standard input where none is named.
func (e *Env) ReadInput(path string) ([]byte, error) {
	in := e.Stdin
	if path != "" && path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the input: %w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("reading the input: %w", err)
	}
	if len(b) > maxInput {
		return nil, fmt.Errorf("the input is over %d bytes", maxInput)
	}
	return b, nil
}
