// Signs in to an MCP server with the official client's flow (metadata,
// registration, PKCE, token), and prints a tool's result as mcp.mjs does.
// Usage: mcp-oauth.mjs URL, with mcp-oauth-server.mjs as the server.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const url = new URL(process.argv[2]);
const redirectUrl = "http://127.0.0.1:1/callback";
const kept = {};
let code;
const provider = {
  redirectUrl,
  clientMetadata: { client_name: "test", redirect_uris: [redirectUrl], grant_types: ["authorization_code"], response_types: ["code"], token_endpoint_auth_method: "none" },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  // A user's browser, whose user agrees.
  redirectToAuthorization: async (to) => {
    const r = await fetch(to, { redirect: "manual" });
    code = new URL(r.headers.get("location")).searchParams.get("code");
  },
};
const connect = () => {
  const client = new Client({ name: "test", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
  return [client, transport, client.connect(transport)];
};
let [client, transport, connected] = connect();
try {
  await connected;
  throw new Error("the server wants no token");
} catch (err) {
  if (!(err instanceof UnauthorizedError)) throw err;
  await transport.finishAuth(code);
}
[client, transport, connected] = connect();
await connected;
const { tools } = await client.listTools();
const result = await client.callTool({ name: "whoami", arguments: {} });
console.log(JSON.stringify({ tools: tools.map((t) => t.name), result }));
await client.close();
