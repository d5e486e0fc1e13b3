// A channel that writes requests to one file and reads answers from another,
// one on a line: "deny REQUEST-ID ada not today".
import { readFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { failure, serve, unary } from "./plugin.js";

let conf;
const open = new Map(); // requests by id

const write = (line) => appendFile(conf.out, line, { mode: 0o600 });

function configure({ config }) {
  const c = JSON.parse(config.toString() || "{}");
  if (c === null || typeof c !== "object" || Array.isArray(c)) throw failure("the configuration must be an object", true);
  const unknown = Object.keys(c).filter((k) => k !== "out" && k !== "in");
  if (unknown.length) throw failure("the configuration has the unknown " + unknown.join(", "), true);
  if (typeof c.out !== "string" || typeof c.in !== "string") throw failure("out and in must name files", true);
  conf = c;
}

async function notify({ notice: n }) {
  open.set(n.id, n); // it may come twice
  const left = n.expires_at ? Math.max(0, Math.round(n.expires_at.seconds - Date.now() / 1000)) : 0;
  await write(`${n.risk || "unknown"} risk, ${left}s left, then ${n.on_timeout}: ${n.summary}\n  ${[...(n.warnings ?? []), ...n.details, ...(n.closed ? [n.closed] : [])].join("\n  ")}\n  answer with: ${n.answers.join("|")} ${n.id} YOUR-NAME WORDS\n`);
}

async function update({ notice: n }) {
  if (!open.has(n.id)) return;
  if (n.status === "pending") return write(`${n.id}: ${n.votes} of ${n.quorum} have approved\n`);
  open.delete(n.id);
  return write(`${n.id} is ${n.status} by ${n.outcome?.by}\n`);
}

// answers looks for new lines every second, for as long as the stream lasts.
// Each answer has a number, from 1, under which its verdict comes back.
function answers(stream) {
  let read = 0, last = 0;
  const asked = new Map(); // requests by the number of their answer
  const look = setInterval(() => {
    let lines = [];
    try {
      lines = readFileSync(conf.in, "utf8").split("\n").slice(0, -1);
    } catch (e) {
      if (e.code !== "ENOENT") stream.destroy(failure(e.message));
    }
    for (; read < lines.length; read++) {
      const [decision, id, by, ...words] = lines[read].trim().split(/\s+/);
      const n = open.get(id);
      if (!n?.answers.includes(decision) || !by) {
        write(`${id} cannot be answered so\n`).catch(() => {});
        continue;
      }
      const text = words.join(" ");
      asked.set(++last, id);
      stream.write({ number: last, answer: {
        id, nonce: n.nonce, digest: n.digest, decision, by, // what binds it, as it was told
        reason: decision === "steer" ? "" : text, instructions: decision === "steer" ? text : "",
      } });
    }
  }, 1000);
  stream.on("data", (v) => { // in words for the person
    write(v.refused ? `${asked.get(v.number)}: ${v.refused}\n` : `${asked.get(v.number)}: thank you, it is ${v.status}\n`).catch(() => {});
    asked.delete(v.number);
  });
  for (const end of ["end", "cancelled", "error", "close"]) stream.on(end, () => clearInterval(look));
  stream.on("end", () => stream.end());
}

serve(fileURLToPath(new URL("../../../plugins/sdk/proto/channel.proto", import.meta.url)), {
  // Anybody who can write the file can answer: that may deny and steer.
  Info: unary(() => ({ name: "file", assurance: "ASSURANCE_TEXT", forgets: true, abilities: [] })),
  Configure: unary(configure),
  Notify: unary(notify),
  Update: unary(update),
  Health: unary(() => write("")),
  Answers: answers,
}).catch((e) => {
  console.error(e.message);
  process.exit(1);
});
