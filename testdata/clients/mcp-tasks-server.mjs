// A server with tasks of MCP's revision 2025-11-25, with the official SDK. Its tools write a line into a file each time they are run: note
// at once, later as a task, which asks its client for a name where it is told to.
// Prints its address and serves until it is killed, or serves its standard streams.
// Usage: mcp-tasks-server.mjs FILE [stdio]
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const file = process.argv[2];
const sessions = new Map();
const inputSchema = { line: z.string(), ask: z.boolean().optional() };
const says = (text) => ({ content: [{ type: "text", text }] });
const run = (tool, { line }) => {
  appendFileSync(file, `${tool} ${line}\n`);
  return says(`wrote ${line}`);
};

function server(taskStore) {
  const s = new McpServer({ name: "tasks", version: "1.0.0" }, {
    capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore, taskMessageQueue: new InMemoryTaskMessageQueue(),
  });
  s.registerTool("note", { description: "Writes a line", inputSchema }, async (args) => run("note", args));
  const work = async (args, { taskStore, sendRequest }, taskId) => {
    let line = args.line;
    if (args.ask) {
      const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
      const r = await sendRequest({ method: "elicitation/create", params: { mode: "form", message: "Who?", requestedSchema } }, ElicitResultSchema, { relatedTask: { taskId } });
      line += ` for ${r.content?.name}`;
    }
    await taskStore.storeTaskResult(taskId, "completed", run("later", { line }));
  };
  s.experimental.tasks.registerToolTask("later", { description: "Writes a line, later", inputSchema, execution: { taskSupport: "required" } }, {
    createTask: async (args, extra) => {
      const task = await extra.taskStore.createTask({ ttl: 600_000, pollInterval: 50 });
      work(args, extra, task.taskId).catch((err) => console.error(err));
      return { task };
    },
    getTask: (_, extra) => extra.taskStore.getTask(extra.taskId),
    getTaskResult: (_, extra) => extra.taskStore.getTaskResult(extra.taskId),
  });
  return s;
}

const http = createServer(async (req, res) => {
  let transport = sessions.get(req.headers["mcp-session-id"]);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => sessions.set(id, transport) });
    await server(new InMemoryTaskStore()).connect(transport);
  }
  await transport.handleRequest(req, res);
});
if (process.argv[3] === "stdio") await server(new InMemoryTaskStore()).connect(new StdioServerTransport());
else http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
