// @modelcontextprotocol/server-filesystem, which speaks stdio, behind the
// official Streamable HTTP transport: each session is a server of its own.
// Prints the address. Usage: mcp-filesystem.mjs FOLDER
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const program = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-filesystem/dist/index.js");
const sessions = new Map();

async function open() {
  const stdio = new StdioClientTransport({ command: process.execPath, args: [program, process.argv[2]], stderr: "ignore" });
  const http = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, http),
  });
  http.onmessage = (m) => stdio.send(m);
  stdio.onmessage = (m) => http.send(m);
  http.onclose = () => stdio.close();
  await stdio.start();
  await http.start();
  return http;
}

const server = createServer(async (req, res) => {
  const transport = sessions.get(req.headers["mcp-session-id"]) ?? (await open());
  await transport.handleRequest(req, res);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
