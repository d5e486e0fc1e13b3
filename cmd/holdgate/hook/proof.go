package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdgate/holdgate/proxy/hookproof"
)

// readKey reads the key by which the sidecar proves itself. In a sandbox of `holdgate run`
// the state folder is masked, and nobody but the sidecar can listen at the door that the
// environment names: there the hook asks at that one, without a proof.
func (o *Options) readKey() error {
	if o.KeyFile == "" {
		return nil
	}
	text, err := os.ReadFile(o.KeyFile)
	if err == nil {
		if o.key, err = hookproof.ParseKey(text); err != nil {
			return fmt.Errorf("%s: %w", o.KeyFile, err)
		}
		return nil
	}
	within, dirErr := os.ReadDir(filepath.Dir(o.KeyFile))
	masked := dirErr == nil && len(within) == 0 || errors.Is(dirErr, fs.ErrPermission)
	if !masked || o.env == "" {
		return fmt.Errorf("the key of the sidecar cannot be read (%w); install the hook again", err)
	}
	o.Door, o.Else = o.env, ""
	return nil
}

// proven checks an answer by which a call goes on, or that the agent is told as it is. Any
// other needs no proof.
func (o Options) proven(door, nonce string, told, answer []byte, v verdict) error {
	if o.key == nil || v.Status != "approved" && v.Output == "" {
		return nil
	}
	head, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
	for line := range strings.SplitSeq(string(head), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, hookproof.HeaderProof) && hookproof.Holds(strings.TrimSpace(value), o.key, nonce, o.Agent, told, body) {
			return nil
		}
	}
	return fmt.Errorf("what answers at %s does not prove that it is the sidecar of the state folder %s: if it is, "+
		"start it anew, or install the hook again with --state-dir and the folder that it uses", door, filepath.Dir(o.KeyFile))
}
