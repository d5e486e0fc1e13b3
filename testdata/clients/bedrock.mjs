// One turn with the official AWS SDK: prints what the SDK made of the answer,
// as JSON. Usage: bedrock.mjs BASE_URL plain|stream [converse|invoke]. Through
// HTTPS_PROXY requests are signed, else they have an API key; over http the SDK
// asks for streams by HTTP/2 without TLS.
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { HttpsProxyAgent } from "https-proxy-agent";

const [endpoint, mode, api = "converse"] = process.argv.slice(2);
const proxy = process.env.HTTPS_PROXY;
const client = new BedrockRuntimeClient({
  region: "us-east-1",
  endpoint,
  ...(endpoint.startsWith("https")
    ? {
        credentials: { accessKeyId: "AKIATEST", secretAccessKey: "test" },
        requestHandler: new NodeHttpHandler(proxy ? { httpsAgent: new HttpsProxyAgent(proxy) } : {}),
      }
    : { token: { token: "test" }, authSchemePreference: ["httpBearerAuth"] }),
});
const prompt = process.env.PROMPT ?? "clean up";
const schema = { type: "object", properties: { command: { type: "string" } } };
let text = "";
let finish;
const calls = [];

const converse = {
  modelId: "us.amazon.nova-test-v1:0",
  messages: [{ role: "user", content: [{ text: prompt }] }],
  toolConfig: { tools: [{ toolSpec: { name: "Bash", inputSchema: { json: schema } } }] },
};
const invoke = {
  modelId: "anthropic.claude-test-v1:0",
  contentType: "application/json",
  body: JSON.stringify({
    anthropic_version: "bedrock-2023-05-31",
    max_tokens: 9,
    messages: [{ role: "user", content: prompt }],
    tools: [{ name: "Bash", input_schema: schema }],
  }),
};
const decode = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
if (api === "converse" && mode === "plain") {
  const r = await client.send(new ConverseCommand(converse));
  for (const block of r.output.message.content) {
    text += block.text ?? "";
    if (block.toolUse) calls.push({ id: block.toolUse.toolUseId, name: block.toolUse.name, args: block.toolUse.input });
  }
  finish = r.stopReason;
} else if (api === "converse") {
  const blocks = [];
  for await (const e of (await client.send(new ConverseStreamCommand(converse))).stream) {
    const start = e.contentBlockStart;
    const delta = e.contentBlockDelta;
    if (start?.start.toolUse) blocks[start.contentBlockIndex] = { ...start.start.toolUse, input: "" };
    text += delta?.delta.text ?? "";
    if (delta?.delta.toolUse) blocks[delta.contentBlockIndex].input += delta.delta.toolUse.input;
    finish = e.messageStop?.stopReason ?? finish;
  }
  for (const b of blocks.filter(Boolean)) calls.push({ id: b.toolUseId, name: b.name, args: JSON.parse(b.input || "{}") });
} else if (mode === "plain") {
  const r = decode((await client.send(new InvokeModelCommand(invoke))).body);
  for (const block of r.content) {
    text += block.text ?? "";
    if (block.type === "tool_use") calls.push({ id: block.id, name: block.name, args: block.input });
  }
  finish = r.stop_reason;
} else {
  const blocks = [];
  for await (const e of (await client.send(new InvokeModelWithResponseStreamCommand(invoke))).body) {
    const event = decode(e.chunk.bytes);
    if (event.content_block?.type === "tool_use") blocks[event.index] = { ...event.content_block, input: "" };
    text += event.delta?.text ?? "";
    if (event.delta?.partial_json) blocks[event.index].input += event.delta.partial_json;
    finish = event.delta?.stop_reason ?? finish;
  }
  for (const b of blocks.filter(Boolean)) calls.push({ id: b.id, name: b.name, args: JSON.parse(b.input || "{}") });
}
console.log(JSON.stringify({ text, calls, finish }));
