"""A session of its own, held by the hook that holds a fork, and without what the repository brings along.

It is kept nowhere, so it is in no list of sessions, and nothing is ever learned from it. What is left open
after an answer is told to the same session, which is still there: its messages come by standard input.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gitmem.engines.claude_code import held, wiring
from gitmem.engines.claude_code.parent import denied
from gitmem.engines.claude_code.run import run
from gitmem.engines.claude_code.scratch import Scratch
from gitmem.engines.claude_code.settings import ForkSettings


def hold(
    settings: ForkSettings,
    copy: Scratch,
    watch: held.Watch,
    worktree: Path | None,
    task: str,
    line: Callable[[bytes], str | None],
    what: str,
) -> None:
    """Returns when the client has ended and its hook is proved to have held it.

    Args:
        watch: is told the end; `line` tells it all before.
        worktree: real path of the code's work tree, where the client runs; None where there is none.
        task: the first message.
        line: is given each line of the client's output, see `run`.
        what: names the run in errors.

    Raises:
        EngineError: the client refuses or hangs, or it is not proved that the hook held it.
    """
    unread = wiring.unread(worktree, denied(worktree)) if worktree else []
    client = wiring.client_settings(
        settings.python, copy.rules, held.closed(settings, copy, worktree), unread
    )
    code, errors = run(
        wiring.dream_words(settings.program, copy.session, settings.model, client, settings.dream_turns),
        cwd=worktree or copy.memory,
        environ={**wiring.scrubbed(settings.environ), **wiring.WITHOUT_MEMORY},
        given=wiring.message(task),
        folder=copy.folder,
        timeout=settings.dream_timeout,
        line=line,
        what=what,
        talks=True,
    )
    watch.end(code, errors)
