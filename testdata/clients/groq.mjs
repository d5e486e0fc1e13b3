// One turn with the official Groq SDK: prints what it made of the answer, as
// JSON. Usage: groq.mjs BASE_URL plain|stream
import Groq from "groq-sdk";
import { turn } from "./chunks.mjs";
import { proxied } from "./proxied.mjs";

const [baseURL, mode] = process.argv.slice(2);
const client = new Groq({ baseURL, apiKey: "test", maxRetries: 4, ...proxied() });
const request = {
  model: "llama-test",
  tools: [{ type: "function", function: { name: "Bash", parameters: { type: "object", properties: { command: { type: "string" } } } } }],
  messages: [{ role: "user", content: process.env.PROMPT ?? "clean up" }],
};
const delta = (said, finish) => ({
  content: said.content,
  calls: said.tool_calls?.map((c) => ({ index: c.index, id: c.id, name: c.function?.name, args: c.function?.arguments })),
  finish,
});
const deltas = [];
if (mode === "stream") {
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    for (const choice of chunk.choices) deltas.push(delta(choice.delta, choice.finish_reason));
  }
} else {
  const [choice] = (await client.chat.completions.create(request)).choices;
  deltas.push(delta(choice.message, choice.finish_reason));
}
console.log(turn(deltas));
