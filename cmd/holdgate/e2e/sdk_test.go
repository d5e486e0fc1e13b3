package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A door is a way on which the SDKs reach a provider through the sidecar, and
// the way without it.
type door struct {
	name            string
	provider        *provider
	through, direct func(script string) (base string, env []string)
}

// doors starts one sidecar with its two doors to model providers.
func doors(t *testing.T) (*sidecar, []door) {
	t.Helper()
	plain := newProvider(t)
	secret, origin, caFile := newTLSProvider(t)
	s := serve(t, []string{"SSL_CERT_FILE=" + caFile},
		"--upstream", "anthropic="+plain.URL, "--upstream", "openai="+plain.URL, "--upstream", "gemini="+plain.URL, "--upstream", "ollama="+plain.URL, "--upstream", "bedrock="+plain.URL, "--upstream", "bedrock-invoke="+plain.URL, "--upstream", "responses="+plain.URL, "--upstream", "azure="+plain.URL, "--upstream", "groq="+plain.URL, "--upstream", "mistral="+plain.URL, "--upstream", "secret="+origin)
	plain.calls, secret.calls = inTheMiddle, inTheMiddle
	ours := filepath.Join(s.dir, "ca.pem")
	// The OpenAI SDK does not add /v1 by itself.
	path := func(script string) string {
		return map[string]string{"openai.mjs": "/v1", "responses.mjs": "/v1"}[script]
	}
	return s, []door{
		{
			name: "base URL", provider: plain,
			through: func(script string) (string, []string) {
				return s.base(strings.TrimSuffix(script, ".mjs")) + path(script), nil
			},
			direct: func(script string) (string, []string) { return plain.URL + path(script), nil },
		},
		{
			name: "HTTPS_PROXY", provider: secret,
			through: func(script string) (string, []string) {
				return origin + path(script), []string{"HTTPS_PROXY=http://" + s.agents, "NODE_EXTRA_CA_CERTS=" + ours}
			},
			direct: func(script string) (string, []string) {
				return origin + path(script), []string{"NODE_EXTRA_CA_CERTS=" + caFile}
			},
		},
	}
}

// several begins a command for which the model asks for three calls.
const several = "several-"

// inTheMiddle are the calls for a command: one or, of several, three, the second
// of which is held.
func inTheMiddle(command string) []call {
	name, ok := strings.CutPrefix(command, several)
	if !ok {
		return []call{{id: "toolu_" + slug(command), command: command}}
	}
	return []call{{id: "first", command: "cat " + name}, {id: "second", command: "rm -rf " + several + name}, {id: "third", command: "ls " + name}}
}

// An sdkCase is one SDK at one door in one form, with a client that goes through
// the sidecar and one that goes straight.
type sdkCase struct {
	s               *sidecar
	provider        *provider
	script, mode    string
	name            string // part of its commands, so that its calls are told apart
	through, direct *sdkClient
}

func TestOfficialSDKs(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	s, ways := doors(t)
	for _, d := range ways {
		for _, script := range []string{"anthropic.mjs", "openai.mjs", "responses.mjs", "gemini.mjs", "ollama.mjs", "bedrock.mjs", "bedrock-invoke.mjs", "azure.mjs", "groq.mjs", "mistral.mjs"} {
			dialect := slices.Contains([]string{"azure.mjs", "groq.mjs", "mistral.mjs"}, script)
			if dialect && d.name != "base URL" {
				continue // the door makes no difference to the format
			}
			name := fmt.Sprintf("%s by %s", strings.TrimSuffix(script, ".mjs"), d.name)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				base, env := d.through(script)
				through := newSDKProcess(t, script, env)
				straight, env := d.direct(script)
				direct := through // what its environment does not send elsewhere goes where it is told
				if env != nil {
					direct = newSDKProcess(t, script, env)
				}
				for _, mode := range []string{"plain", "stream"} {
					t.Run(mode, func(t *testing.T) {
						c := sdkCase{s: s, provider: d.provider, script: script, mode: mode, name: slug(name + ", " + mode)}
						c.through, c.direct = newSDKClient(through, script, base, mode), newSDKClient(direct, script, straight, mode)
						t.Run("allowed", c.allowed)
						t.Run("approved", c.approved)
						t.Run("denied", c.denied)
						t.Run("steered", c.steered)
						t.Run("edited", c.edited)
						if d.name == "base URL" {
							t.Run("one of several refused", c.severalRefused)
						}
					})
				}
			})
		}
	}
}

// allowed: the client gets what it would get straight from the provider, and
// the provider what it would get straight from the client.
func (c sdkCase) allowed(t *testing.T) {
	command := "cat " + c.name
	want := c.direct.ask(t, command).output()
	got := c.through.ask(t, command).output()
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got, command) {
		t.Errorf("the message differs from the provider's (-direct +through):\n%s", diff)
	}
	if bodies := c.provider.asked(command); len(bodies) != 2 || bodies[0] != bodies[1] {
		t.Errorf("the provider should get the same bytes twice: %q", bodies)
	}
}

