"""Runs the steps one by one and shows each command with its output."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from gitmem.app.demo.stage import Person, Stage, make_stage
from gitmem.app.demo.steps import STEPS, Step
from gitmem.core.errors import CheckFailed, GitmemError

Show = Callable[[str], None]


def run_demo(
    environ: Mapping[str, str], show: Show, keep: Path | None = None, steps: Sequence[Step] = STEPS
) -> None:
    """Runs the demo in a throw-away folder.

    Args:
        environ: the caller's environment; hardly anything of it is passed on.
        show: prints one line.
        keep: a folder to use and to leave; it must not exist, or be empty.

    Raises:
        CheckFailed: a step did not do what it claims, or `keep` holds something.
    """
    folder = _folder(keep)
    try:
        _run(folder, environ, show, steps)
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    if keep is not None:
        show(f"kept in {folder}")


def _folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(mkdtemp(prefix="gitmem-demo-"))
    if keep.is_dir() and any(keep.iterdir()):
        raise CheckFailed(f"{keep} is not empty", "Name a folder that does not exist yet.")
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckFailed(f"{keep} cannot be made: {error.strerror}") from error
    return keep


def _run(folder: Path, environ: Mapping[str, str], show: Show, steps: Sequence[Step]) -> None:
    begun = time.monotonic()
    stage = make_stage(folder, environ)
    try:
        for number, step in enumerate(steps, 1):
            try:
                stage.facts.update(_carry_out(stage, step, show) or {})
            except GitmemError as error:
                what = f"The demo failed at step {number} ({step.command}): {error.message}"
                raise CheckFailed(what, error.hint) from error
    finally:
        for person in (stage.you, stage.mate):
            with suppress(GitmemError):
                stage.settle(person)
    show("")
    show(f"{len(steps)} steps, each checked, in {time.monotonic() - begun:.0f} s")


def _carry_out(stage: Stage, step: Step, show: Show) -> Mapping[str, str] | None:
    person = stage.you if step.who == "you" else stage.mate
    if step.title:
        show("")
        show(f"# {step.title}")
    step.before(stage)
    command = step.command.format_map(stage.facts)
    show(f"{person.prompt} {command}")
    answer = person.run(shlex.split(command))
    for line in _displayed(answer.text, stage, person):
        show(line)
    if answer.code:
        raise CheckFailed(f"exit status {answer.code}")
    return step.check(stage, answer.text)


def _displayed(text: str, stage: Stage, person: Person) -> list[str]:
    """What a command wrote, with `~` for the person's HOME and without the folder of the demo."""
    return text.replace(str(person.home), "~").replace(str(stage.folder), "…").rstrip("\n").splitlines()
