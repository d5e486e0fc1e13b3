// One tool call with the official MCP client over Streamable HTTP: prints the
// result as JSON. Usage: mcp.mjs URL TOOL ARGUMENTS_JSON [TIMEOUT_MS]; progress
// resets that timeout. With "again" in its place the call is made anew as long as
// the result asks for that.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, name, args, timeout] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const options = timeout > 0 ? { timeout: Number(timeout), resetTimeoutOnProgress: true, onprogress: () => {} } : undefined;
let result;
let calls = 0;
do {
  result = await client.callTool({ name, arguments: JSON.parse(args) }, undefined, options);
  calls++;
} while (timeout === "again" && result.isError && result.content[0].text.includes("Call the tool again"));
console.log(JSON.stringify({ tools: tools.map((t) => t.name), result, calls }));
await client.close();
