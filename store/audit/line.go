package audit

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/holdgate/holdgate"
)

// appendEntry appends an entry in canonical form, without its hash. Input and
// Seen must be canonical already. A plain allow is on every call's way, so
// nothing here is left to reflection.
func appendEntry(b []byte, e *Entry) ([]byte, error) {
	b = append(b, '{')
	var err error
	if e.Call != nil {
		if b, err = appendCall(append(b, `"call":`...), e.Call); err != nil {
			return nil, err
		}
		b = append(b, ',')
	}
	if e.Decision != nil {
		if b, err = appendDecision(append(b, `"decision":`...), e.Decision); err != nil {
			return nil, err
		}
		b = append(b, ',')
	}
	if b, err = appendTexts(b, text{"door", e.Door}); err != nil {
		return nil, err
	}
	if e.Dropped > 0 {
		b = append(strconv.AppendUint(append(b, `"dropped":`...), e.Dropped, 10), ',')
	}
	if b, err = appendTexts(b, text{"exchange", e.Exchange}, text{"grant", e.Grant}); err != nil {
		return nil, err
	}
	if len(e.Input) > 0 {
		b = append(append(append(b, `"input":`...), e.Input...), ',')
	}
	if b, err = appendTexts(b, text{"member", e.Member}, text{"note", e.Note}); err != nil {
		return nil, err
	}
	if e.Outcome != nil {
		if b, err = appendAny(append(b, `"outcome":`...), e.Outcome); err != nil {
			return nil, err
		}
		b = append(b, ',')
	}
	if b, err = appendText(append(b, `"prev_hash":`...), e.PrevHash); err != nil {
		return nil, err
	}
	b = append(b, ',')
	if b, err = appendTexts(b, text{"request_id", e.RequestID}); err != nil {
		return nil, err
	}
	if len(e.Seen) > 0 {
		b = append(append(append(b, `"seen":`...), e.Seen...), ',')
	}
	b = append(strconv.AppendUint(append(b, `"seq":`...), e.Seq, 10), ',')
	if e.Signed != nil {
		if b, err = appendAny(append(b, `"signed":`...), e.Signed); err != nil {
			return nil, err
		}
		b = append(b, ',')
	}
	if b, err = appendTexts(b, text{"status", string(e.Status)}); err != nil {
		return nil, err
	}
	b = e.Time.AppendFormat(append(b, `"time":"`...), time.RFC3339Nano)
	if b, err = appendText(append(b, `","type":`...), string(e.Type)); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

func appendCall(b []byte, c *Call) ([]byte, error) {
	b, err := appendText(append(b, `{"agent":`...), c.Agent)
	if err != nil {
		return nil, err
	}
	b = append(b, ',')
	b, err = appendTexts(b, text{"digest", string(c.Digest)}, text{"folder", c.Folder}, text{"gate", c.Gate}, text{"http", c.HTTP}, text{"id", c.ID})
	if err != nil {
		return nil, err
	}
	if b, err = appendText(append(b, `"kind":`...), string(c.Kind)); err != nil {
		return nil, err
	}
	b = append(b, ',')
	if b, err = appendTexts(b, text{"mcp", c.MCP}, text{"model", c.Model}, text{"program", c.Program}); err != nil {
		return nil, err
	}
	if c.Proven {
		b = append(b, `"proven":true,`...)
	}
	if b, err = appendTexts(b, text{"said", c.Said}); err != nil {
		return nil, err
	}
	if b, err = appendText(append(b, `"session":`...), c.Session); err != nil {
		return nil, err
	}
	if c.Tool != nil {
		if b, err = appendText(append(b, `,"tool":{"name":`...), c.Tool.Name); err != nil {
			return nil, err
		}
		b = append(b, ',')
		if b, err = appendTexts(b, text{"server", c.Tool.Server}); err != nil {
			return nil, err
		}
		b[len(b)-1] = '}'
	}
	return append(b, '}'), nil
}

func appendDecision(b []byte, d *Decision) ([]byte, error) {
	b, err := appendAction(append(b, `{"action":`...), d.Action)
	if err != nil {
		return nil, err
	}
	b = append(b, ',')
	b, err = appendTexts(b, text{"reason", d.Reason}, text{"revision", d.Revision}, text{"risk", string(d.Risk)}, text{"rule", d.Rule})
	if err != nil {
		return nil, err
	}
	if d.Would != nil {
		if b, err = appendAction(append(b, `"would":`...), *d.Would); err != nil {
			return nil, err
		}
		b = append(b, ',')
	}
	b[len(b)-1] = '}'
	return b, nil
}

func appendAction(b []byte, a holdgate.Action) ([]byte, error) {
	name, err := a.MarshalText()
	if err != nil {
		return nil, err
	}
	return append(append(append(b, '"'), name...), '"'), nil
}

// text is a member that is left out where it is empty.
type text struct{ name, value string }

// appendTexts appends members, each with a comma behind it.
func appendTexts(b []byte, members ...text) ([]byte, error) {
	for _, m := range members {
		if m.value == "" {
			continue
		}
		var err error
		if b, err = appendText(append(append(append(b, '"'), m.name...), `":`...), m.value); err != nil {
			return nil, err
		}
		b = append(b, ',')
	}
	return b, nil
}

func appendText(b []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendAny(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"'), nil
}

// appendAny is for what is seldom in an entry.
func appendAny(b []byte, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	canon, err := holdgate.Canonical(raw)
	return append(b, canon...), err
}
