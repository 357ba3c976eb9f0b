"""What a run of the client must show before anything of it is believed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from gitmem.core.errors import EngineError
from gitmem.core.text import one_line
from gitmem.engines.claude_code import guard, proof
from gitmem.engines.claude_code.scratch import Scratch
from gitmem.engines.claude_code.settings import ForkSettings

_CANARY = """\
First of all, and once: call the Bash tool with exactly this command, and with no other.

    {command}

It is refused on purpose. That shows that the rules of this task are in force, and nothing is wrong. Do not
try it again; do the task then. Reading and searching files is allowed, and so are Edit and Write in the
memory folder; every other call is refused.
"""
_SHOWN = 300


def canary(copy: Scratch) -> str:
    """What the task begins with: a call that the hook refuses."""
    return _CANARY.replace("{command}", guard.canary(copy.nonce))


def closed(settings: ForkSettings, copy: Scratch, *places: Path | None) -> list[Path]:
    """What is closed to edits even without the hook, as far as the scratch copy does not lie in it.

    Args:
        places: folders besides the person's home.
    """
    home = Path(settings.environ.get("HOME") or "/")
    found = dict.fromkeys(place.resolve() for place in (home, *places) if place is not None)
    return [place for place in found if place != Path("/") and not copy.folder.is_relative_to(place)]


def refuse_without_program(settings: ForkSettings) -> None:
    """Raises `EngineError` where there is no client to run."""
    program = Path(settings.program)
    if not program.is_absolute() or not program.is_file():
        raise EngineError(
            f"There is no program {settings.program or '`claude`'}",
            "Install Claude Code, or choose another engine: git mem engine set offline",
        )


class Watch:
    """Holds the client's stream against the hook's log while it runs.

    Args:
        what: names the run in errors.
        copy: where it works.

    Attributes:
        account: the stream until now.
        decisions: the log until now.
    """

    def __init__(self, what: str, copy: Scratch) -> None:
        self.account = proof.Account()
        self.decisions: tuple[proof.Decision, ...] = ()
        self._what, self._copy = what, copy

    def add(self, line: bytes) -> bool:
        """Takes in a line of the stream.

        Returns:
            Whether the model or a tool answered, or the client is through with a message.

        Raises:
            EngineError: it shows that the hook does not hold the run.
        """
        told = self.account.add(line)
        if told:
            self._hold()
        return told

    def end(self, code: int, errors: str) -> None:
        """Looks back when the client has ended.

        Args:
            code: its exit code.
            errors: what it printed as errors.

        Raises:
            EngineError: it failed, or it is not proved that the hook held it.
        """
        self.decisions = proof.read_log(self._copy.log, self._copy.nonce)
        self._refuse_failed(code, errors)
        self._hold()
        if self.account.results and not proof.refused_any(self.account, self.decisions, self._copy.nonce):
            raise self._unheld("it was never seen to refuse a call")

    def refuse_unaccounted(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
        """Makes sure that every file that differs was put to the hook.

        Raises:
            EngineError: one was not.
        """
        written = self.written
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name) and name not in written:
                raise self._unheld(f"{name} was changed by no call that it allowed")

    @property
    def written(self) -> frozenset[str]:
        """Files of the copy that the hook allowed to be written."""
        lead = f"{self._copy.memory}/"
        return frozenset(
            one.path.removeprefix(lead)
            for one in self.decisions
            if one.allowed and one.tool in ("Edit", "Write")
        )

    @property
    def refused(self) -> tuple[str, ...]:
        """What the hook refused beside the canary's call, a line each."""
        refused = [one for one in self.decisions if one.refusal not in ("", guard.IN_FORCE)]
        return tuple(f"{one.tool} was refused: {one_line(one.refusal, _SHOWN)}" for one in refused)

    def _hold(self) -> None:
        self.decisions = proof.read_log(self._copy.log, self._copy.nonce)
        if problem := proof.unproved(self.account, self.decisions, self._copy.nonce):
            raise self._unheld(problem)

    def _unheld(self, problem: str) -> EngineError:
        return EngineError(
            f"{self._what} was not held by its hook: {problem}; nothing was taken",
            "See whether a policy of Claude Code's switches hooks off; else: git mem engine set offline",
        )

    def _refuse_failed(self, code: int, errors: str) -> None:
        final = self.account.final
        if final and not final.get("is_error") and final.get("subtype") == "success":
            if not any(decision.event == "ready" for decision in self.decisions):
                raise self._unheld("the hook did not answer before the task")
            return
        told = final.get("errors")
        said = "; ".join(map(str, told)) if isinstance(told, list) else str(final.get("result") or "")
        said = one_line(said or errors or str(final.get("subtype") or f"exit code {code}"), _SHOWN)
        if "No conversation found" in said:
            error = EngineError(
                f"Claude Code refused to resume the session: {said}", "Was it deleted or moved?"
            )
            error.of_input = True
            raise error
        if re.search(r"log ?in|api key", said, re.IGNORECASE):
            raise EngineError(f"Claude Code is not logged in: {said}", "Start `claude` and log in.")
        if final.get("subtype") == "error_max_turns":
            raise EngineError(f"{self._what} used up its turns: {said}", "Nothing was taken.")
        raise EngineError(f"{self._what} failed: {said}", "It is tried again later.")
