package command

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
)

// JSON that is printed keeps its value and shows nothing but what is there.
func FuzzPrintedJSONIsVisibleAndTheSame(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "a\u202eb", "\x7f\u0085", "\U000e0041", "⟨", "\u200b\u200b", "😀", `\u202e"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		var out bytes.Buffer
		if err := PrintJSON(&out, []string{s}); err != nil {
			t.Fatal(err)
		}
		var back []string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || len(back) != 1 || back[0] != s {
			t.Errorf("%q is printed as %q, which reads as %q (%v)", s, out.String(), back, err)
		}
		for _, r := range out.String() {
			if r != '\n' && holdgate.Visible(string(r)) != string(r) && r != '⟨' {
				t.Errorf("%q is printed with %U in it", s, r)
			}
		}
	})
}

func TestDurationsAreShownInTwoUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 999 * time.Millisecond: "0s", 59 * time.Second: "59s", time.Minute: "1m00s",
		61 * time.Minute: "1h01m", 49 * time.Hour: "2d01h",
	} {
		if got := Short(d); got != want {
			t.Errorf("%s is shown as %s, want %s", d, got, want)
		}
	}
}

func TestATimeThatNobodyWroteDownIsNone(t *testing.T) {
	now := time.Now()
	for at, want := range map[time.Time]string{{}: "-", now.Add(-time.Minute): "1m00s ago"} {
		if got := Ago(now, at); got != want {
			t.Errorf("%v is shown as %s, want %s", at, got, want)
		}
	}
}
