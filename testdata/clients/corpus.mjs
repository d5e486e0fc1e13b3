// Reads answers with the official SDKs, many in one process and without a
// network. Each line of standard input is a JSON object: client (a name of
// `clients` below), stream, type (the content type) and body (in base64). For
// each it prints on one line what the SDK made of it: {text, calls: [{name,
// args}], finish}, or {error} where the SDK refuses to read it. Of a stream of the
// Responses API, calls are those of its last snapshot, and come those that came.
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import Anthropic from "@anthropic-ai/sdk";
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from "@aws-sdk/client-bedrock-runtime";
import { GoogleGenAI } from "@google/genai";
import { HTTPClient, Mistral } from "@mistralai/mistralai";
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { CohereClient, CohereClientV2 } from "cohere-ai";
import Groq from "groq-sdk";
import { Ollama } from "ollama";
import OpenAI from "openai";

let answer; // the line that is being read

// A body in two pieces, so that no reader gets all at once.
const pieces = () => [answer.bytes.subarray(0, answer.bytes.length / 3), answer.bytes.subarray(answer.bytes.length / 3)];
const fetch = async () => new Response(ReadableStream.from(pieces()), { status: 200, headers: { "content-type": answer.type } });
globalThis.fetch = fetch;

const setup = { apiKey: "test", maxRetries: 0, fetch };
const openai = new OpenAI({ baseURL: "http://openai/v1", ...setup });
const groq = new Groq({ baseURL: "http://groq", ...setup });
const anthropic = new Anthropic({ baseURL: "http://anthropic", ...setup });
const gemini = new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl: "http://gemini" } });
const mistral = new Mistral({ serverURL: "http://mistral", apiKey: "test", httpClient: new HTTPClient({ fetcher: fetch }) });
const cohere = new CohereClientV2({ token: "test", environment: "http://cohere", maxRetries: 0 });
const cohere1 = new CohereClient({ token: "test", environment: "http://cohere", maxRetries: 0 });
const ollama = new Ollama({ host: "http://ollama", fetch });
const bedrock = new BedrockRuntimeClient({
  region: "us-east-1",
  endpoint: "http://bedrock",
  maxAttempts: 1,
  token: { token: "test" },
  authSchemePreference: ["httpBearerAuth"],
  requestHandler: { handle: async () => ({ response: { statusCode: 200, headers: { "content-type": answer.type }, body: Readable.from(pieces()) } }) },
});

const messages = [{ role: "user", content: "go" }];
const chat = { model: "m", messages };

// What chunks, or the choices of a whole answer, add up to: as agents do it that
// have no helper.
function turn(deltas) {
  const calls = [];
  for (const d of deltas)
    for (const [at, c] of (d.calls ?? []).entries()) {
      const call = (calls[c.index ?? at] ??= { name: c.name, args: "" });
      call.args += typeof c.args === "object" ? JSON.stringify(c.args) : (c.args ?? "");
    }
  return { text: deltas.map((d) => d.content ?? "").join(""), calls: calls.filter(Boolean), finish: deltas.findLast((d) => d.finish)?.finish };
}

const legacy = (c) => c && [{ index: 0, name: c.name, args: c.arguments }];

async function chunks(sdk) {
  const deltas = [];
  const add = (said, finish) =>
    said && deltas.push({ content: said.content, calls: said.tool_calls?.map((c) => ({ index: answer.stream ? c.index : undefined, id: c.id, name: c.function?.name, args: c.function?.arguments })) ?? legacy(said.function_call), finish });
  if (!answer.stream) for (const c of (await sdk.chat.completions.create(chat)).choices) add(c.message, c.finish_reason);
  else for await (const part of await sdk.chat.completions.create({ ...chat, stream: true })) for (const c of part.choices ?? []) add(c.delta, c.finish_reason ?? undefined);
  return turn(deltas);
}

function completion(c) {
  const calls = c.choices.flatMap((c) => c.message.tool_calls ?? (c.message.function_call ? [{ function: c.message.function_call }] : []));
  return {
    text: c.choices.map((c) => c.message.content ?? "").join(""),
    calls: calls.map((c) => ({ name: c.function?.name, args: c.function?.arguments })),
    finish: c.choices[0]?.finish_reason,
  };
}

