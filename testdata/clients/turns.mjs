// Many turns of one script in one process: for each line of standard input, a
// prompt as JSON, it runs the script anew and prints what that printed, on one
// line. Loading an SDK takes a second; a turn takes a few milliseconds.
// Usage: turns.mjs SCRIPT ARGUMENT...
import { createInterface } from "node:readline";

const [node, , script, ...args] = process.argv;
let turns = 0;
for await (const line of createInterface({ input: process.stdin })) {
  process.env.PROMPT = JSON.parse(line);
  process.argv = [node, script, ...args];
  await import(`./${script}?turn=${turns++}`);
}
