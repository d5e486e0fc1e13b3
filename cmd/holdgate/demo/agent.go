package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
)

// messagesRequest is what the agent sends and the provider reads.
type messagesRequest struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"`
	Stream    bool      `json:"stream"`
	Tools     []tool    `json:"tools"`
	Messages  []message `json:"messages"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
}

// agent is a small coding agent: it asks a model, runs the shell commands that
// the model asks for in a folder, and goes on until the model is done. It
// knows nothing of Holdgate but the address that it takes for its provider's.
type agent struct {
	baseURL string
	dir     string
	shell   []string // what runs a command: a shell, or one in a sandbox
	out     io.Writer
}

const maxTurns = 8

var bash = tool{
	Name: "Bash", Description: "Run a shell command in the project's folder.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"description":{"type":"string"}},"required":["command"]}`),
}

// run gives the agent a task. When the model's turn ends in words alone that
// do not finish the task, followUp says what its user answers, once.
func (a agent) run(ctx context.Context, task, followUp string) error {
	msgs := []message{{Role: "user", Content: []block{{Type: "text", Text: task}}}}
	fmt.Fprintf(a.out, "user   > %s\n", task)
	for range maxTurns {
		blocks, err := a.send(ctx, msgs)
		if err != nil {
			return err
		}
		msgs = append(msgs, message{Role: "assistant", Content: blocks})
		results := a.runTools(ctx, blocks)
		switch {
		case len(results) > 0:
			msgs = append(msgs, message{Role: "user", Content: results})
		case followUp != "" && refusedIn(blocks):
			fmt.Fprintf(a.out, "user   > %s\n", followUp)
			msgs = append(msgs, message{Role: "user", Content: []block{{Type: "text", Text: followUp}}})
			followUp = ""
		default:
			return nil
		}
	}
	return errors.New("the agent took too many turns")
}

func refusedIn(blocks []block) bool {
	for _, b := range blocks {
		if strings.Contains(b.Text, "[holdgate]") {
			return true
		}
	}
	return false
}

func (a agent) runTools(ctx context.Context, blocks []block) []block {
	var results []block
	for _, b := range blocks {
		if b.Type != "tool_use" {
			continue
		}
		var in struct {
			Command string `json:"command"`
		}
		if err := json.Unmarshal(b.Input, &in); err != nil || b.Name != bash.Name {
			results = append(results, block{Type: "tool_result", ToolUseID: b.ID, Content: "no such tool", IsError: true})
			continue
		}
		fmt.Fprintf(a.out, "agent  > runs: %s\n", in.Command)
		cmd := exec.CommandContext(ctx, a.shell[0], append(a.shell[1:len(a.shell):len(a.shell)], in.Command)...)
		cmd.Dir = a.dir
		out, err := cmd.Output()
		r := block{Type: "tool_result", ToolUseID: b.ID, Content: string(out)}
		if err != nil {
			r.Content, r.IsError = r.Content+err.Error(), true
		}
		results = append(results, r)
	}
	return results
}

// send sends the conversation and reads the streamed answer.
func (a agent) send(ctx context.Context, msgs []message) ([]block, error) {
	body, err := json.Marshal(messagesRequest{Model: "claude-demo-1", MaxTokens: 1024, Stream: true, Tools: []tool{bash}, Messages: msgs})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.baseURL+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("X-Api-Key", "demo")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the model: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return nil, fmt.Errorf("asking the model: %s: %s", resp.Status, b)
	}
	return a.read(resp.Body)
}

// read accumulates the answer's blocks, printing text as it comes.
func (a agent) read(r io.Reader) ([]block, error) {
	var blocks []block
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				return nil, fmt.Errorf("reading the answer: %w", err)
			}
			if e.Type == "error" {
				return nil, fmt.Errorf("the answer broke off: %s", data)
			}
			blocks = a.apply(blocks, e)
			if e.Type == "message_stop" {
				_, err := io.Copy(io.Discard, br) // what is written down of an answer is there once it has ended
				return blocks, err
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
	}
}

type event struct {
	Type  string `json:"type"`
	Block block  `json:"content_block"`
	Delta struct {
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
	} `json:"delta"`
}

func (a agent) apply(blocks []block, e event) []block {
	switch e.Type {
	case "content_block_start":
		if e.Block.Type == "tool_use" {
			e.Block.Input = nil
		} else {
			fmt.Fprint(a.out, "model  > ")
		}
		return append(blocks, e.Block)
	case "content_block_delta":
		b := &blocks[len(blocks)-1]
		b.Text += e.Delta.Text
		b.Input = append(b.Input, e.Delta.PartialJSON...)
		fmt.Fprint(a.out, e.Delta.Text)
	case "content_block_stop":
		if blocks[len(blocks)-1].Type == "text" {
			fmt.Fprintln(a.out)
		}
	}
	return blocks
}
