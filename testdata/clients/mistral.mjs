// One turn with the official Mistral SDK, which checks all that it reads: prints
// what it made of the answer, as JSON. Usage: mistral.mjs SERVER_URL plain|stream
import { HTTPClient, Mistral } from "@mistralai/mistralai";
import { turn } from "./chunks.mjs";
import { proxied } from "./proxied.mjs";

const [serverURL, mode] = process.argv.slice(2);
const { fetch, fetchOptions } = proxied();
const fetcher = fetch && (async (r) => fetch(r.url, { method: r.method, headers: Object.fromEntries(r.headers), body: await r.text(), ...fetchOptions }));
const client = new Mistral({ serverURL, apiKey: "test", ...(fetcher && { httpClient: new HTTPClient({ fetcher }) }) });
const request = {
  model: "mistral-test",
  tools: [{ type: "function", function: { name: "Bash", parameters: { type: "object", properties: { command: { type: "string" } } } } }],
  messages: [{ role: "user", content: process.env.PROMPT ?? "clean up" }],
};
const delta = (said, finish) => ({
  content: said.content,
  calls: said.toolCalls?.map((c) => ({ index: mode === "stream" ? c.index : undefined, id: c.id, name: c.function.name, args: c.function.arguments })),
  finish,
});
const deltas = [];
if (mode === "stream") {
  for await (const { data } of await client.chat.stream(request)) {
    for (const choice of data.choices) deltas.push(delta(choice.delta, choice.finishReason));
  }
} else {
  const [choice] = (await client.chat.complete(request)).choices;
  deltas.push(delta(choice.message, choice.finishReason));
}
console.log(turn(deltas));
