// One turn with the official Anthropic SDK: prints the message that the SDK
// made of the answer, as JSON. Usage: anthropic.mjs BASE_URL plain|stream
import Anthropic from "@anthropic-ai/sdk";
import { proxied } from "./proxied.mjs";

const [baseURL, mode] = process.argv.slice(2);
const client = new Anthropic({ baseURL, apiKey: "test", maxRetries: 4, ...proxied() });
const request = {
  model: "claude-test",
  max_tokens: 1024,
  tools: [{ name: "Bash", description: "Run a command", input_schema: { type: "object", properties: { command: { type: "string" } } } }],
  messages: [{ role: "user", content: process.env.PROMPT ?? "clean up" }],
};
const message = mode === "stream" ? await client.messages.stream(request).finalMessage() : await client.messages.create(request);
console.log(JSON.stringify(message));
