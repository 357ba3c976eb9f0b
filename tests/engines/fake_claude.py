"""Stands in for the client's program: plays a script, and puts to the hook what the script says.

Beside it lies `<program>.json`: `ready` (whether the first hook is asked), `calls`, `result`, `sleep`,
`exit`, `errors`. A call is a tool's name and input, with `{memory}`, `{nonce}` and `{cwd}` to be filled in,
`hook` (whether it is put to the hook), `obey` (whether a refusal is heeded) and `text` (its own error).
Where it is given messages one by one, `rounds` holds `calls` and `result` of each.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PLAN = json.loads(Path(sys.argv[0] + ".json").read_text())
SETTINGS = json.loads(sys.argv[sys.argv.index("--settings") + 1])


def hook(event: str, **given: Any) -> tuple[bool, str]:
    """Whether the call is allowed, and the reason."""
    command = SETTINGS["hooks"][event][0]["hooks"][0]["command"]
    payload = json.dumps({"hook_event_name": event, "cwd": str(Path.cwd()), **given})
    done = subprocess.run(["sh", "-c", command], input=payload, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        return done.returncode != 2, done.stderr
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    return answer["permissionDecision"] == "allow", answer["permissionDecisionReason"]


def say(kind: str, **fields: Any) -> None:
    print(json.dumps({"type": kind, **fields}), flush=True)


def carry_out(tool: str, given: dict[str, str]) -> str:
    if tool in ("Write", "Edit"):
        path = Path(given["file_path"])
        text = given.get("content")
        path.write_text(
            path.read_text().replace(given["old_string"], given["new_string"]) if text is None else text
        )
    return "done"


def play(number: int, call: dict[str, Any], words: dict[str, str]) -> None:
    given = json.loads(
        re.sub(r"\{(memory|nonce|cwd)\}", lambda found: words[found[1]], json.dumps(call["input"]))
    )
    block = {"type": "tool_use", "id": f"t{number}", "name": call["tool"], "input": given}
    say("assistant", message={"id": f"m{number}", "model": "m", "content": [block]})
    allowed, reason = True, ""
    if call.get("hook", True):
        allowed, reason = hook(
            "PreToolUse", tool_name=call["tool"], tool_input=given, tool_use_id=f"t{number}"
        )
    done = allowed or not call.get("obey", True)
    text = call.get("text") or (carry_out(call["tool"], given) if done else reason)
    failed = bool(call.get("text")) or not done
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text, "is_error": failed}
    say("user", message={"role": "user", "content": [result]})


def named(task: str) -> dict[str, str]:
    places, nonces = re.search(r"(/\S+/memory)/local/", task), re.search(r"true ([0-9a-f]{16})", task)
    return {
        "memory": places[1] if places else "",
        "nonce": nonces[1] if nonces else "",
        "cwd": str(Path.cwd()),
    }


def talk() -> int:
    """Deals with one message after the other, until the input is closed."""
    say("system", subtype="init", model="m")
    words: dict[str, str] = {}
    number = 0
    for at, line in enumerate(iter(sys.stdin.readline, "")):
        with Path(sys.argv[0] + ".task").open("a") as log:
            log.write(line)
        words = words or named(json.loads(line)["message"]["content"])
        hook("UserPromptSubmit", prompt="")
        for call in PLAN["rounds"][at]["calls"]:
            number += 1
            play(number, call, words)
        text = PLAN["rounds"][at]["result"]
        block = {"type": "text", "text": text}
        say("assistant", message={"id": f"end{at}", "model": "m", "content": [block]})
        usage, cost = {"input_tokens": 5, "output_tokens": 7}, 0.5 * (at + 1)
        say("result", subtype="success", is_error=False, result=text, usage=usage, total_cost_usd=cost)
    return 0


def main() -> int:
    if "--input-format" in sys.argv:
        return talk()
    task = sys.stdin.read()
    Path(sys.argv[0] + ".task").write_text(task)
    words = named(task)
    say("system", subtype="init")
    if PLAN.get("ready", True) and not hook("UserPromptSubmit", prompt=task)[0]:
        say("result", subtype="success", is_error=False, result="", usage={"input_tokens": 0})
        return 0
    for number, call in enumerate(PLAN.get("calls", [])):
        play(number, call, words)
    time.sleep(PLAN.get("sleep", 0))
    usage = {"input_tokens": 5, "cache_read_input_tokens": 900, "output_tokens": 7}
    if "errors" in PLAN:
        say("result", subtype="error_during_execution", is_error=True, errors=PLAN["errors"])
    elif "result" in PLAN:
        text = PLAN["result"].replace("{memory}", words["memory"])
        say(
            "assistant", message={"id": "m-last", "model": "m", "content": [{"type": "text", "text": text}]}
        )
        say("result", subtype="success", is_error=False, result=text, usage=usage, total_cost_usd=0.5)
    print(PLAN.get("stderr", ""), file=sys.stderr)
    return int(PLAN.get("exit", 0))


if __name__ == "__main__":
    sys.exit(main())
