package report_test

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/report"
)

// Of what the log was given only numbers, times and the program's own words show, and
// words of an error.
func TestTheLogKeepsNoNames(t *testing.T) {
	t.Parallel()
	kept := report.NewLog(10)
	log := slog.New(kept.Handler(slog.NewTextHandler(io.Discard, nil))).With("person", "grace").WithGroup("g")
	log.Warn("audit.checkpoints.command cannot be read again", "by", "mark", "note", "ada was added", "n", 7, "status", "timed_out",
		"err", errors.New(`dialing db.corp.internal for ada.lovelace: "swordfish" ada_lovelace ada-lovelace refused after 30s`))
	got := kept.Text()
	for _, want := range []string{"audit.checkpoints.command cannot be read again", "g.n=7", `g.status="timed_out"`, "dialing", "refused after 30s"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	for _, hidden := range []string{"grace", "mark", "ada", "lovelace", "corp", "internal", "swordfish"} {
		if strings.Contains(got, hidden) {
			t.Errorf("%q is in %s", hidden, got)
		}
	}
}

// Names are taken out where they are whole words, however short and in whichever case.
func TestNamesAreConcealed(t *testing.T) {
	t.Parallel()
	f := report.Files{"x": "Ada, (ada) and ADA's grant; adamant. Jörg-Li asked bo; example.com stays? quokkatext1"}
	f.Conceal("x", []string{"quokkatext"}, []string{"ada@example.com", "jörg", "li", "bo"})
	if got, want := f["x"], "…, (…) and …'s grant; adamant. …-… asked …; …."+"… stays? …1"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestMetricsShowOwnNamesAlone(t *testing.T) {
	t.Parallel()
	f := report.Files{}
	f.Metrics("m", `x_total{action="hold",kind="tool_call",rule="shell.delete"} 1`+"\n"+`x_total{rule="acme.refund",upstream="acme",le="0.5"} 1`+"\n",
		func(_, value string) bool { return value == "shell.delete" })
	if got, want := f["m"], `x_total{action="hold",kind="tool_call",rule="shell.delete"} 1`+"\n"+`x_total{rule="…",upstream="…",le="0.5"} 1`+"\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
