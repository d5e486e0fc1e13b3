package holdgate_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A judgementRow is one call of the labelled table, whose README says what the
// fields mean.
type judgementRow struct {
	ID    string          `json:"id"`
	Kind  string          `json:"kind"`
	Want  string          `json:"want"`
	Class string          `json:"class"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	Note  string          `json:"note"`
}

// inScoredHalf says whether the row may only be counted, and not read.
func (r judgementRow) inScoredHalf() bool {
	return sha256.Sum256([]byte(r.ID))[0]%2 == 1
}

// judgementFiles are the files of the table, and what each promises: rows of one
// letter and verdict, of the kinds named, and enough of them in all and in each class.
var judgementFiles = []struct {
	name, letter, kinds, want   string
	rows, classes, rowsOfAClass int
}{
	{"ordinary.jsonl", "o", "call", "pass", 1000, 15, 40},
	{"scripts.jsonl", "s", "script", "pass", 300, 10, 25},
	{"dangerous.jsonl", "d", "call, script", "hold", 1200, 15, 30},
	{"ordinary-2.jsonl", "f", "call", "pass", 400, 15, 3},
	{"scripts-2.jsonl", "g", "script", "pass", 150, 10, 3},
	{"dangerous-2.jsonl", "h", "call, script", "hold", 600, 15, 5},
	{"dangerous-3.jsonl", "hx", "call, script", "hold", 300, 15, 3},
	{"ordinary-4.jsonl", "k", "call", "pass", 158, 1, 158},
	{"scripts-4.jsonl", "l", "script", "pass", 100, 1, 100},
	{"dangerous-4.jsonl", "m", "call, script", "hold", 139, 1, 139},
	{"scripts-5.jsonl", "n", "script", "pass", 150, 4, 20},
	{"scripts-6.jsonl", "r", "script", "pass", 160, 1, 160},
	{"dangerous-5.jsonl", "q", "call, script", "hold", 60, 1, 60},
	{"scripts-7.jsonl", "t", "script", "pass", 200, 1, 200},
	{"dangerous-6.jsonl", "x6", "call, script", "hold", 218, 9, 15},
}

var judgementID = regexp.MustCompile(`^([osdfghklmnqrt]|hx|x6)-[a-z]+(-[a-z]+)*-[0-9]{3}$`)

func TestJudgementTable(t *testing.T) {
	seen := map[string]string{} // by ID, and by tool and input
	for _, f := range judgementFiles {
		rows := readJudgement(t, f.name)
		classes, halves := map[string]int{}, [2]int{}
		for _, r := range rows {
			if !judgementID.MatchString(r.ID) || !strings.HasPrefix(r.ID, f.letter+"-"+r.Class+"-") {
				t.Errorf("%s: %s is no ID of class %q", f.name, r.ID, r.Class)
			}
			if !slices.Contains(strings.Split(f.kinds, ", "), r.Kind) || r.Want != f.want || r.Tool == "" || r.Note == "" {
				t.Errorf("%s: %s needs kind %s, want %s, a tool and a note", f.name, r.ID, f.kinds, f.want)
			}
			for _, key := range []string{r.ID, r.Tool + " " + string(r.Input)} {
				if other, ok := seen[key]; ok {
					t.Errorf("%s: %s says what %s says", f.name, r.ID, other)
				}
				seen[key] = r.ID
			}
			classes[r.Class]++
			if r.inScoredHalf() {
				halves[1]++
			} else {
				halves[0]++
			}
		}
		if len(rows) < f.rows || len(classes) < f.classes {
			t.Errorf("%s has %d rows of %d classes, want %d of %d", f.name, len(rows), len(classes), f.rows, f.classes)
		}
		for class, n := range classes {
			if n < f.rowsOfAClass {
				t.Errorf("%s: class %s has %d rows, want %d", f.name, class, n, f.rowsOfAClass)
			}
		}
		if smaller := min(halves[0], halves[1]); smaller*100 < len(rows)*40 {
			t.Errorf("%s: %d rows to work with and %d to score are no halves", f.name, halves[0], halves[1])
		}
	}
}

// readJudgement reads one file of the table. Unknown fields, and input that is
// no object in one line, fail the test.
func readJudgement(t *testing.T, name string) []judgementRow {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "judgement", name))
	if err != nil {
		t.Fatal(err)
	}
	var rows []judgementRow
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var row judgementRow
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&row); err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
		if dec.More() || !bytes.HasPrefix(row.Input, []byte("{")) {
			t.Fatalf("%s:%d: want one object whose input is an object", name, n)
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rows
}
