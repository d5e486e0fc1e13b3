// The official MCP client with a server on standard streams, which it starts, or
// with one at a URL where CMD is one.
// Usage: mcp-stdio.mjs call TOOL ARGUMENTS_JSON CMD ARGS, which prints what one
// call gives, made anew as long as the result asks for that, or mcp-stdio.mjs everything CMD ARGS, which uses every feature of
// @modelcontextprotocol/server-everything and prints what came of each, a line
// of JSON each. EVERYTHING among ARGS stands for that server's script, and
// FILESYSTEM for that of server-filesystem.
import { createRequire } from "node:module";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

const { resolve } = createRequire(import.meta.url);
const [mode, ...rest] = process.argv.slice(2);
const [tool, argument] = mode === "call" ? rest.splice(0, 2) : [];
const [command, ...args] = rest.map((a) => ({
  EVERYTHING: () => resolve("@modelcontextprotocol/server-everything/dist/index.js"),
  FILESYSTEM: () => resolve("@modelcontextprotocol/server-filesystem/dist/index.js"),
})[a]?.() ?? a);

const client = new Client({ name: "test", version: "1.0.0" }, { capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } } });
const transport = command.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: process.env, stderr: mode === "call" ? "inherit" : "ignore" });
const say = (what, value) => console.log(JSON.stringify({ what, value }));

if (mode === "call") {
  await client.connect(transport);
  const { tools } = await client.listTools();
  let result;
  do result = await client.callTool({ name: tool, arguments: JSON.parse(argument) });
  while (result.isError && result.content[0].text.includes("Call the tool again"));
  console.log(JSON.stringify({ tools: tools.map((t) => t.name), result }));
  await client.close();
  process.exit();
}

let heard;
const hears = (schema) => new Promise((done) => client.setNotificationHandler(schema, () => done("heard")));
client.setRequestHandler(types.CreateMessageRequestSchema, ({ params }) => ({ role: "assistant", model: "m", content: { type: "text", text: "sampled: " + params.messages[0].content.text } }));
client.setRequestHandler(types.ElicitRequestSchema, () => ({ action: "accept", content: { name: "ann", check: true } }));
client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///srv/x", name: "x" }] }));
const attempt = async (what, fn) => {
  try {
    say(what, await fn());
  } catch (err) {
    say(what, { code: err.code, message: err.message });
  }
};
const call = (name, args = {}, options = undefined) => () => client.callTool({ name, arguments: args }, undefined, options);

await client.connect(transport);
say("initialize", [client.getServerVersion(), client.getServerCapabilities(), client.getInstructions()]);
await attempt("ping", () => client.ping());
await attempt("tools/list", () => client.listTools());
await attempt("echo", call("echo", { message: "ü \u2028 \u{1f600}" }));
await attempt("a tool that is none", call("nothing"));
await attempt("structured", async () => Object.keys((await call("get-structured-content", { location: "New York" })()).structuredContent));
const steps = [];
await attempt("long", call("trigger-long-running-operation", { duration: 0.4, steps: 4 }, { onprogress: (p) => steps.push(p) }));
say("its first steps", steps.slice(0, 2)); // the last may come behind the result
await attempt("sampling", call("trigger-sampling-request", { prompt: "hello", maxTokens: 10 }));
await attempt("elicitation", call("trigger-elicitation-request"));
await attempt("roots", call("get-roots-list"));
await attempt("several at once", () => Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => call("get-sum", { a: n, b: n })())));
await attempt("cancelled", () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort("enough"), 100);
  return call("trigger-long-running-operation", { duration: 1, steps: 2 }, { signal: stop.signal })();
});
const { resources } = await client.listResources();
say("resources/list", resources);
await attempt("resources/read", () => client.readResource({ uri: resources[0].uri }));
await attempt("resources/templates/list", () => client.listResourceTemplates());
await attempt("prompts/list", () => client.listPrompts());
await attempt("prompts/get", () => client.getPrompt({ name: "args-prompt", arguments: { city: "ä", state: "b" } }));
await attempt("completion", () => client.complete({ ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "E" } }));
await attempt("another method", () => client.request({ method: "acme/search", params: { q: 1 } }, types.EmptyResultSchema));
await client.sendRootsListChanged();
await client.setLoggingLevel("debug");
heard = [hears(types.LoggingMessageNotificationSchema), hears(types.ResourceUpdatedNotificationSchema)];
await attempt("resources/subscribe", () => client.subscribeResource({ uri: resources[0].uri }));
await attempt("updates", call("toggle-subscriber-updates"));
await attempt("logging", call("toggle-simulated-logging"));
say("both were", await Promise.all(heard));
await transport.terminateSession?.();
await client.close();
