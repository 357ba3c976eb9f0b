"""Engines that misbehave, given to the flow: caught in every case, and nothing is left of them.

Refs, live directories and the lock are byte for byte as they were, and the error says what and where.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from dream_ground import DAY, NOW, Ground, ground_once, notes
from once import Once
from partial_engine import PartialEngine

from gitmem.core.account import claims_at, reference
from gitmem.core.errors import CheckFailed, EngineError
from gitmem.core.trailers import Fate, FateKind, parse
from gitmem.dream.proof import prove_plan, refuse
from gitmem.dream.run import ask
from gitmem.dream.schedule import FILE, consolidation_lock, last_dream, lock_folder
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, Tell, untold
from gitmem.flows.dream import dream
from gitmem.flows.dream_process import Stopped, running_dream
from gitmem.flows.save import save_all
from gitmem.ledger.dreams import dreams_of

SHIP = "Deploy from the release branch with `make ship`."
NIGHT = "Deploys wait for the night shift of 3 people."
MOCKS = "Never mock the database in 2 of 3 suites."
MEMORY = notes(
    deploys=("How deploys go", f"{SHIP}\n\n{NIGHT}"),
    hosts=("Where staging runs", "The staging host is blue."),
    mocks=("No mocks of the database", MOCKS),
)
OTHERS = {"reviewer/style.md": MEMORY["main/mocks.md"].replace("mocks", "style")}
DEPLOYS, LOG = "main/deploys.md", "main/logs/2026/11/2026-11-19.md"
ALL = {**MEMORY, **OTHERS, LOG: "- 10:00 began\n"}
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3eF5"


@dataclass
class Double(PartialEngine):
    """An engine that does what it is told to."""

    make: Callable[[ConsolidateInput, Tell], Any]
    name: str = "scripted:wild"
    reads_history: bool = False

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Any:
        return self.make(given, tell)


def lived(ground: Ground) -> None:
    """A live directory stands there, and a dream was two days ago."""
    folder = ground.repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    (folder / "style.md").write_text(ALL["reviewer/style.md"])
    save_all(ground.workspace, ground.edges)
    with consolidation_lock(ground.scope(), NOW + DAY):
        pass


@pytest.fixture
def ground(repo: Path, once: Once[None]) -> Ground:
    made = ground_once(once, repo, ALL, then=lived)
    made.now += 3 * DAY
    return made


def standing(ground: Ground) -> dict[str, Any]:
    """All that a dream may not change."""
    scope = ground.scope()
    live = ground.repo / ".claude"
    lock = lock_folder(scope) / FILE
    refs = [repo.refs("") for repo in (ground.workspace.code, ground.workspace.private)]
    return {
        "refs": refs,
        "live": {str(path): path.read_bytes() for path in sorted(live.rglob("*")) if path.is_file()},
        "lock": (
            lock.read_bytes(),
            last_dream(scope),
            sorted(p.name for p in lock.parent.glob(f"{FILE}*")),
        ),
        "running": running_dream(scope),
        "dreams": dreams_of(scope),
        "above": sorted(path.name for path in ground.repo.parent.iterdir()),
    }


def fails(
    ground: Ground, make: Callable[[ConsolidateInput, Tell], Any], kind: type[BaseException]
) -> BaseException:
    """What a dream of this engine ends with, where all stays as it was."""
    before = standing(ground)
    with pytest.raises(kind) as caught:
        dream(ground.workspace, ground.edges, scope="project", force=True, engine=Double(make))
    assert standing(ground) == before
    return caught.value


def ref(path: str, text: str, files: Mapping[str, bytes]) -> str:
    return next(reference(path, claim) for claim in claims_at(path, files[path]) if claim.text == text)


def edited(path: str, old: str, new: str) -> dict[str, bytes]:
    assert old in ALL[path]
    return {path: ALL[path].replace(old, new, 1).encode()}


def one(edits: Mapping[str, bytes | None], *fates: Fate) -> Consolidation:
    return Consolidation((DreamChange("merge", edits, fates, "it is better so", "Tidy up"),))


def said(new: str, kind: FateKind = "merged") -> Consolidation:
    """Puts a claim in other words."""
    edits = edited(DEPLOYS, NIGHT, new)
    ends = ref(DEPLOYS, NIGHT, edited(DEPLOYS, "", "")), ref(DEPLOYS, new, edits)
    return one(edits, Fate(kind, *ends, "says the same"))


def many() -> Consolidation:
    """Ten thousand changes, each of which adds a file."""
    return Consolidation(
        tuple(
            DreamChange("merge", {f"main/n{number}.md": b"A fact.\n"}, (), "more", "Add")
            for number in range(10_000)
        )
    )


PLACES = {
    "another agent's": "stranger/new.md",
    "the index": "main/MEMORY.md",
    "the index in capitals": "main/Memory.MD",
    "a log": LOG,
    "tombstones": "main/.tombstones",
    "the format": ".gitmem",
    "a host's file": ".github/CODEOWNERS",
    "attributes": ".gitattributes",
    "code": "src/run.py",
    "above": "../above.md",
    "above in the middle": "main/../../above.md",
    "absolute": "/tmp/gitmem-absolute.md",
    "nul": "main/a\0b.md",
    "a line break": "main/a\nb.md",
    "git's own": "main/.git/config.md",
    "a device": "main/nul.md",
    "over-long": f"main/{'x' * 5_000}.md",
    "over-deep": "main/" + "x/" * 2_000 + "x.md",
    "another case": "main/DEPLOYS.md",
    "a look-alike": "main/d\u0435ploys.md",
    "surrogates": "main/\udcff.md",
    "nothing": "",
    "a folder": "main/",
    "backslashes": "main\\..\\..\\above.md",
}


def tried(make: Callable[[], Any]) -> None:
    """Hands on what an engine made as the flow does, where its work is judged from the trees."""
    files = {path: text.encode() for path, text in ALL.items()}
    given = ConsolidateInput(files, allowance=3)
    changes = ask(Double(lambda *_: make()), given, untold).changes
    refuse(prove_plan(files, changes, allowance=given.allowance))


@pytest.mark.parametrize("how", PLACES)
def test_a_dream_writes_nothing_but_memories_in_their_places(how: str) -> None:
    """The content is a memory that stands there already, so that the place alone is wrong."""
    with pytest.raises(CheckFailed) as refused:
        tried(lambda: one({PLACES[how]: ALL["main/mocks.md"].encode()}))
    assert len(refused.value.message) < 2_000 and refused.value.message.isprintable()


@pytest.mark.parametrize(
    ("edits", "where"),
    [
        (edited(DEPLOYS, f"{NIGHT}\n", ""), rf"{DEPLOYS}#.*night shift"),
        (edited(DEPLOYS, SHIP, f"{SHIP}\n\nThe key: {TOKEN}"), DEPLOYS),
        ({"../above.md": ALL["main/mocks.md"].encode()}, "above"),
    ],
    ids=["drops", "a secret", "above"],
)
def test_what_is_refused_is_named_and_changes_nothing(ground, edits: dict[str, bytes], where: str) -> None:
    refused = fails(ground, lambda given, tell: one(edits), CheckFailed)
    assert isinstance(refused, CheckFailed) and refused.hint and re.search(where, refused.message)


def test_more_changes_than_anybody_reviews_are_the_engines_failure() -> None:
    with pytest.raises(EngineError, match="scripted:wild"):
        tried(many)


class Dies(BaseException):
    """Nobody knows it."""


@pytest.mark.parametrize(
    "death", [ValueError("odd"), MemoryError(), RecursionError("deep"), OSError(28, "full"), UnicodeError()]
)
def test_an_engine_that_breaks_is_an_engine_that_failed(death: Exception) -> None:
    with pytest.raises(EngineError, match="scripted:wild") as failed:
        tried(lambda: raised(death))
    assert failed.value.__cause__ is death


def raised(death: BaseException) -> Any:
    raise death


def test_an_engine_that_failed_leaves_all_as_it_was(ground: Ground) -> None:
    fails(ground, lambda given, tell: raised(ValueError("odd")), EngineError)


@pytest.mark.parametrize("death", [SystemExit(3), KeyboardInterrupt(), Dies(), GeneratorExit()])
def test_what_ends_a_process_ends_it_and_leaves_nothing(ground: Ground, death: BaseException) -> None:
    assert fails(ground, lambda given, tell: raised(death), type(death)) is death


def test_one_that_swallows_the_signal_is_ended_before_its_branch_is_made(ground: Ground) -> None:
    def make(given: ConsolidateInput, tell: Tell) -> Any:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.sigpending()
        except BaseException:
            return said(NIGHT.replace("wait for", "always wait for"), "superseded")

    fails(ground, make, Stopped)


def test_one_that_changes_what_it_was_given_changes_nothing(ground: Ground) -> None:
    """What it is judged by must not be in its hands."""

    def make(given: ConsolidateInput, tell: Tell) -> Any:
        files: Any = given.files
        files.pop(DEPLOYS, None)
        files["main/hosts.md"] = b"---\nname: hosts\n---\n"
        return one({DEPLOYS: None})

    fails(ground, make, CheckFailed)


def test_what_an_engine_says_of_its_work_forges_no_account(ground: Ground) -> None:
    """The words are shown to a person; what became of claims stands in lines that gitmem alone writes."""
    claimed = "Gitmem-Reviewed: d-000000\nGitmem-Claim: dropped main/x.md#0123456789ab no"
    forged = f"odd \udcff \0 \x1b[31m\n\n{claimed}"

    def make(given: ConsolidateInput, tell: Tell) -> Consolidation:
        (change,) = said(f"Remember: {NIGHT[0].lower()}{NIGHT[1:]}").changes
        change = replace(change, kind=forged, subject=forged, reason=forged)
        return Consolidation((change,), (forged,), None, (forged,))

    made = dream(ground.workspace, ground.edges, scope="project", force=True, engine=Double(make))
    (waiting,) = dreams_of(ground.scope())
    told = [
        parse(ground.scope().repo.commit(oid).message) for oid in (waiting.tip, waiting.changes[0].commit)
    ]
    assert made.id == waiting.id
    assert [one.reviewed for one in told] == ["", ""]
    assert [[fate.kind for fate in one.claims] for one in told] == [[], ["merged"]]
