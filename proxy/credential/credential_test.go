package credential

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestACommandThatDoesNotEndIsKilled(t *testing.T) {
	c := &Credential{Spec: Spec{Name: "slow", Header: "X-Key", Form: Plain, Command: []string{"sh", "-c", "sleep 600 & sleep 600"}, Timeout: 50 * time.Millisecond}}
	h := http.Header{"X-Key": {"placeholder"}}
	_, err := c.Put(t.Context(), h)
	if err == nil || !strings.Contains(err.Error(), "credential slow") || !strings.Contains(err.Error(), "within 50ms") || h.Get("X-Key") != "placeholder" {
		t.Errorf("got %v and %v", err, h)
	}
}

func TestACredentialDoesNotPrintItsValue(t *testing.T) {
	c := &Credential{Spec: Spec{Name: "key", Value: "sk-real"}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, c); strings.Contains(text, "sk-real") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}
