// One turn with the official OpenAI SDK's client of Azure OpenAI: prints the
// message that the SDK made of the answer, as JSON. Usage: azure.mjs ENDPOINT plain|stream
import { AzureOpenAI } from "openai";
import { proxied } from "./proxied.mjs";

const [endpoint, mode] = process.argv.slice(2);
const client = new AzureOpenAI({ endpoint, apiKey: "test", apiVersion: "2025-04-01-preview", deployment: "gpt-test", maxRetries: 4, ...proxied() });
const request = {
  model: "gpt-test",
  tools: [{ type: "function", function: { name: "Bash", parameters: { type: "object", properties: { command: { type: "string" } } } } }],
  messages: [{ role: "user", content: process.env.PROMPT ?? "clean up" }],
};
const completion =
  mode === "stream" ? await client.chat.completions.stream(request).finalChatCompletion() : await client.chat.completions.create(request);
console.log(JSON.stringify({ choices: completion.choices, id: completion.id }));
