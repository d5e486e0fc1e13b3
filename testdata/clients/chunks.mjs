// What a turn of a Chat Completions client says, from the choices of its chunks
// or of its whole answer, as JSON. Each delta is {content, calls, finish}, each
// call {index, id, name, args} with the text of its arguments.
export function turn(deltas) {
  let text = "";
  let finish;
  const calls = [];
  for (const d of deltas) {
    text += d.content ?? "";
    finish = d.finish ?? finish;
    for (const [at, c] of (d.calls ?? []).entries()) {
      const index = c.index ?? at;
      calls[index] ??= { id: c.id, name: c.name, args: "" };
      calls[index].args += c.args ?? "";
    }
  }
  if (calls.includes(undefined)) throw new Error(`there is a gap in the indices of the calls: ${JSON.stringify(calls)}`);
  return JSON.stringify({ text, finish, calls: calls.map((c) => ({ ...c, args: JSON.parse(c.args) })) });
}
