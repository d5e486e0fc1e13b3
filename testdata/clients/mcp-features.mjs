// Uses every feature of a server that an official client of MCP has, and prints
// what came of each, a line of JSON each. Usage: mcp-features.mjs URL http|sse,
// with mcp-conformance-server.mjs as the server. HTTPS_PROXY is heeded.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";
import { proxied } from "./proxied.mjs";

const [url, transport] = process.argv.slice(2);
const { fetch: through, fetchOptions } = proxied();
const options = through ? { fetch: (u, init) => through(u, { ...init, ...fetchOptions }) } : {};
const client = new Client({ name: "features", version: "1.0.0" }, { capabilities: { sampling: {}, elicitation: { form: {} }, roots: {} } });

const say = (what, value) => console.log(JSON.stringify({ what, value }));
const logged = [];
client.setRequestHandler(types.CreateMessageRequestSchema, ({ params }) => {
  logged.push(params);
  return { model: "m", role: "assistant", content: { type: "text", text: "sampled: " + params.messages[0].content.text } };
});
client.setRequestHandler(types.ElicitRequestSchema, ({ params }) => {
  logged.push(params);
  return { action: "accept", content: { username: "ann", email: "ann@example.com", name: "Ann" } };
});
client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => { logged.push(params); });

const attempt = async (what, fn) => {
  logged.length = 0;
  try {
    say(what, { result: await fn(), logged: [...logged] });
  } catch (err) {
    say(what, { error: err.code, message: err.message });
  }
};
const call = (name, args = {}, options = undefined) => () => client.callTool({ name, arguments: args }, undefined, options);

const Transport = transport === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
await client.connect(new Transport(new URL(url), options));
say("initialize", [client.getServerCapabilities(), client.getServerVersion()]);
await attempt("ping", () => client.ping());
await attempt("tools/list", () => client.listTools());
await attempt("logging/setLevel", () => client.setLoggingLevel("debug"));
for (const name of ["test_simple_text", "test_multiple_content_types", "test_error_handling", "test_tool_with_logging"]) await attempt(name, call(name));
await attempt("a tool that is none", call("nothing"));
const steps = [];
await attempt("progress", call("test_tool_with_progress", {}, { onprogress: (p) => steps.push(p) }));
say("its steps", steps);
await attempt("sampling", call("test_sampling", { prompt: "hello" }));
await attempt("elicitation", call("test_elicitation", { message: "who?" }));
await attempt("several at once", () => Promise.all(["test_simple_text", "test_tool_with_progress", "test_image_content", "test_elicitation"].map((name) => call(name, { message: "who?" })())));
await attempt("resources/list", () => client.listResources());
await attempt("resources/templates/list", () => client.listResourceTemplates());
for (const uri of ["test://static-text", "test://static-binary", "test://template/7/data"]) await attempt(uri, () => client.readResource({ uri }));
await attempt("resources/subscribe", () => client.subscribeResource({ uri: "test://watched-resource" }));
await attempt("resources/unsubscribe", () => client.unsubscribeResource({ uri: "test://watched-resource" }));
await attempt("prompts/list", () => client.listPrompts());
await attempt("prompts/get", () => client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "ü" } }));
await attempt("completion", () => client.complete({ ref: { type: "ref/prompt", name: "test_prompt_with_arguments" }, argument: { name: "arg1", value: "a" } }));
await attempt("another method", () => client.request({ method: "acme/search", params: { q: 1 } }, types.EmptyResultSchema));
await attempt("cancelled", () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort("enough"), 20);
  return call("test_tool_with_logging", {}, { signal: stop.signal })();
});
client.setNotificationHandler(types.LoggingMessageNotificationSchema, () => {}); // of the cancelled call, at any time
logged.length = 0;
if (transport !== "sse") {
  await attempt("reconnection", call("test_reconnection"));
  await attempt("the end of the session", () => client.transport.terminateSession());
}
await client.close();
