// A tool call as a task, with the official MCP client over Streamable HTTP, or over
// the standard streams of a command: prints all that comes of it, a line of JSON
// each, the tasks that the client then has, and the result once more.
// Usage: mcp-tasks.mjs URL TOOL ARGUMENTS_JSON, or mcp-tasks.mjs stdio TOOL ARGUMENTS_JSON CMD ARGS
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [url, name, args, command, ...rest] = process.argv.slice(2);
const transport = command ? new StdioClientTransport({ command, args: rest, env: process.env }) : new StreamableHTTPClientTransport(new URL(url));
const client = new Client({ name: "test", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "ann" } }));
await client.connect(transport);
await client.listTools();
const say = (value) => console.log(JSON.stringify(value));
let id;
for await (const m of client.experimental.tasks.callToolStream({ name, arguments: JSON.parse(args) })) {
  id ??= m.task?.taskId;
  say(m.type === "error" ? { type: "error", message: m.error.message } : m);
}
say({ type: "list", tasks: (await client.experimental.tasks.listTasks()).tasks.map((t) => t.taskId) });
say({ type: "again", result: await client.experimental.tasks.getTaskResult(id, CallToolResultSchema) });
await client.close();
