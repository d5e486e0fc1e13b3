package confine

import (
	"fmt"
	"os"
	"testing"
)

// The test binary is also the program that confines itself, and the attacker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Command:
			code, err := Init(os.Args[2:])
			if err != nil {
				fmt.Fprintln(os.Stderr, "confined:", err)
				code = 99
			}
			os.Exit(code)
		case attackCommand:
			os.Exit(attack(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}
