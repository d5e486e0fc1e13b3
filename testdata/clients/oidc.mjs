// An OpenID Connect provider on loopback: node oidc.mjs REDIRECT_URI GROUPS_FILE
// It prints its issuer. Anybody signs in as whoever they say; GROUPS_FILE, a JSON object,
// has the groups of each person by the address.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { Provider } from "oidc-provider";

const [redirect, groupsFile] = process.argv.slice(2);
const server = createServer((request, response) => provider.callback()(request, response));
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: "holdgate", client_secret: "the client's secret", redirect_uris: [redirect], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["groups"] },
  scopes: ["openid", "profile", "email", "offline_access"],
  pkce: { required: () => true },
  cookies: { keys: ["keys of the cookies"] },
  async findAccount(_, id) {
    return {
      accountId: id,
      async claims() {
        const groups = JSON.parse(readFileSync(groupsFile, "utf8"))[id];
        if (!groups) throw new Error(`nobody is called ${id}`);
        return { sub: id, email: id, email_verified: id !== "unverified@example.com", groups };
      },
    };
  },
});
console.log(issuer);
