// A server of MCP's revision 2026-07-28, which has no sessions, with the
// official SDK. Prints its address and serves until it is killed.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { Server, createMcpHandler, inputRequired } from "@modelcontextprotocol/server";

const text = (text) => ({ type: "text", text });
const tools = [
  { name: "echo", description: "Says it again", inputSchema: { type: "object", properties: { what: { type: "string", "x-mcp-header": "What" } } } },
  { name: "steps", description: "Takes some", inputSchema: { type: "object" } },
  { name: "greet", description: "Asks for a name", inputSchema: { type: "object" } },
];
const run = {
  echo: ({ what }) => ({ content: [text(what)] }),
  steps: async (_, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [1, 2, 3]) await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
    return { content: [text("taken")] };
  },
  greet: (_, { mcpReq }) => {
    const name = mcpReq.inputResponses?.name?.content?.name;
    if (name) return { content: [text(`Good day, ${name}`)] };
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    return inputRequired({ inputRequests: { name: inputRequired.elicit({ message: "Who are you?", requestedSchema }) } });
  },
};
const handler = createMcpHandler(() => {
  const s = new Server({ name: "modern", version: "1.0.0" }, { capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} } });
  s.setRequestHandler("tools/list", () => ({ tools }));
  s.setRequestHandler("tools/call", ({ params }, ctx) => run[params.name](params.arguments ?? {}, ctx));
  s.setRequestHandler("resources/list", () => ({ resources: [{ uri: "test://a", name: "a" }] }));
  s.setRequestHandler("resources/read", ({ params: { uri } }) => ({ contents: [{ uri, text: "It is here." }] }));
  s.setRequestHandler("prompts/list", () => ({ prompts: [{ name: "p" }] }));
  s.setRequestHandler("prompts/get", () => ({ messages: [{ role: "user", content: text("Well?") }] }));
  return s;
}, { legacy: "reject" });
setInterval(() => handler.notify.toolsChanged(), 50); // for those that listen

const server = createServer(async (req, res) => {
  const stop = new AbortController();
  res.on("close", () => stop.abort());
  const body = req.method === "POST" ? Readable.toWeb(req) : undefined;
  const r = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers: req.headers, body, duplex: "half", signal: stop.signal }));
  res.writeHead(r.status, Object.fromEntries(r.headers)).flushHeaders();
  if (!r.body) return res.end();
  Readable.fromWeb(r.body).on("error", () => res.destroy()).pipe(res);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
