package tui

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// picture is the terminal in the README: a question of holdgate watch, as it looks.
const picture = "../../docs/pictures/watch-request.svg"

// The picture of the terminal is what the terminal shows. To make it anew:
// go test ./approvals/tui -run TestThePictureOfTheTerminal -update
func TestThePictureOfTheTerminal(t *testing.T) {
	s := newSidecar(t)
	s.hold("Bash", `{"command":"cd infra/prod && terraform apply -auto-approve","description":"Ship the fix"}`, risk(holdgate.RiskCritical))
	s.hold("Bash", `{"command":"rm -rf ./src/gen"}`)
	d := sit(t, s)
	d.m.colour = true
	d.slowly("enter")
	d.pass(minShown)
	host, err := os.Hostname()
	s.check(err)
	shown := strings.ReplaceAll(timesLeft.ReplaceAllString(d.m.screen(), "time left  59m58s"), "on "+host, "on laptop")
	shown = strings.ReplaceAll(shown, d.m.ask.r.ID, "c5cwz8-tw8933-9975cv")
	got := svg(shown)
	if *update {
		s.check(os.WriteFile(picture, []byte(got), 0o644))
	}
	want, err := os.ReadFile(picture)
	s.check(err)
	if got != string(want) {
		t.Errorf("%s is not what the terminal shows now:\n%s", picture, shown)
	}
}

const (
	cellWidth, lineHeight = 8.4, 18 // of a monospaced font of 14 pixels
	margin                = 16
)

var sgr = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// looks are the classes of what a terminal's screen is painted with.
var looks = map[string]string{sgrStrong: "strong", sgrAlarm: "alarm", sgrWarn: "warn", sgrFaint: "faint", sgrReverse: "reverse"}

// svg is a screen of 80 columns as a picture, whose text is text. Its own dark ground makes it readable on a dark
// page and on a light one.
func svg(screen string) string {
	lines := strings.Split(screen, "\n")
	width, height := int(80*cellWidth)+2*margin, len(lines)*lineHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">
<title>A held call in a terminal, as holdgate watch shows it</title>
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d7dae0; white-space: pre; }
.strong { font-weight: bold; fill: #ffffff; } .alarm { font-weight: bold; fill: #ff8f85; }
.warn { fill: #f0c674; } .faint { fill: #9aa1ac; } .reverse { fill: #ffffff; text-decoration: underline; }
</style>
<rect width="%d" height="%d" rx="8" fill="#16181d" stroke="#5b626e"/>
`, width, height, width, height)
	for i, line := range lines {
		column, class := 0, ""
		for _, run := range runs(line) {
			if class = run.class; strings.TrimSpace(run.text) != "" {
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f" class="%s">%s</text>`+"\n",
					margin+float64(column)*cellWidth, margin+(i+1)*lineHeight-5, float64(page.Cells(run.text))*cellWidth, class, html.EscapeString(run.text))
			}
			column += page.Cells(run.text)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// A run is text that looks the same.
type run struct{ text, class string }

func runs(line string) (list []run) {
	class := "plain"
	for line != "" {
		at := sgr.FindStringIndex(line)
		if at == nil {
			return append(list, run{line, class})
		}
		if at[0] > 0 {
			list = append(list, run{line[:at[0]], class})
		}
		if class = looks[line[at[0]:at[1]]]; class == "" {
			class = "plain"
		}
		line = line[at[1]:]
	}
	return list
}
