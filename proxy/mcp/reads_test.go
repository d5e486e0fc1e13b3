package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
)

const (
	plainSchema = `{"type":"object","properties":{"owner":{"type":"string"},"page":{"type":"number"},"page_token":{"type":"string"},"query":{"type":"string","description":"What to look for"}},"required":["owner"]}`
	noSchema    = `{"type":"object","properties":{}}`
)

func TestToolsThatReadByAllThatTheirServerSays(t *testing.T) {
	tests := []struct {
		name, text, schema string
		want               bool
	}{
		{"get_merge_request", "Get a merge request of a project.", plainSchema, true},
		{"list_commits", "Lists the commits of a branch. Returns 30 of them by default.", plainSchema, true},
		{"getWorkflowRun", "One run, with its jobs", noSchema, true},
		{"slack_get_channel_history", "Get the latest messages of a channel", plainSchema, true},
		{"issue_read", "Get what there is to know of an issue.", `{"type":"object","properties":{"method":{"type":"string","enum":["get","get_comments","get_labels"]},"state":{"enum":["OPEN","CLOSED"]}},"additionalProperties":false}`, true},
		{"git_status", "Shows the state of the working tree", noSchema, true},
		{"API-get-block-children", "Retrieves what is in a block.", noSchema, true},
		{"search_nodes", "Search the graph for nodes.\nBest for names.", plainSchema, true},
		{"find_order", "Find an order of a customer", `{"type":"object","properties":{"since":{"anyOf":[{"type":"string"},{"type":"null"}]},"open":{"type":"boolean"},"labels":{"type":"array","items":{"type":"string"}}}}`, true},
		{"count_rows", "Count the rows that match", `{"type":"object","properties":{"filters":{"type":"array","items":{"type":"object","properties":{"field":{"type":"string"},"value":{"type":"string"}}}}}}`, true},

		{"frob", "Gets a thing.", noSchema, false},
		{"delete_issue", "Get rid of an issue.", noSchema, false},
		{"get_or_create_user", "Get a user", noSchema, false},
		{"find_and_replace", "Find text", noSchema, false},
		{"check_out", "Check something", noSchema, false},
		{"run_query", "Query a thing", noSchema, false},
		{"git_log_append", "Shows the log", noSchema, false},
		{"log_message", "Logs a message", noSchema, false},
		{"return_order", "Returns an order to the seller.", noSchema, false},
		{"wipe_history", "Shows the history", noSchema, false},
		{"list_api_keys", "List them", noSchema, false},
		{"read_secret", "Read it", noSchema, false},
		{"get_password", "Get it", noSchema, false},
		{"", "Get it", noSchema, false},
		{"shop_list", "Fills a basket from a list", noSchema, false},

		{"get_page", "", noSchema, false},
		{"get_page", "Deletes a page.", noSchema, false},
		{"get_page", "Gets a page and deletes the old one", noSchema, false},
		{"get_page", "Gets a page. It then marks it as read, and sends it on.", noSchema, false},
		{"get_page", "Runs the page", noSchema, false},
		{"get_page", "Удаляет страницу", noSchema, false},

		{"get_page", "Gets a page", "", false},
		{"get_page", "Gets a page", `[]`, false},
		{"get_page", "Gets a page", `{"type":"object"}`, false},
		{"get_page", "Gets a page", `{"type":"object","properties":{},"additionalProperties":true}`, false},
		{"get_page", "Gets a page", `{"type":"object","properties":{},"additionalProperties":{"type":"string"}}`, false},
		{"get_page", "Gets a page", `{"type":"object","properties":{},"patternProperties":{"^x":{"type":"string"}}}`, false},
		{"search_docs", "Search", `{"type":"object","properties":{"query":{"type":"string","description":"The SQL to run"}}}`, false},
		{"query_db", "Query it", `{"type":"object","properties":{"query":{"type":"string"}}}`, false},
	}
	for _, tt := range tests {
		if got := mcp.Reads(holdgate.Definition{Name: tt.name, Description: tt.text, Schema: json.RawMessage(tt.schema)}); got != tt.want {
			t.Errorf("%s, %q, %s: reads %v, want %v", tt.name, tt.text, tt.schema, got, tt.want)
		}
	}
}

