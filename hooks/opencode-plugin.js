// This file is gitmem's: `git mem uninstall` removes it. It tells gitmem what happens in a session, and the
// agent what gitmem answers. Where gitmem is gone, or says nothing, nothing happens.
import { spawn } from "node:child_process"

const COMMAND = ["@COMMAND@"]

const SECONDS = { PreToolUse: 5, PostToolUseFailure: 5 }

function hook(event, payload) {
  return new Promise((resolve) => {
    try {
      const child = spawn(COMMAND[0], [...COMMAND.slice(1), event], {
        cwd: payload.cwd,
        stdio: ["pipe", "pipe", "ignore"],
        timeout: 1000 * (SECONDS[event] ?? 10),
      })
      let said = ""
      child.on("error", () => resolve(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (data) => (said += data))
      child.on("close", () => {
        try {
          resolve(JSON.parse(said).hookSpecificOutput?.additionalContext ?? "")
        } catch {
          resolve("")
        }
      })
      child.stdin.end(JSON.stringify({ ...payload, hook_event_name: event }))
    } catch {
      resolve("")
    }
  })
}

export const Gitmem = async ({ directory }) => {
  const starts = new Map() // session: what it is told at its start, which stands in every request after
  const subagents = new Set()
  const about = (session) => ({
    session_id: session,
    cwd: directory,
    ...(subagents.has(session) ? { agent_id: session } : {}),
  })
  const start = (session, source) => starts.set(session, hook("SessionStart", { ...about(session), source }))

  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID
      if (event.type === "session.created" && event.properties.info?.parentID) subagents.add(session)
      if (event.type === "session.compacted") start(session, "compact")
      if (event.type === "session.idle") await hook("Stop", about(session))
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const typed = parts.filter((part) => part.type === "text" && !part.synthetic)
      if (!starts.has(sessionID)) start(sessionID, "startup")
      const prompt = typed.map((part) => part.text).join("\n")
      const text = prompt && (await hook("UserPromptSubmit", { ...about(sessionID), prompt }))
      if (!text) return
      const id = `prt_${message.id.replace(/^msg_/, "")}zzgitmem`
      parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      // A session that is resumed says nothing before its next request.
      if (sessionID && !starts.has(sessionID)) start(sessionID, "resume")
      const text = sessionID && (await starts.get(sessionID))
      if (text) system.push(text)
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await hook("PreCompact", about(sessionID))
    },
    "tool.execute.after": async ({ tool, sessionID, args }, output) => {
      const call = { ...about(sessionID), tool_name: tool, tool_input: args }
      const failed = tool === "bash" && output.metadata?.exit
      const told = [await hook("PreToolUse", call)]
      if (failed) told.push(await hook("PostToolUseFailure", { ...call, error: output.output }))
      for (const text of told) if (text) output.output += `\n${text}`
    },
  }
}
