// One turn with the official OpenAI SDK over Chat Completions: prints the
// message that the SDK made of the answer, as JSON. Usage: openai.mjs BASE_URL plain|stream
import OpenAI from "openai";
import { proxied } from "./proxied.mjs";

const [baseURL, mode] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "test", maxRetries: 4, ...proxied() });
const request = {
  model: "gpt-test",
  tools: [{ type: "function", function: { name: "Bash", parameters: { type: "object", properties: { command: { type: "string" } } } } }],
  messages: [{ role: "user", content: process.env.PROMPT ?? "clean up" }],
};
const completion =
  mode === "stream" ? await client.chat.completions.stream(request).finalChatCompletion() : await client.chat.completions.create(request);
console.log(JSON.stringify({ choices: completion.choices, id: completion.id }));
