// An MCP server that wants a token, and the authorization server that issues it
// to whoever asks. Prints the server's address and serves until it is killed.
import { randomUUID } from "node:crypto";
import express from "express";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const listen = (app) => new Promise((done) => {
  const server = app.listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${server.address().port}`));
});

const codes = new Set();
const tokens = new Set();
const issuer = express();
issuer.use(express.json(), express.urlencoded({ extended: false }));
const as = await listen(issuer);
issuer.get("/.well-known/oauth-authorization-server", (_, res) => res.json({
  issuer: as, authorization_endpoint: as + "/authorize", token_endpoint: as + "/token", registration_endpoint: as + "/register",
  response_types_supported: ["code"], code_challenge_methods_supported: ["S256"], token_endpoint_auth_methods_supported: ["none"],
}));
issuer.post("/register", (req, res) => res.status(201).json({ ...req.body, client_id: randomUUID() }));
issuer.get("/authorize", (req, res) => {
  const code = randomUUID();
  codes.add(code);
  res.redirect(`${req.query.redirect_uri}?code=${code}`);
});
issuer.post("/token", (req, res) => {
  if (!codes.delete(req.body.code)) return res.status(400).json({ error: "invalid_grant" });
  const access_token = randomUUID();
  tokens.add(access_token);
  res.json({ access_token, token_type: "Bearer", expires_in: 3600 });
});

const app = express();
app.use(express.json());
const own = await listen(app);
const metadata = own + "/metadata-of-mcp"; // where no client would look by itself
app.get("/metadata-of-mcp", (_, res) => res.json({ resource: own + "/mcp", authorization_servers: [as] }));
app.all("/mcp", async (req, res) => {
  if (!tokens.has(req.headers.authorization?.replace("Bearer ", ""))) {
    return res.status(401).set("WWW-Authenticate", `Bearer resource_metadata="${metadata}"`).json({ error: "invalid_token" });
  }
  const server = new McpServer({ name: "protected", version: "1.0.0" });
  server.registerTool("whoami", { description: "Says that the token was good" }, () => ({ content: [{ type: "text", text: "somebody with a token" }] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(req, res, req.body);
});
console.log(own);
