package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	sdktest.Run(t, sdktest.Subject{
		New: func(*testing.T) sdk.Channel { return &channel{open: map[string]sdk.Notice{}} },
		Good: func(t *testing.T) string {
			dir := t.TempDir()
			config, err := json.Marshal(map[string]string{"out": filepath.Join(dir, "out"), "in": filepath.Join(dir, "in")})
			if err != nil {
				t.Fatal(err)
			}
			return string(config)
		},
		Bad: map[string]string{"no files": `{}`},
	})
}
