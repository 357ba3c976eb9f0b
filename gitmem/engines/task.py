"""The one thing that an engine is asked to do with a model: a Task.

A tree to edit, what may be read, a prompt, and a judge of what is left. `jobs` makes Tasks of what flows
ask for, and derives changes from the trees that come back; a kind of engine only runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitmem.core.errors import EngineError
from gitmem.core.trailers import Usage
from gitmem.engines.engine import ExtractInput
from gitmem.engines.tools import Writable
from gitmem.engines.view import MEMORY, Roots

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Shown:
    """How an engine shows a task to its model.

    Attributes:
        files: the tree, as far as it is shown.
        sessions: what may be looked up of what was said, by name.
        root, said_at: what the tree and the folder of sessions are called there.
        worktree: where the code is; None where there is none to look at.
        part: what of the session is asked about now; None for a task that is about none.
        forked: the model holds the session already, and nothing else stands before the prompt.
    """

    files: Files
    sessions: Mapping[str, str]
    root: str = MEMORY
    said_at: str = "sessions"
    worktree: Path | None = None
    part: ExtractInput | None = None
    forked: bool = False


def settled(_files: Files, _answers: Sequence[str]) -> Sequence[str]:
    """Finds nothing left open."""
    return ()


@dataclass(frozen=True)
class Task:
    """A piece of work for a model.

    Attributes:
        job: what it is for, in the meter's words.
        what: names it in errors: `The dream`.
        tree: `<scope>/<agent>/<file>` to content; the model works on a copy.
        may: what of it may be written.
        reads: what else may be read.
        system: name of the system text.
        prompt: writes what the model is told, however the engine shows the tree.
        judge: says what is still wrong with a tree and the answers given until then, a line each.
        repair: writes what the model is told of that; given what the tree is called.
        session: the recorded session that it is about: what stands before the prompt, or is forked. None
            for work on memory alone.
        turns: requests until the first answer.
        repairs, repair_turns: how often the model is told what is wrong, and the requests it has then.
        tell: is told the request, from 1, how many there may be, and the paths that were changed so far;
            what it raises ends the work.
    """

    job: str
    what: str
    tree: Files
    may: Writable
    reads: Roots
    system: str
    prompt: Callable[[Shown], str]
    judge: Callable[[Files, Sequence[str]], Sequence[str]] = settled
    repair: Callable[[Sequence[str], str], str] = lambda problems, _root: "\n".join(problems)
    session: ExtractInput | None = None
    turns: int = 5
    repairs: int = 0
    repair_turns: int = 3
    tell: Callable[[int, int, tuple[str, ...]], None] = lambda *_: None

    @property
    def most_turns(self) -> int:
        """Requests that it may take in all."""
        return self.turns + self.repairs * self.repair_turns


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    Attributes:
        files: the tree as the model left it; what it was not shown is as it was.
        answers: its last words, one for each part of the session or repair.
        wrong: what the judge says of it, after all repairs.
        usage: what it cost.
        log: what it tried and was refused, one line each.
    """

    files: Files
    answers: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    usage: Usage | None = None
    log: tuple[str, ...] = field(default=())


class Unfit(EngineError):
    """An engine must not or cannot show a task to its model; the offline engine does what it can.

    Its message says why, without a full stop.
    """
