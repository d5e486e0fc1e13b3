// Servers with one tool, which say what they ran: both official SDKs without
// sessions, at /v1 and /v2. GET /ran gives all that ran so far, as a JSON list of
// {number, name, args}; number is the header X-Corpus-Recording of the request.
// Prints its address and serves until it is killed.
import { AsyncLocalStorage } from "node:async_hooks";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { Server as Server1 } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Server as Server2, createMcpHandler } from "@modelcontextprotocol/server";

const numbers = new AsyncLocalStorage();
const ran = [];
const tools = [{ name: "remove", inputSchema: { type: "object", properties: { path: { type: "string" } } } }];
const info = { name: "variants", version: "1.0.0" };
const options = { capabilities: { tools: {} } };
const run = ({ params }) => {
  ran.push({ number: numbers.getStore(), name: String(params.name), args: params.arguments });
  return { content: [{ type: "text", text: "removed" }] };
};

async function first(req, res) {
  const server = new Server1(info, options);
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, run);
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  res.on("close", () => server.close());
  await server.connect(transport);
  await transport.handleRequest(req, res);
}

const handler = createMcpHandler(() => {
  const server = new Server2(info, options);
  server.setRequestHandler("tools/list", () => ({ tools }));
  server.setRequestHandler("tools/call", run);
  return server;
});

async function second(req, res) {
  const r = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers: req.headers, body: Readable.toWeb(req), duplex: "half" }));
  res.writeHead(r.status, Object.fromEntries(r.headers));
  if (!r.body) return res.end();
  Readable.fromWeb(r.body).on("error", () => res.destroy()).pipe(res);
}

const server = createServer((req, res) => {
  if (req.url === "/ran") return res.end(JSON.stringify(ran));
  numbers.run(req.headers["x-corpus-recording"], async () => {
    try {
      await (req.url.startsWith("/v1") ? first : second)(req, res);
    } catch (e) {
      res.writeHead(500).end(String(e));
    }
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