function message(m) {
  return {
    text: m.content.flatMap((b) => b.text ?? []).join("\n"),
    calls: m.content.filter((b) => b.type === "tool_use").map((b) => ({ name: b.name, args: b.input })),
    finish: m.stop_reason,
  };
}

function response(r, items) {
  const isCall = (i) => /(function|custom_tool|local_shell|shell|apply_patch|computer)_call$/.test(i.type);
  const read = (list) => list.filter(isCall).map((c) => ({ name: c.name ?? c.type, args: c.arguments ?? c.input ?? c.action }));
  return {
    text: r.output.flatMap((i) => (i.type === "message" ? i.content : [])).map((c) => c.text ?? "").join(""),
    calls: read(r.output),
    come: read(items),
    finish: r.status,
  };
}

const readMessage = async (sdk) => message(answer.stream ? await sdk.messages.stream({ ...chat, max_tokens: 9 }).finalMessage() : await sdk.messages.create({ ...chat, max_tokens: 9 }));

// What an MCP server can ask its client, with an answer to each.
const asks = {
  "sampling/createMessage": [CreateMessageRequestSchema, { model: "m", role: "assistant", content: { type: "text", text: "yes" } }],
  "elicitation/create": [ElicitRequestSchema, { action: "accept", content: { name: "Ann" } }],
  "roots/list": [ListRootsRequestSchema, { roots: [] }],
};

