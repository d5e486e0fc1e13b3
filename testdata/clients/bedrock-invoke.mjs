// bedrock.mjs with InvokeModel. Usage: bedrock-invoke.mjs BASE_URL plain|stream
process.argv[4] = "invoke";
await import("./bedrock.mjs");
