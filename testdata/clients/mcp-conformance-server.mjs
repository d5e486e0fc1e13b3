// The server that the official conformance suite asks for, with the official
// SDK: Streamable HTTP at /mcp, with sessions and resumption, and the transport
// of 2024-11-05 at /sse. Prints its address and serves until it is killed.
import { randomUUID } from "node:crypto";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const text = (text) => ({ type: "text", text });
const image = { type: "image", data: png, mimeType: "image/png" };
const says = (...content) => () => ({ content });
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const object = (properties = {}, required = Object.keys(properties)) => ({ type: "object", properties, required });
const string = { type: "string" };

const elicits = (message, properties, required = []) => async (args, extra) => {
  const params = { mode: "form", message: args.message ?? message, requestedSchema: { type: "object", properties, required } };
  const r = await extra.sendRequest({ method: "elicitation/create", params }, types.ElicitResultSchema);
  return { content: [text(`Elicitation completed: action=${r.action}, content=${JSON.stringify(r.content ?? {})}`)] };
};

// By name: what a tool takes, and what it does.
const tools = {
  test_simple_text: [object(), says(text("This is a simple text response for testing."))],
  test_image_content: [object(), says(image)],
  test_audio_content: [object(), says({ type: "audio", data: wav, mimeType: "audio/wav" })],
  test_embedded_resource: [object(), says({ type: "resource", resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource content." } })],
  test_multiple_content_types: [object(), says(text("Multiple content types test:"), image, { type: "resource", resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: '{"test":"data","value":123}' } })],
  test_error_handling: [object(), () => { throw new Error("This tool intentionally returns an error for testing"); }],
  test_tool_with_logging: [object(), async (_, extra) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await extra.sendNotification({ method: "notifications/message", params: { level: "info", logger: "test", data } });
      await sleep(50);
    }
    return { content: [text("Tool with logging executed successfully")] };
  }],
  test_tool_with_progress: [object(), async (_, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      await sleep(50);
    }
    return { content: [text(String(progressToken ?? "done"))] };
  }],
  test_sampling: [object({ prompt: string }), async ({ prompt }, extra) => {
    const params = { messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 };
    const r = await extra.sendRequest({ method: "sampling/createMessage", params }, types.CreateMessageResultSchema);
    return { content: [text(`LLM response: ${r.content.text}`)] };
  }],
  test_elicitation: [object({ message: string }), elicits("", { username: { ...string, description: "User's response" }, email: { ...string, description: "User's email address" } }, ["username", "email"])],
  test_elicitation_sep1034_defaults: [object(), elicits("Check the defaults", {
    name: { ...string, default: "John Doe" }, age: { type: "integer", default: 30 }, score: { type: "number", default: 95.5 },
    status: { ...string, enum: ["active", "inactive", "pending"], default: "active" }, verified: { type: "boolean", default: true },
  })],
  test_elicitation_sep1330_enums: [object(), elicits("Choose", {
    untitledSingle: { ...string, enum: ["option1", "option2", "option3"] },
    titledSingle: { ...string, oneOf: [{ const: "value1", title: "First Option" }, { const: "value2", title: "Second Option" }, { const: "value3", title: "Third Option" }] },
    legacyEnum: { ...string, enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
    untitledMulti: { type: "array", items: { ...string, enum: ["option1", "option2", "option3"] } },
    titledMulti: { type: "array", items: { anyOf: [{ const: "value1", title: "First Choice" }, { const: "value2", title: "Second Choice" }, { const: "value3", title: "Third Choice" }] } },
  })],
  test_reconnection: [object(), async (_, extra) => {
    extra.closeSSEStream?.();
    await sleep(100);
    return { content: [text("Reconnection test completed")] };
  }],
  json_schema_2020_12_tool: [{
    $schema: "https://json-schema.org/draft/2020-12/schema", type: "object",
    $defs: { address: { type: "object", properties: { street: string, city: string } } },
    properties: { name: string, address: { $ref: "#/$defs/address" } }, additionalProperties: false,
  }, says(text("ok"))],
};

const resources = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: png },
  "test://watched-resource": { mimeType: "text/plain", text: "Watched resource content" },
};

const user = (content) => ({ role: "user", content });
// By name: the arguments that a prompt takes, and its messages.
const prompts = {
  test_simple_prompt: [[], () => [user(text("This is a simple prompt for testing."))]],
  test_prompt_with_arguments: [["arg1", "arg2"], (a) => [user(text(`Prompt with arguments: arg1='${a.arg1}', arg2='${a.arg2}'`))]],
  test_prompt_with_embedded_resource: [["resourceUri"], (a) => [
    user({ type: "resource", resource: { uri: a.resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." } }),
    user(text("Please process the embedded resource above.")),
  ]],
  test_prompt_with_image: [[], () => [user(image), user(text("Please analyze the image above."))]],
};

function server() {
  const s = new Server({ name: "conformance", version: "1.0.0" }, {
    capabilities: { tools: {}, resources: { subscribe: true, listChanged: true }, prompts: { listChanged: true }, logging: {}, completions: {} },
  });
  const on = (schema, fn) => s.setRequestHandler(schema, fn);
  on(types.ListToolsRequestSchema, () => ({ tools: Object.entries(tools).map(([name, [inputSchema]]) => ({ name, description: `Tests ${name}`, inputSchema })) }));
  on(types.CallToolRequestSchema, async ({ params }, extra) => {
    try {
      return await tools[params.name][1](params.arguments ?? {}, extra);
    } catch (err) {
      return { isError: true, content: [text(err.message)] };
    }
  });
  on(types.ListResourcesRequestSchema, () => ({ resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, name: uri, description: uri, mimeType })) }));
  on(types.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" }] }));
  on(types.ReadResourceRequestSchema, ({ params: { uri } }) => {
    const id = /^test:\/\/template\/(.*)\/data$/.exec(uri)?.[1];
    if (id) return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }] };
    return { contents: [{ uri, ...resources[uri] }] };
  });
  on(types.SubscribeRequestSchema, () => ({}));
  on(types.UnsubscribeRequestSchema, () => ({}));
  on(types.ListPromptsRequestSchema, () => ({ prompts: Object.entries(prompts).map(([name, [args]]) => ({ name, description: name, arguments: args.map((name) => ({ name, description: name, required: true })) })) }));
  on(types.GetPromptRequestSchema, ({ params }) => ({ messages: prompts[params.name][1](params.arguments ?? {}) }));
  on(types.CompleteRequestSchema, () => ({ completion: { values: [], total: 0, hasMore: false } }));
  return s;
}

const app = createMcpExpressApp();
const sessions = new Map();
app.all("/mcp", async (req, res) => {
  const id = req.headers["mcp-session-id"];
  let transport = sessions.get(id);
  if (!transport && id) return res.status(404).json({ jsonrpc: "2.0", error: { code: -32001, message: "Session not found" }, id: null });
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: new InMemoryEventStore(), retryInterval: 50,
      onsessioninitialized: (id) => sessions.set(id, transport), onsessionclosed: (id) => sessions.delete(id),
    });
    await server().connect(transport);
  }
  await transport.handleRequest(req, res, req.body);
});
app.get("/sse", async (req, res) => {
  const transport = new SSEServerTransport("/messages", res);
  sessions.set(transport.sessionId, transport);
  await server().connect(transport);
});
app.post("/messages", async (req, res) => {
  const transport = sessions.get(req.query.sessionId);
  if (!transport) return res.status(404).end();
  await transport.handlePostMessage(req, res, req.body);
});
const listening = app.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${listening.address().port}`));