// Calls a tool of a server whose answer to that is what is to be read. calls are
// what the client's user was asked.
async function callTool(Client, Transport, options, keys) {
  const capabilities = { sampling: {}, elicitation: { form: {} }, roots: {} };
  const client = new Client({ name: "test", version: "1.0.0" }, { capabilities, ...options });
  const calls = [];
  for (const [method, [schema, reply]] of Object.entries(asks))
    client.setRequestHandler(keys ? method : schema, ({ params }) => {
      calls.push({ name: method, args: params });
      return reply;
    });
  const server = { capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" }, protocolVersion: "2025-06-18", supportedVersions: ["2026-07-28"], resultType: "complete", ttlMs: 0, cacheScope: "private" };
  let served = false;
  let ended;
  const end = new Promise((resolve) => (ended = resolve));
  async function* body() {
    yield* pieces();
    ended();
  }
  const fetch = async (_, { method, body: asked }) => {
    if (method !== "POST") return new Response(null, { status: 405 });
    const m = JSON.parse(asked);
    if (m.method === "initialize" || m.method === "server/discover") return Response.json({ jsonrpc: "2.0", id: m.id, result: server });
    if (m.method !== "tools/call") return new Response(null, { status: 202 });
    if (served) return Response.json({ jsonrpc: "2.0", id: m.id, result: { content: [], resultType: "complete" } });
    served = true;
    return new Response(ReadableStream.from(body()), { status: 200, headers: { "content-type": answer.type } });
  };
  await client.connect(new Transport(new URL("http://mcp/"), { fetch }));
  const result = client.callTool({ name: "remove", arguments: {} }).catch((e) => ({ error: e.message }));
  await Promise.race([result, end]);
  for (let i = 0; i < 20; i++) await new Promise(setImmediate); // until what came has been handled
  await client.close();
  return { text: JSON.stringify(await result), calls };
}

const clients = {
  "mcp 1": () => callTool(Client1, Transport1, {}, false),
  "mcp 2": () => callTool(Client2, Transport2, { versionNegotiation: { mode: { pin: "2026-07-28" } } }, true),
  openai: () => chunks(openai),
  groq: () => chunks(groq),
  "openai helper": async () =>
    completion(answer.stream ? await openai.chat.completions.stream(chat).finalChatCompletion() : await openai.chat.completions.create(chat)),
  responses: async () => {
    if (!answer.stream) return response(await openai.responses.create({ model: "m", input: "go" }), []);
    const items = [];
    const stream = openai.responses.stream({ model: "m", input: "go" }).on("response.output_item.done", (e) => items.push(e.item));
    return response(await stream.finalResponse(), items);
  },
  anthropic: () => readMessage(anthropic),
  // The chunks that the AWS SDK reads go on to Anthropic's as what they are.
  bedrock: async () => {
    const ask = { modelId: "m", body: "{}" };
    if (!answer.stream) answer = { ...answer, bytes: (await bedrock.send(new InvokeModelCommand(ask))).body, type: "application/json" };
    else {
      let events = "";
      for await (const e of (await bedrock.send(new InvokeModelWithResponseStreamCommand(ask))).body) {
        const data = new TextDecoder().decode(e.chunk.bytes);
        events += `event: ${JSON.parse(data).type}\ndata: ${data}\n\n`;
      }
      answer = { ...answer, bytes: Buffer.from(events), type: "text/event-stream" };
    }
    return readMessage(anthropic);
  },
  converse: async () => {
    const ask = { modelId: "m", messages: [{ role: "user", content: [{ text: "go" }] }] };
    if (!answer.stream) {
      const r = await bedrock.send(new ConverseCommand(ask));
      const blocks = r.output.message.content;
      return {
        text: blocks.map((b) => b.text ?? "").join(""),
        calls: blocks.flatMap((b) => (b.toolUse ? { name: b.toolUse.name, args: b.toolUse.input } : [])),
        finish: r.stopReason,
      };
    }
    let text = "";
    let finish;
    const calls = {};
    for await (const e of (await bedrock.send(new ConverseStreamCommand(ask))).stream) {
      const block = e.contentBlockStart ?? e.contentBlockDelta;
      const started = e.contentBlockStart?.start?.toolUse;
      const delta = e.contentBlockDelta?.delta;
      if (started) calls[block.contentBlockIndex] = { name: started.name, args: "" };
      if (delta?.toolUse) (calls[block.contentBlockIndex] ??= { args: "" }).args += delta.toolUse.input;
      text += delta?.text ?? "";
      finish = e.messageStop?.stopReason ?? finish;
    }
    return { text, calls: Object.values(calls).map((c) => ({ ...c, args: JSON.parse(c.args || "{}") })), finish };
  },
  mistral: async () => {
    const deltas = [];
    const add = (said, finish) =>
      deltas.push({ content: said.content, calls: said.toolCalls?.map((c) => ({ index: answer.stream ? c.index : undefined, id: c.id, name: c.function.name, args: c.function.arguments })), finish });
    if (answer.stream) for await (const { data } of await mistral.chat.stream(chat)) for (const c of data.choices) add(c.delta, c.finishReason);
    else for (const c of (await mistral.chat.complete(chat)).choices) add(c.message, c.finishReason);
    return turn(deltas);
  },
  cohere: async () => {
    if (!answer.stream) {
      const r = await cohere.chat(chat);
      return {
        text: (r.message?.content ?? []).map((b) => b.text ?? "").join(""),
        calls: (r.message?.toolCalls ?? []).map((c) => ({ name: c.function?.name, args: c.function?.arguments })),
        finish: r.finishReason,
      };
    }
    let text = "";
    let finish;
    const calls = [];
    for await (const e of await cohere.chatStream(chat)) {
      const said = e.delta?.message;
      const call = said?.toolCalls;
      text += said?.content?.text ?? "";
      finish = e.delta?.finishReason ?? finish;
      if (e.type === "tool-call-start") calls.push({ name: call?.function?.name, args: call?.function?.arguments ?? "" });
      else if (call && calls.length) calls.at(-1).args += call.function?.arguments ?? "";
    }
    return { text, calls, finish };
  },
  "cohere v1": async () => {
    const ask = { model: "m", message: "go" };
    const called = (list) => (list ?? []).map((c) => ({ name: c.name, args: c.parameters }));
    const own = (r) => (r?.chatHistory?.at(-1)?.role === "CHATBOT" ? called(r.chatHistory.at(-1).toolCalls) : []);
    if (!answer.stream) {
      const r = await cohere1.chat(ask);
      return { text: r.text, calls: called(r.toolCalls), come: own(r), finish: r.finishReason };
    }
    let text = "";
    let finish;
    const calls = [];
    const come = [];
    const pieces = [];
    for await (const e of await cohere1.chatStream(ask)) {
      if (e.eventType === "text-generation") text += e.text;
      if (e.eventType === "tool-calls-generation") calls.push(...called(e.toolCalls));
      const delta = e.eventType === "tool-calls-chunk" && e.toolCallDelta;
      if (delta && (delta.name != null || delta.parameters != null)) {
        const piece = (pieces[delta.index] ??= { args: "" });
        piece.name ??= delta.name;
        piece.args += delta.parameters ?? "";
      }
      if (e.eventType === "stream-end") {
        come.push(...called(e.response?.toolCalls), ...own(e.response));
        finish = e.finishReason;
      }
    }
    return { text, calls, come: [...come, ...pieces.filter((p) => p)], finish };
  },
  conversation: async () => {
    const ask = { model: "m", inputs: "go" };
    const texts = [];
    const calls = new Map();
    const add = (id, e) => {
      const call = calls.get(id) ?? { name: e.name, args: "" };
      call.args = typeof e.arguments === "object" ? JSON.stringify(e.arguments) : call.args + e.arguments;
      calls.set(id, call);
    };
    if (answer.stream) {
      for await (const { data } of await mistral.beta.conversations.startStream(ask)) {
        if (data.type === "function.call.delta") add(data.toolCallId, data);
        if (data.type === "message.output.delta") texts.push(typeof data.content === "string" ? data.content : (data.content.text ?? ""));
      }
    } else
      for (const [n, e] of (await mistral.beta.conversations.start(ask)).outputs.entries()) {
        if (e.type === "function.call") add(n, e);
        if (e.type === "message.output") texts.push(typeof e.content === "string" ? e.content : e.content.map((c) => c.text ?? "").join(""));
      }
    return { text: texts.join(""), calls: [...calls.values()], finish: null };
  },
  gemini: async () => {
    const ask = { model: "m", contents: "go" };
    let text = "";
    let finish;
    const calls = [];
    for await (const r of answer.stream ? await gemini.models.generateContentStream(ask) : [await gemini.models.generateContent(ask)]) {
      for (const c of r.candidates ?? []) {
        for (const part of c.content?.parts ?? []) {
          if (part.text) text += part.text;
          if (part.functionCall) calls.push({ name: part.functionCall.name, args: part.functionCall.args });
        }
        finish = c.finishReason ?? finish;
      }
    }
    return { text, calls, finish };
  },
  interactions: async () => {
    const ask = { model: "m", input: "go" };
    const take = (s) => s?.content?.map((c) => c.text ?? "").join("") ?? "";
    let text = "";
    let finish;
    const calls = [];
    const snapshot = []; // what an event of the whole interaction repeats
    if (!answer.stream) {
      const r = await gemini.interactions.create(ask);
      for (const s of r.steps ?? []) {
        if (s.type === "function_call") calls.push({ name: s.name, args: s.arguments });
        if (s.type === "model_output") text += take(s);
      }
      return { text, calls, finish: r.status };
    }
    const open = new Map();
    for await (const e of await gemini.interactions.create({ ...ask, stream: true })) {
      if (e.event_type === "step.start") {
        text += e.step.type === "model_output" ? take(e.step) : "";
        if (e.step.type === "function_call") {
          const call = { name: e.step.name, args: "", start: e.step.arguments };
          open.set(e.index, call);
          calls.push(call);
        }
      }
      if (e.event_type === "step.delta") {
        if (e.delta.type === "text") text += e.delta.text;
        if (e.delta.type === "arguments_delta") open.get(e.index).args += e.delta.arguments ?? "";
        if (e.delta.type === "function_call") calls.push({ name: e.delta.name, args: e.delta.arguments });
      }
      for (const s of e.interaction?.steps ?? []) if (s.type === "function_call") snapshot.push({ name: s.name, args: s.arguments });
      finish = e.interaction?.status ?? e.status ?? finish;
    }
    return { text, calls: calls.map((c) => ({ name: c.name, args: c.args || JSON.stringify(c.start ?? {}) })), come: snapshot, finish };
  },
  ollama: async () => {
    let text = "";
    let finish;
    const calls = [];
    for await (const r of answer.stream ? await ollama.chat({ ...chat, stream: true }) : [await ollama.chat(chat)]) {
      text += r.message.content;
      for (const c of r.message.tool_calls ?? []) calls.push({ name: c.function.name, args: c.function.arguments });
      finish = r.done_reason ?? finish;
    }
    return { text, calls, finish };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  answer = JSON.parse(line);
  answer.bytes = Buffer.from(answer.body, "base64");
  let said;
  try {
    said = await clients[answer.client]();
    // As an agent has it that looks a name up in an object.
    for (const c of [...said.calls, ...(said.come ?? [])]) c.name = String(c.name ?? "");
  } catch (e) {
    said = { error: `${e.name}: ${e.message}` };
  }
  console.log(JSON.stringify(said));
}
process.exit(0);
