// Written by `holdgate hook opencode install`. It asks Holdgate about each tool call.
import { spawn } from "node:child_process"

const command = COMMAND

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

export const Holdgate = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const { code, out, err } = await ask(JSON.stringify({
      hook_event_name: "tool.execute.before", session_id: input.sessionID, cwd: directory,
      tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args ?? {},
    }))
    if (code !== 0) throw new Error(err.trim() || "[holdgate] This call was not run: the hook of Holdgate did not run.")
    const edited = out.trim() ? JSON.parse(out).hookSpecificOutput?.tool_input : undefined
    if (!edited) return
    for (const name of Object.keys(output.args)) delete output.args[name]
    Object.assign(output.args, edited)
  },
})
