package decide

import (
	"strings"
	"testing"

	"rsc.io/qr"
)

// What is drawn is the code, with a margin of light around it.
func TestACodeIsDrawn(t *testing.T) {
	code, err := qr.Encode("https://holdgate.lan:7301/open#0123456789abcdefghijkl", qr.M)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(halfBlocks(code), "\n"), "\n")
	if want := (code.Size + 8 + 1) / 2; len(lines) != want {
		t.Fatalf("%d lines, want %d", len(lines), want)
	}
	for row, line := range lines {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "\x1b[30;107m"), "\x1b[0m")
		col := 0
		for _, r := range line {
			x, y := col-4, 2*row-4
			if up, down := r == '▀' || r == '█', r == '▄' || r == '█'; up != code.Black(x, y) || down != code.Black(x, y+1) {
				t.Fatalf("at %d, %d stands %q", x, y, r)
			}
			col++
		}
		if col != code.Size+8 {
			t.Errorf("line %d has %d columns", row, col)
		}
	}
}
