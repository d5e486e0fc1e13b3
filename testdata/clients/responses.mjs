// One turn with the official OpenAI SDK over Responses: prints what the SDK
// made of the answer, as JSON. Usage: [STORE=false] responses.mjs BASE_URL plain|stream
import OpenAI from "openai";
import { proxied } from "./proxied.mjs";

const [baseURL, mode] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "test", maxRetries: 4, ...proxied() });
const request = {
  model: "gpt-test",
  tools: [{ type: "function", name: "Bash", strict: false, parameters: { type: "object", properties: { command: { type: "string" } } } }],
  input: process.env.PROMPT ?? "clean up",
  ...(process.env.STORE === "false" && { store: false }),
};
let response;
if (mode === "stream") {
  // What the SDK puts together from the events must be what the last one says.
  const stream = client.responses.stream(request);
  const items = [];
  stream.on("event", (e) => {
    if (e.type === "response.output_item.done") items[e.output_index] = e.item;
  });
  response = await stream.finalResponse();
  const plain = (list) => JSON.stringify(list.map(({ parsed_arguments, ...item }) => ({ ...item, content: item.content?.map(({ parsed, ...part }) => part) })));
  if (plain(items) !== plain(response.output)) throw new Error(`events say ${plain(items)}, the response says ${plain(response.output)}`);
} else {
  response = await client.responses.create(request);
}
const { output, id, status, output_text } = response;
console.log(JSON.stringify({ output, id, status, output_text }));
