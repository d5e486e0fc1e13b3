// One turn with the official Ollama client: prints what the client made of the
// answer, as JSON. Usage: ollama.mjs BASE_URL plain|stream
import { Ollama } from "ollama";
import { proxied } from "./proxied.mjs";

const [host, mode] = process.argv.slice(2);
const { fetch, fetchOptions } = proxied();
const client = new Ollama({ host, ...(fetch && { fetch: (url, options) => fetch(url, { ...options, ...fetchOptions }) }) });
const request = {
  model: "llama-test",
  messages: [{ role: "user", content: process.env.PROMPT ?? "clean up" }],
  tools: [{ type: "function", function: { name: "Bash", parameters: { type: "object", properties: { command: { type: "string" } } } } }],
};
const replies = mode === "stream" ? await client.chat({ ...request, stream: true }) : [await client.chat({ ...request, stream: false })];
let text = "";
let finish;
const calls = [];
for await (const r of replies) {
  text += r.message.content;
  for (const c of r.message.tool_calls ?? []) calls.push({ name: c.function.name, args: c.function.arguments });
  finish = r.done_reason ?? finish;
}
console.log(JSON.stringify({ text, calls, finish }));
