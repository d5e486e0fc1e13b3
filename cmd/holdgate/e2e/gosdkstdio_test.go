//lint:file-ignore SA1019 clients of earlier revisions sample and list roots, so Holdgate relays both

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// goServerVariable makes a server with the official Go SDK of this program.
const goServerVariable = "E2E_GO_SERVER"

// goServer has a tool for each thing that a server can do while it works.
func goServer() *gosdk.Server {
	s := gosdk.NewServer(&gosdk.Implementation{Name: "go", Version: "1"}, &gosdk.ServerOptions{
		CompletionHandler: func(_ context.Context, r *gosdk.CompleteRequest) (*gosdk.CompleteResult, error) {
			return &gosdk.CompleteResult{Completion: gosdk.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "ngineering"}}}, nil
		},
	})
	type none struct{}
	tool := func(name string, fn func(context.Context, *gosdk.CallToolRequest) (any, error)) {
		gosdk.AddTool(s, &gosdk.Tool{Name: name}, func(ctx context.Context, r *gosdk.CallToolRequest, _ none) (*gosdk.CallToolResult, any, error) {
			v, err := fn(ctx, r)
			if asks, ok := v.(gosdk.InputRequestMap); ok {
				return &gosdk.CallToolResult{InputRequests: asks}, nil, nil
			}
			return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: fmt.Sprint(shown(v), " ", err)}}}, nil, nil
		})
	}
	form := &gosdk.ElicitParams{Message: "who?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}}
	tool("elicit", func(ctx context.Context, r *gosdk.CallToolRequest) (any, error) { return r.Session.Elicit(ctx, form) })
	tool("input", func(_ context.Context, r *gosdk.CallToolRequest) (any, error) {
		if got, ok := r.Params.InputResponses["name"]; ok {
			return got, nil
		}
		return gosdk.InputRequestMap{"name": form}, nil
	})
	tool("sample", func(ctx context.Context, r *gosdk.CallToolRequest) (any, error) {
		return r.Session.CreateMessage(ctx, &gosdk.CreateMessageParams{MaxTokens: 5, Messages: []*gosdk.SamplingMessage{{Role: "user", Content: &gosdk.TextContent{Text: "hello"}}}})
	})
	tool("roots", func(ctx context.Context, r *gosdk.CallToolRequest) (any, error) {
		return r.Session.ListRoots(ctx, nil)
	})
	tool("steps", func(ctx context.Context, r *gosdk.CallToolRequest) (any, error) {
		for n := range 3 {
			if err := r.Session.NotifyProgress(ctx, &gosdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(n + 1)}); err != nil {
				return nil, err
			}
		}
		return "taken", nil
	})
	s.AddResource(&gosdk.Resource{Name: "r", URI: "test://r"}, func(_ context.Context, r *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
		return &gosdk.ReadResourceResult{Contents: []*gosdk.ResourceContents{{URI: r.Params.URI, Text: "read ü\u2028"}}}, nil
	})
	s.AddPrompt(&gosdk.Prompt{Name: "p"}, func(_ context.Context, r *gosdk.GetPromptRequest) (*gosdk.GetPromptResult, error) {
		return &gosdk.GetPromptResult{Messages: []*gosdk.PromptMessage{{Role: "user", Content: &gosdk.TextContent{Text: shown(r.Params.Arguments)}}}}, nil
	})
	return s
}

func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// The official Go client over standard streams sees through Holdgate what it
// sees straight, in every revision.
func TestTheOfficialGoClientOverStandardStreams(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--policy", write(t, "all.rego", allowAll))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			straight := goTranscript(t, version, "", self)
			through := goTranscript(t, version, s.dir, binary, "mcp", "--name", "go", "--", self)
			if through != straight {
				t.Errorf("through Holdgate:\n%s\nstraight:\n%s", through, straight)
			}
			for _, want := range []string{version, "read ü", "ngineering", "taken", "steps: [1,2,3]"} {
				if !strings.Contains(straight, want) {
					t.Errorf("%q is not in the transcript:\n%s", want, straight)
				}
			}
		})
	}
}

// goTranscript uses every feature of a server, and says what came of each.
func goTranscript(t *testing.T, version, stateDir, command string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	steps := make(chan float64, 3)
	client := gosdk.NewClient(&gosdk.Implementation{Name: "test", Version: "1"}, &gosdk.ClientOptions{
		CreateMessageHandler: func(_ context.Context, r *gosdk.CreateMessageRequest) (*gosdk.CreateMessageResult, error) {
			return &gosdk.CreateMessageResult{Model: "m", Role: "assistant", Content: &gosdk.TextContent{Text: "sampled " + shown(r.Params.Messages)}}, nil
		},
		ElicitationHandler: func(context.Context, *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
			return &gosdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *gosdk.ProgressNotificationClientRequest) { steps <- r.Params.Progress },
	})
	client.AddRoots(&gosdk.Root{URI: "file:///srv", Name: "srv"})
	cmd := exec.Command(command, args...)
	cmd.Env = append(environment(), goServerVariable+"=1", "HOLDGATE_STATE_DIR="+stateDir)
	cs, err := client.Connect(ctx, &gosdk.CommandTransport{Command: cmd}, &gosdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	defer cs.Close()
	var out strings.Builder
	say := func(what string, v any, err error) { fmt.Fprintf(&out, "%s: %s %v\n", what, shown(v), err) }
	say("initialize", cs.InitializeResult(), nil)
	tools, err := cs.ListTools(ctx, nil)
	say("tools", tools, err)
	for _, name := range []string{"elicit", "input", "sample", "roots", "steps", "nothing"} {
		p := &gosdk.CallToolParams{Name: name, Arguments: map[string]any{}}
		if name == "steps" {
			p.SetProgressToken("p")
		}
		r, err := cs.CallTool(ctx, p)
		say(name, r, err)
	}
	var taken []float64
	for range 3 { // they may come after the result
		select {
		case n := <-steps:
			taken = append(taken, n)
		case <-ctx.Done():
			t.Fatalf("no more steps than %v", taken)
		}
	}
	fmt.Fprintf(&out, "steps: %s\n", shown(taken))
	resources, err := cs.ListResources(ctx, nil)
	say("resources", resources, err)
	read, err := cs.ReadResource(ctx, &gosdk.ReadResourceParams{URI: "test://r"})
	say("read", read, err)
	read, err = cs.ReadResource(ctx, &gosdk.ReadResourceParams{URI: "test://none"})
	say("read what is not there", read, err)
	prompt, err := cs.GetPrompt(ctx, &gosdk.GetPromptParams{Name: "p", Arguments: map[string]string{"a": "b"}})
	say("prompt", prompt, err)
	done, err := cs.Complete(ctx, &gosdk.CompleteParams{Ref: &gosdk.CompleteReference{Type: "ref/prompt", Name: "p"}, Argument: gosdk.CompleteParamsArgument{Name: "a", Value: "E"}})
	say("completion", done, err)
	say("ping", nil, cs.Ping(ctx, nil))
	return out.String()
}
