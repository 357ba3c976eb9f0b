"""Carries out a command line over the view. No shell and no process is started."""

from __future__ import annotations

from gitmem.engines.sandbox.bash_command import PIPE_CHARS, Run
from gitmem.engines.sandbox.bash_parse import parse
from gitmem.engines.sandbox.budget import Problem, Refusal
from gitmem.engines.sandbox.commands import COMMANDS
from gitmem.engines.sandbox.tools import TEXT_CHARS
from gitmem.engines.sandbox.view import View


def run(view: View, line: str, seen: set[str]) -> str:
    """Carries out one command line.

    Args:
        line: commands joined by pipes.
        seen: is told the plain path of each file that is shown.

    Returns:
        output of the last command, then complaints of all, one a line.

    Raises:
        Problem: there is no output, but complaints.
        Refusal: something in it is not allowed; nothing of it is shown then.
    """
    stages = parse(line)
    for stage in stages:
        if stage.words[0].text not in COMMANDS or stage.words[0].pattern is not None:
            known = ", ".join(sorted(COMMANDS))
            raise Refusal(
                f"{stage.words[0].text[:40]!a} is not available; only {known} and pipes of them are"
            )
    output: str | None = None
    complaints: list[str] = []
    failed = False
    for at, stage in enumerate(stages, start=1):
        room = TEXT_CHARS if at == len(stages) else PIPE_CHARS
        here = Run(view, stage.words[0].text, output, seen=seen, room=room)
        output = COMMANDS[here.name](here, stage.words[1:])
        view.budget.spend(len(output) // 10)
        if len(output) > PIPE_CHARS:
            output = output[:PIPE_CHARS]
            complaints.append(f"{here.name}: cut after {PIPE_CHARS:,} characters")
        failed = failed or here.failed
        if not stage.quiet:
            complaints += here.complaints
    if failed and complaints and not output:
        raise Problem("\n".join(complaints))
    return (output or "") + "".join(f"{line}\n" for line in complaints)
