// Uses what revision 2026-07-28 of MCP has, with the official client, and prints
// what came of it, a line of JSON each. Usage: mcp-modern.mjs URL, with
// mcp-modern-server.mjs as the server. HTTPS_PROXY is heeded.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { proxied } from "./proxied.mjs";

const [url] = process.argv.slice(2);
const { fetch: through, fetchOptions } = proxied();
const fetched = through ? (u, init) => through(u, { ...init, ...fetchOptions }) : fetch;
const say = (what, value) => console.log(JSON.stringify({ what, value }));
const attempt = async (what, fn) => {
  try {
    say(what, await fn());
  } catch (err) {
    say(what, { error: err.code, message: err.message });
  }
};

const client = new Client({ name: "modern", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: "2026-07-28" } } });
client.setRequestHandler("elicitation/create", ({ params }) => {
  say("asked", params);
  return { action: "accept", content: { name: "Ann" } };
});
await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: fetched }));
await attempt("discover", () => client.getServerCapabilities());
await attempt("tools/list", () => client.listTools());
await attempt("a mirrored argument", () => client.callTool({ name: "echo", arguments: { what: "ünï" } }));
const steps = [];
await attempt("progress", () => client.callTool({ name: "steps", arguments: {} }, { onprogress: (p) => steps.push(p) }));
say("its steps", steps);
await attempt("input required", () => client.callTool({ name: "greet", arguments: {} }));
await attempt("resources/read", () => client.readResource({ uri: "test://a" }));
await attempt("prompts/get", () => client.getPrompt({ name: "p" }));
await attempt("a tool that is none", () => client.callTool({ name: "nothing", arguments: {} }));
await attempt("listen", () => new Promise(async (heard) => {
  client.setNotificationHandler("notifications/tools/list_changed", () => heard("the tools have changed"));
  await client.listen({ toolsListChanged: true });
}));

// What an official client does not send: a header that says something else.
const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" }, "io.modelcontextprotocol/clientCapabilities": {} };
await attempt("a header that differs", async () => {
  const r = await fetched(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "greet" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { what: "x" }, _meta: meta } }),
  });
  return [r.status, (await r.json()).error.code];
});
await client.close();
process.exit(0); // the subscription is still open
