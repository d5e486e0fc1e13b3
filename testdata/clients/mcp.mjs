// One tool call with the official MCP client over Streamable HTTP: prints the
// result as JSON. Usage: mcp.mjs URL TOOL ARGUMENTS_JSON
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, name, args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const result = await client.callTool({ name, arguments: JSON.parse(args) });
console.log(JSON.stringify({ tools: tools.map((t) => t.name), result }));
await client.close();
