"""Works with the person's own `claude`, and takes what it writes into a scratch copy.

To extract, it forks the very session; to dream, it holds one of its own (`session`). How the client
behaves (measured, 2.1.197, against a scripted server):

- A fork with the session's exact model id sends the parent's tools, system prompt and history byte for byte
  where the session was held headless (`claude -p`, the SDK) too. Beside the task only `metadata` (the
  session's id) and the place of the cache marker differ. Permission rules that ask, path rules that deny,
  and hooks change none of it; a rule that denies a whole tool takes it off the list, and the cache is lost.
- A fork of a session held in a terminal shares the history but not what stands before it: headless, three
  tools (AskUserQuestion, EnterPlanMode, ExitPlanMode) are missing and the system prompt says so in three
  places, whatever the environment says. Forks of one session share their beginning with one another.
- The transcript holds the model's id without `[1m]`; with and without it, system prompt and tools differ.
- A hook that is missing, crashes, runs out of time, or answers what is no decision lets the call pass; only
  exit code 2 and a well-formed `deny` stop it. `disableAllHooks` in any settings switches it off. Then a
  call goes by the person's permission rules: allowed where those say so.
- Of several hooks, one `deny` is enough. Rules that ask or deny are looked at after a hook's `allow` too,
  and since nobody can be asked the call is refused.
- Calls that the client itself finds wrong (no such tool, a parameter missing, a file not read before) never
  reach a hook; their result begins with `<tool_use_error>`.
- UserPromptSubmit hooks of `--settings` run in a fork, before its first request; one that exits 2 ends it.
- The person's own hooks run in a fork as in any session; gitmem's are told to do nothing.
- A session that stopped in the middle of a turn is resumed with two messages put in before the task.
- With `--input-format stream-json` a session takes its next message when it has answered the one before,
  and ends where its input does; with `--no-session-persistence` nothing of it is kept, so that it cannot be
  resumed later. Turns are limited for each message; tokens are told for each, dollars for all until then.
- Even so it leaves long results of tools in `projects/<folder>/<session>/tool-results`, and where it is
  killed its entry in `sessions/`: both are taken away (`leftovers`).
- `--setting-sources user` leaves out a work tree's settings, hooks and CLAUDE.md, `--strict-mcp-config` its
  programs; the person's own settings and CLAUDE.md stay. `--tools` shortens the list. Rules that deny
  reading a path hold for Read and Grep after a hook's `allow`, too.
- Write with empty content leaves an empty file. A file that is there has to be read before it is changed.
"""

from __future__ import annotations

from gitmem.engines.claude_code.engine import ClaudeCodeEngine
from gitmem.engines.claude_code.settings import ForkSettings

__all__ = ["ClaudeCodeEngine", "ForkSettings"]