// Each of these could make a tool with an honest name do something.
func TestParametersThatAreFreeToAct(t *testing.T) {
	text := `{"type":"string"}`
	for _, p := range []string{
		"command", "sql", "url", "code", "path", "script", "filePath", "output_file", "callback_uri", "webhook", "body", "payload", "expression", "method", "action", "update_cache",
		"mark_as_read", "create_if_missing", "statement", "args", "headers",
	} {
		for at, schema := range map[string]string{
			"a parameter":         `{"type":"object","properties":{"P":S}}`,
			"in a list":           `{"type":"object","properties":{"x":{"type":"array","items":{"type":"object","properties":{"P":S}}}}}`,
			"in one of several":   `{"type":"object","properties":{"x":{"anyOf":[{"type":"object","properties":{"P":S}},{"type":"null"}]}}}`,
			"in a definition":     `{"type":"object","properties":{"x":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"object","properties":{"P":S}}}}`,
			"in a condition":      `{"type":"object","properties":{},"if":{"required":["x"]},"then":{"properties":{"P":S}}}`,
			"that may be missing": `{"type":"object","properties":{"P":{"anyOf":[S,{"type":"null"}]}}}`,
			"a list":              `{"type":"object","properties":{"P":{"type":"array","items":S}}}`,
		} {
			schema = strings.NewReplacer(`"P"`, `"`+p+`"`, "S", text).Replace(schema)
			if mcp.Reads(holdgate.Definition{Name: "get_page", Description: "Gets a page", Schema: json.RawMessage(schema)}) {
				t.Errorf("%s %s reads: %s", p, at, schema)
			}
		}
	}
	for p, want := range map[string]bool{
		`"path":{"enum":["a","b"],"type":"string"}`:         true,
		`"path":{"type":"integer"}`:                         true,
		`"what":{"enum":["list","delete"]}`:                 false,
		`"what":{"const":"purge"}`:                          false,
		`"filter":{}`:                                       false,
		`"filter":true`:                                     false,
		`"filter":{"type":"object"}`:                        false,
		`"filter":{"type":["object","null"]}`:               false,
		`"filter":{"description":"a filter"}`:               false,
		`"force":{"type":"boolean"}`:                        true,
		`"delete_after":{"type":"boolean"}`:                 false,
		`"7":{"type":"string"}`:                             false,
		`"path":{"anyOf":[{"type":"integer"},{"const":1}]}`: false,
	} {
		schema := `{"type":"object","properties":{` + p + `}}`
		if got := mcp.Reads(holdgate.Definition{Name: "get_page", Description: "Gets a page", Schema: json.RawMessage(schema)}); got != want {
			t.Errorf("%s: reads %v, want %v", p, got, want)
		}
	}
	deep := strings.Repeat(`{"type":"array","items":`, 40) + text + strings.Repeat("}", 40)
	if mcp.Reads(holdgate.Definition{Name: "get_page", Description: "Gets a page", Schema: json.RawMessage(`{"type":"object","properties":{"x":` + deep + `}}`)}) {
		t.Error("a schema that is deeper than is looked at reads")
	}
}

func TestHintsOnlyMakeAToolReadLess(t *testing.T) {
	for hints, want := range map[string]bool{
		`{"readOnlyHint":true}`: true, `{"destructiveHint":false}`: true, ``: true,
		`{"readOnlyHint":false}`: false, `{"readOnlyHint":true,"destructiveHint":true}`: false,
	} {
		d := holdgate.Definition{Name: "get_page", Description: "Gets a page", Schema: json.RawMessage(noSchema), Annotations: json.RawMessage(hints)}
		if got := mcp.Reads(d); got != want {
			t.Errorf("%s: reads %v, want %v", hints, got, want)
		}
		d.Name = "frob"
		if mcp.Reads(d) {
			t.Errorf("%s make a tool of any name read", hints)
		}
	}
}

func TestArgumentsThatADefinitionDeclares(t *testing.T) {
	d := holdgate.Definition{Name: "get_page", Schema: json.RawMessage(plainSchema)}
	for arguments, want := range map[string]bool{`{}`: true, `{"owner":"a","page":1}`: true, `{"owner":"a","url":"b"}`: false, `{"Owner":"a"}`: false, `[]`: false} {
		if got := mcp.Declares(d, []byte(arguments)); got != want {
			t.Errorf("%s: declared %v, want %v", arguments, got, want)
		}
	}
}
