"""Memories that arrive at once: the work grows with their number, not with its square.

Held by counting the functions of gitmem that are called, for some memories and for four times as many.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from gitmem.core import index
from gitmem.core.names import archive_path
from gitmem.core.trailers import Provenance
from gitmem.flows.save import by_time
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger.foreign_commits import tidy_ref
from gitmem.ledger.land import Ref, Write, land, root_commit
from gitmem.ledger.layout import LiveDirectory
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.paging import page
from gitmem.ledger.save_plan import SaveRequest
from gitmem.ledger.working_copy import Saved, save

FEW, MANY = 30, 120
FIRST = 1000
DAY = 86_400
NOW = 1_900_000_000
ANN = Signature("Ann", "ann@example.com", NOW)
REF = "refs/gitmem/project"
PACKAGE = str(Path(index.__file__).parent.parent)


def memory(number: int, body: str = "") -> str:
    """One memory; all are of one length, for what is done to each character is counted, too."""
    number += FIRST
    told = body or f"Service {number} reads queue q{number}."
    return f"---\nname: s-{number}\ndescription: About {number}\ntype: project\n---\n\n{told}\n\nAlways.\n"


def listed(numbers: range) -> str:
    return "".join(
        f"- [s-{number + FIRST}](s-{number + FIRST}.md) — About {number + FIRST}\n" for number in numbers
    )


def calls(work: Callable[[], object]) -> int:
    """How many functions of gitmem a piece of work calls."""
    counted = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal counted
        counted += event == "call" and frame.f_code.co_filename.startswith(PACKAGE)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


def is_linear(few: int, many: int) -> bool:
    return many <= few * (MANY / FEW) * 1.05


@pytest.fixture
def store(repo: Path) -> Repository:
    return open_repository(repo, GitCommand(dict(os.environ)))


def put(store: Repository, files: dict[str, str], *parents: str) -> str:
    """Commits a whole tree, by hand."""
    edits = {path: text.encode() for path, text in {".gitmem": "format = 1\n", **files}.items()}
    with store.together():
        tree = write_tree(store, None, edits)
        return store.add_commit(tree, parents, ANN, ANN, "By hand\n")


def fill(live: LiveDirectory, numbers: range, days: int) -> None:
    for number in numbers:
        file = live.path / f"s-{number + FIRST}.md"
        file.write_text(memory(number))
        at = NOW - DAY * (1 + number % days)
        os.utime(file, (at, at))
    with (live.path / "MEMORY.md").open("a") as index:
        index.write(listed(numbers))
    os.utime(live.path / "MEMORY.md", (NOW, NOW))


def adopt(live: LiveDirectory) -> Saved:
    request = SaveRequest(live, NOW, ANN, adopt=True)
    touched = {path.name: path.stat().st_mtime for path in live.path.iterdir()}
    return save(replace(request, split=partial(by_time, request, touched)))


@pytest.mark.parametrize("days", [1, 10])
def test_a_folder_is_adopted_in_linear_work_however_many_days_it_is_of(live, days: int) -> None:
    counted = []
    for count in (FEW, MANY):
        fill(live, range(count), days)
        counted.append(calls(lambda: adopt(live)))
        for path in live.path.iterdir():
            path.unlink()
        scope = live.scope
        move_ref(scope.repo, scope.ref, None, scope.repo.ref(scope.ref), "again")
        (scope.state / "live" / f"{live.key}.json").unlink()
    assert is_linear(*counted), counted


def test_each_day_of_an_adopted_folder_is_a_commit_of_that_day(live: LiveDirectory) -> None:
    fill(live, range(20), 4)
    saved = adopt(live)
    repo = live.scope.repo
    made = [repo.commit(one.commit) for one in saved.written]
    days = [NOW - DAY * (1 + number) for number in range(3, -1, -1)]
    assert [one.author.time for one in made[:4]] == days, "the oldest first"
    assert {one.committer.time for one in made} == {NOW}
    assert [one.subject for one in made[:4]] == ["Adopt 5 memories of reviewer"] * 4
    files = read_files(repo, made[-1].tree, "reviewer")
    there = {f"reviewer/{path.name}": path.read_bytes() for path in live.path.iterdir()}
    assert files == there and save(SaveRequest(live, NOW, ANN)).written == ()


def test_the_plan_is_made_once_for_all_the_parts_of_a_save(live: LiveDirectory, monkeypatch) -> None:
    from gitmem.ledger import working_copy

    plans = []
    plan = working_copy.plan_save
    monkeypatch.setattr(working_copy, "plan_save", lambda *given: plans.append(1) or plan(*given))
    fill(live, range(20), 10)
    assert len(adopt(live).written) > 10
    assert len(plans) == 1


def test_a_part_is_planned_anew_where_somebody_wrote_in_between(live: LiveDirectory, monkeypatch) -> None:
    """What they wrote stays, and so does every part."""
    from gitmem.ledger import working_copy

    fill(live, range(4), 4)
    (live.path / "MEMORY.md").unlink()
    repo, ref = live.scope.repo, live.scope.ref
    describe = working_copy.describe
    turns = []

    def other(*given: Any) -> object:
        turns.append(1)
        if len(turns) == 2:
            theirs = Write({"reviewer/s-1009.md": memory(9).encode()}, "Theirs", Provenance("add"))
            land(Ref(repo, ref), lambda _: theirs, ANN)
        return describe(*given)

    monkeypatch.setattr(working_copy, "describe", other)
    adopt(live)
    tip = repo.ref(ref)
    assert tip is not None
    files = read_files(repo, repo.commit(tip).tree, "reviewer")
    assert {f"reviewer/s-{number + FIRST}.md" for number in (0, 1, 2, 3, 9)} <= files.keys()


def test_files_that_are_laid_out_anew_take_no_process_each(live: LiveDirectory, monkeypatch) -> None:
    fill(live, range(FEW), 1)
    save(SaveRequest(live, NOW, ANN))
    gone = Write(
        {f"reviewer/s-{number + FIRST}.md": None for number in range(FEW)}, "Less", Provenance("page")
    )
    land(live.scope, lambda _: gone, ANN)
    started = []
    run = GitCommand.run
    monkeypatch.setattr(
        GitCommand, "run", lambda git, *given, **known: started.append(1) or run(git, *given, **known)
    )
    saved = save(SaveRequest(live, NOW + DAY, ANN))
    assert len(saved.laid_out) >= FEW and len(started) < FEW / 2
    assert sorted(path.name for path in live.path.iterdir()) == ["MEMORY.md"]


def test_what_others_committed_is_tidied_in_linear_work(store: Repository, tmp_path: Path) -> None:
    counted = []
    for count in (FEW, MANY):
        files = {
            f"main/{archive_path(f's-{number + FIRST}.md')}": memory(number) for number in range(count)
        }
        files["main/MEMORY.md"] = ""
        tip = put(store, files, root_commit(store))
        move_ref(store, f"{REF}{count}", tip, None, "by hand")
        ref = f"{REF}{count}"
        counted.append(calls(lambda ref=ref: tidy_ref(store, ref, tmp_path)))
    assert is_linear(*counted), counted


def test_no_memory_is_parsed_that_stands_as_its_writer_left_it(store, tmp_path: Path, monkeypatch) -> None:
    from gitmem.ledger import foreign_commits

    parsed: list[str] = []
    parse = foreign_commits.parse
    seen = lambda path, data: parsed.append(path) or parse(path, data)  # noqa: E731
    monkeypatch.setattr(foreign_commits, "parse", seen)
    files = {f"main/s-{number + FIRST}.md": memory(number) for number in range(FEW)}
    tip = put(store, {**files, "main/MEMORY.md": listed(range(FEW))}, root_commit(store))
    move_ref(store, REF, tip, None, "by hand")
    assert tidy_ref(store, REF, tmp_path) is None
    assert parsed == []


def test_two_sides_that_learned_much_merge_in_linear_work(store: Repository) -> None:
    counted = []
    root = root_commit(store)
    for count in (FEW, MANY):
        sides = []
        for side in (range(count), range(count, 2 * count)):
            files = {f"main/s-{number + FIRST}.md": memory(number) for number in side}
            sides.append(put(store, {**files, "main/MEMORY.md": listed(side)}, root))
        counted.append(calls(lambda sides=sides: merge_commits(store, *sides)))
    assert is_linear(*counted), counted


def test_two_sides_that_learned_the_same_differently_merge_in_linear_work(store: Repository) -> None:
    counted = []
    for count in (FEW, MANY):
        base, ours, theirs = (
            {
                **{f"main/s-{number + FIRST}.md": memory(number, body) for number in range(count)},
                "main/MEMORY.md": listed(range(count)),
            }
            for body in ("The port is 1.", "The port is 2.", "The port is 3.")
        )
        root = put(store, base, root_commit(store))
        sides = put(store, ours, root), put(store, theirs, root)
        counted.append(calls(lambda sides=sides: merge_commits(store, *sides)))
    assert is_linear(*counted), counted


def test_what_is_too_much_is_paged_out_in_linear_work(live: LiveDirectory) -> None:
    scope, counted = live.scope, []
    for count, agent in ((FEW, "few"), (MANY, "many")):
        numbers = range(count)
        files = {f"{agent}/s-{number + FIRST}.md": memory(number).encode() for number in numbers}
        files[f"{agent}/MEMORY.md"] = listed(numbers).encode()
        made = Write(files, "Learn", Provenance("add"))
        land(scope, lambda _, made=made: made, ANN)
        counted.append(calls(lambda agent=agent: page(scope, agent, lambda *_: {}, limit=2)))
    assert is_linear(*counted), counted
