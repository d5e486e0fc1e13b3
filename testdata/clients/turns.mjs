// Many turns in one process: for each line of standard input, a prompt and the
// arguments of the script as JSON, it runs the script anew and prints what that
// printed, on one line. Loading an SDK takes a second; a turn takes a few milliseconds.
// Usage: turns.mjs SCRIPT
import { createInterface } from "node:readline";

const [node, , script] = process.argv;
let turns = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { prompt, args } = JSON.parse(line);
  process.env.PROMPT = prompt;
  process.argv = [node, script, ...args];
  await import(`./${script}?turn=${turns++}`);
}
