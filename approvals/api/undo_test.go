package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/store/audit"
)

func TestWhoTakesARunBackIsWrittenDown(t *testing.T) {
	d := newDoor(t)
	const body = `{"run":"20261126-1","agent":"claude","folder":"/w","call":"toolu_1","changes":4,"digest":"abcd"}`
	if code, text := d.ask("POST", "/v1/undo", body, "Authorization", "Bearer "+tokenOfBob); code != http.StatusForbidden {
		t.Errorf("somebody who may not operate: %d %s", code, text)
	}
	if code, text := d.ask("POST", "/v1/undo", `{"run":"","digest":""}`, "Authorization", "Bearer "+tokenOfOlga); code != http.StatusUnprocessableEntity {
		t.Errorf("an undo of nothing: %d %s", code, text)
	}
	if code, text := d.ask("POST", "/v1/undo", body, "Authorization", "Bearer "+tokenOfOlga); code != http.StatusOK || !strings.Contains(text, `"seq":`) {
		t.Errorf("%d %s", code, text)
	}
	list, err := d.log.Query(t.Context(), audit.Query{Type: audit.TypeUndo})
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if e := list[0]; e.Outcome.By != "olga" || e.Call.Agent != "claude" || !strings.Contains(string(e.Input), `"digest":"abcd"`) || e.Note != "takes back 4 changes of run 20261126-1 in /w" {
		t.Errorf("the entry is %+v", e)
	}
}
