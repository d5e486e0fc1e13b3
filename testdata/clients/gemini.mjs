// One turn with the official Google SDK: prints what the SDK made of the
// answer, as JSON. Usage: gemini.mjs BASE_URL plain|stream
import { GoogleGenAI } from "@google/genai";
import { proxied } from "./proxied.mjs";

const [baseUrl, mode] = process.argv.slice(2);
const { fetch, fetchOptions } = proxied();
if (fetch) globalThis.fetch = (url, options) => fetch(url, { ...options, ...fetchOptions });
const ai = new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl } });
const request = {
  model: "gemini-test",
  contents: process.env.PROMPT ?? "clean up",
  config: { tools: [{ functionDeclarations: [{ name: "Bash", parametersJsonSchema: { type: "object", properties: { command: { type: "string" } } } }] }] },
};
const responses = mode === "stream" ? await ai.models.generateContentStream(request) : [await ai.models.generateContent(request)];
let text = "";
let finish;
const calls = [];
for await (const r of responses) {
  const candidate = r.candidates?.[0];
  for (const part of candidate?.content?.parts ?? []) {
    if (part.text) text += part.text;
    if (part.functionCall) calls.push(part.functionCall);
  }
  finish = candidate?.finishReason ?? finish;
}
console.log(JSON.stringify({ text, calls, finish }));
