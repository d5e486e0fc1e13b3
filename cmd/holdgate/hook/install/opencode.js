// Written by `holdgate hook opencode install`. It asks Holdgate about each tool call, and tells it what came of it.
import { spawn } from "node:child_process"

const command = COMMAND
const approved = new Set() // calls that people have let go on, until they have run

const ask = (told) =>
  new Promise((done) => {
    let out = "", err = ""
    const hook = spawn(command[0], command.slice(1))
    hook.on("error", (e) => done({ code: -1, out, err: String(e) }))
    hook.on("close", (code) => done({ code, out, err }))
    hook.stdout.on("data", (b) => (out += b))
    hook.stderr.on("data", (b) => (err += b))
    hook.stdin.on("error", () => {})
    hook.stdin.end(told)
  })

export const Holdgate = async ({ client, directory }) => {
  const told = (name, input, more) =>
    ask(JSON.stringify({ hook_event_name: name, session_id: input.sessionID, cwd: directory, ...more }))
  return {
    "tool.execute.before": async (input, output) => {
      const call = { tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args ?? {} }
      const { code, out, err } = await told("tool.execute.before", input, call)
      if (code !== 0) throw new Error(err.trim() || "[holdgate] This call was not run: the hook of Holdgate did not run.")
      const said = out.trim() ? JSON.parse(out).hookSpecificOutput : undefined
      if (said?.permissionDecision === "allow") approved.add(input.callID)
      else approved.delete(input.callID)
      if (!said?.tool_input) return
      for (const name of Object.keys(output.args)) delete output.args[name]
      Object.assign(output.args, said.tool_input)
    },
    // opencode ends a tool, or a prompt, with what fails here: so nothing does.
    "tool.execute.after": async (input, output) => {
      approved.delete(input.callID)
      const { metadata, output: text } = output ?? {}
      const tool_response = { output: text, metadata: { exit: metadata?.exit } }
      await told("tool.execute.after", input, { tool_name: input.tool, tool_use_id: input.callID, tool_input: input.args ?? {}, tool_response }).catch(() => {})
    },
    "chat.message": async (input, output) => {
      const prompt = (output?.parts ?? []).filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n")
      await told("chat.message", input, { prompt }).catch(() => {})
    },
    event: async ({ event }) => {
      const { id, sessionID, tool } = event.properties ?? {}
      if (event.type !== "permission.asked" || !approved.has(tool?.callID)) return
      await client.postSessionIdPermissionsPermissionId({ path: { id: sessionID, permissionID: id }, body: { response: "once" } }).catch(() => {})
    },
  }
}