// approved: the client waits, and gets the very call once a person says so.
func (c sdkCase) approved(t *testing.T) {
	command := "rm -rf approved-" + c.name
	want := c.direct.ask(t, command).output()
	p := c.through.ask(t, command)
	r := c.s.held(command)
	if !p.running() {
		t.Fatalf("the client did not wait: %s", p.line)
	}
	c.s.answer(r.ID, "approve")
	if diff := cmp.Diff(want, p.output()); diff != "" {
		t.Errorf("the approved message differs from the provider's (-direct +through):\n%s", diff)
	}
	if n := len(c.provider.asked(command)); n != 2 {
		t.Errorf("the provider was asked %d times, want once directly and once through the sidecar", n)
	}
}

func (c sdkCase) denied(t *testing.T) {
	command := "rm -rf denied-" + c.name
	p := c.through.ask(t, command)
	c.s.must("deny", c.s.held(command).ID, "--reason", "the data is still needed")
	c.refused(t, p.output(), "the data is still needed")
}

func (c sdkCase) steered(t *testing.T) {
	command := "rm -rf steered-" + c.name
	p := c.through.ask(t, command)
	c.s.must("steer", c.s.held(command).ID, "move it to archive/ instead")
	c.refused(t, p.output(), "move it to archive/ instead")
}

// severalRefused: of three calls the second is refused, and the client gets the
// two others, whole and in their order.
func (c sdkCase) severalRefused(t *testing.T) {
	command := several + c.name
	want := c.turn(t, c.direct.ask(t, command).output())
	p := c.through.ask(t, command)
	c.s.must("deny", c.s.held("rm -rf "+command).ID, "--reason", "the data is still needed")
	got := c.turn(t, p.output())
	if !strings.HasPrefix(got.text, promise) || !strings.Contains(got.text, "the data is still needed") {
		t.Errorf("the model's words and the refusal should be there: %q", got.text)
	}
	want.text, got.text = "", ""
	want.calls = slices.Delete(want.calls, 1, 2)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sdkTurn{})); diff != "" {
		t.Errorf("more than the call has gone (-want +got):\n%s", diff)
	}
}

// refused checks that a message holds words in the place of the call, and ends
// as a message of words alone does.
func (c sdkCase) refused(t *testing.T, out, why string) {
	t.Helper()
	m := c.turn(t, out)
	want := map[string]string{"openai.mjs": "stop", "azure.mjs": "stop", "groq.mjs": "stop", "mistral.mjs": "stop", "anthropic.mjs": "end_turn", "gemini.mjs": "STOP", "responses.mjs": "completed", "ollama.mjs": "stop", "bedrock.mjs": "end_turn", "bedrock-invoke.mjs": "end_turn"}[c.script]
	if len(m.calls) != 0 || m.stop != want || !strings.HasPrefix(m.text, promise) || !strings.Contains(m.text, "[holdgate]") || !strings.Contains(m.text, why) {
		t.Errorf("want %q, then the notice with %q, and to stop by %q; got %s", promise, why, want, out)
	}
}

// An sdkTurn is a model's message as an SDK gives it to its user.
type sdkTurn struct {
	text, stop string
	calls      []sdkCall
}

// An sdkCall is a call in it.
type sdkCall struct {
	ID, Name  string
	Arguments map[string]any
}

// turn reads what a script has printed.
func (c sdkCase) turn(t *testing.T, out string) (m sdkTurn) {
	t.Helper()
	switch c.script {
	case "responses.mjs":
		r := parse[struct {
			Status     string
			OutputText string `json:"output_text"`
			Output     []struct {
				Type, Name, Arguments string
				CallID                string `json:"call_id"`
			}
		}](t, out)
		m.text, m.stop = r.OutputText, r.Status
		for _, item := range r.Output {
			if item.Type != "message" {
				m.calls = append(m.calls, sdkCall{item.CallID, item.Name, parse[map[string]any](t, item.Arguments)})
			}
		}
	case "gemini.mjs", "groq.mjs", "mistral.mjs", "ollama.mjs", "bedrock.mjs", "bedrock-invoke.mjs":
		g := parse[struct {
			Text, Finish string
			Calls        []struct {
				ID, Name string
				Args     map[string]any
			}
		}](t, out)
		m.text, m.stop = g.Text, g.Finish
		for _, k := range g.Calls {
			m.calls = append(m.calls, sdkCall{k.ID, k.Name, k.Args})
		}
	case "openai.mjs", "azure.mjs":
		o := parse[struct {
			Choices []struct {
				Message struct {
					Content   string
					ToolCalls []struct {
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
		}](t, out).Choices[0]
		m.text, m.stop = o.Message.Content, o.FinishReason
		for _, k := range o.Message.ToolCalls {
			m.calls = append(m.calls, sdkCall{k.ID, k.Function.Name, parse[map[string]any](t, k.Function.Arguments)})
		}
	default:
		a := parse[struct {
			Content []struct {
				Type, Text, ID, Name string
				Input                map[string]any
			}
			StopReason string `json:"stop_reason"`
		}](t, out)
		m.stop = a.StopReason
		for _, b := range a.Content {
			m.text += b.Text
			if b.Type != "text" {
				m.calls = append(m.calls, sdkCall{b.ID, b.Name, b.Input})
			}
		}
	}
	return m
}
