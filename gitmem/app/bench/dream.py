"""Nights of dreams on a corpus: memories arrive, a dream is made, proved and accepted, all is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from gitmem.app.bench.dream_claims import Claims, Followed, Survival
from gitmem.app.bench.dream_corpus import deal
from gitmem.app.bench.dream_ground import ThrowAway
from gitmem.app.bench.dream_recall import Question, Shares, ask, drawn, placed, questions
from gitmem.app.bench.recall import PROGRESS_SECONDS
from gitmem.core import index
from gitmem.core.account import is_memory, references
from gitmem.core.errors import CheckFailed, EngineError
from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.merge import Files, agent_folder
from gitmem.core.text import counted, decode
from gitmem.core.trailers import Usage
from gitmem.engines.engine import Engine, Step

DAY = 86_400
NIGHTS = 5
NEW = 20
"""Memories that a night brings, where nothing else is asked for."""


@dataclass(frozen=True)
class Size:
    """How much is remembered; `bytes` are of the memories, without their indexes."""

    memories: int
    claims: int
    bytes: int
    index_lines: int


@dataclass(frozen=True)
class Night:
    """One night.

    Attributes:
        arrived: memories that came before the dream.
        proposals: kind to number of proposed changes.
        accepted: whether something of the dream was.
        notes: what the engine left for a person.
        failures: what could not be proved, a line each, when it was made or accepted.
        size: before and after the dream; so is `recall`, of questions drawn for this night.
        seconds: that the dream took, with its proof and its acceptance.
    """

    number: int
    arrived: int
    proposals: Mapping[str, int]
    accepted: bool
    notes: int
    failures: tuple[str, ...]
    survival: Survival
    size: tuple[Size, Size]
    recall: tuple[Shares, Shares]
    seconds: float
    usage: Usage | None = None


@dataclass
class Nights:
    """All nights.

    Attributes:
        engine: its name.
        new: memories a night, as asked for.
        memories: in the corpus.
        survival: in the end.
        lost: claims without a true account.
        size: of what arrived, as it came, and of what the dreams left; so is `recall`, of all questions.
        used_up: the first night that found nothing more to arrive; 0 where there was enough.
        stopped: why the engine gave up before the last night; None where it did not.
    """

    engine: str
    seed: int
    new: int
    memories: int
    nights: list[Night] = field(default_factory=list)
    survival: Survival = field(default_factory=lambda: Survival(0, 0, 0, 0, 0, 0))
    lost: tuple[Followed, ...] = ()
    size: tuple[Size, Size] = field(default_factory=lambda: (Size(0, 0, 0, 0), Size(0, 0, 0, 0)))
    recall: tuple[Shares, Shares] = field(default_factory=lambda: (Shares(0, 0, 0, 0),) * 2)
    used_up: int = 0
    stopped: EngineError | None = None


def dream_nights(
    corpus: Files,
    engine: Engine,
    folder: Path,
    environ: Mapping[str, str],
    *,
    now: float,
    nights: int = NIGHTS,
    new: int = NEW,
    seed: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> Nights:
    """Lets memories arrive and dreams of them, night after night.

    Args:
        corpus: path from the root of a memory tree to content, indexes too.
        folder: an empty one, for the throw-away repository.
        environ: of the person: nothing but where programs are is taken from it.
        now: epoch seconds of the last night.
        new: memories that a night brings, at most.
        say: told how far it is, every two seconds.

    Raises:
        RepositoryError: git failed.
        KeyboardInterrupt: a signal ended it.
    """
    total = sum(map(is_memory, corpus))
    done = Nights(engine.name, seed, new, total)
    ground = ThrowAway(folder, environ)
    run = _Run(ground, engine, done, say)
    try:
        for number, arriving in enumerate(deal(corpus, nights, new, seed), 1):
            if not arriving and not done.used_up:
                done.used_up = number
                say(f"night {number}: all {counted(total, 'memory')} have arrived; on without new ones")
            fresh = ground.learn(arriving, now - (nights - number) * DAY - 3_600)
            run.night(number, fresh, now - (nights - number) * DAY)
            if done.stopped:
                break
        run.finish()
    finally:
        ground.close()
    return done


class _Run:
    def __init__(self, ground: ThrowAway, engine: Engine, done: Nights, say: Callable[[str], None]) -> None:
        self._ground, self._engine, self._done, self._say = ground, engine, done, say
        self._claims = Claims()
        self._questions: list[Question] = []
        self._came: dict[str, bytes] = {}
        self._listed = 0
        self._told = perf_counter()

    def night(self, number: int, fresh: Files, now: float) -> None:
        """One dream, judged and accepted."""
        self._came |= fresh
        self._questions += questions(self._claims.arrive(fresh), self._done.seed)
        before = self._ground.files()
        after: Files = before
        self._tell(f"night {number}: {counted(sum(map(is_memory, before)), 'memory')}")
        asked = drawn(self._questions, self._done.seed, number)
        were = placed(asked)
        failures: tuple[str, ...] = ()
        plan, accepted = None, False
        begun = perf_counter()
        try:
            made = self._ground.dream(self._engine, now, lambda step: self._step(number, step))
            plan = made.plan
            # What is too much for the index was paged out before.
            after = self._ground.files()
            self._claims.follow(before, after, ())
            if made.gate:
                failures = (made.gate.reason,)
            if made.id:
                landed = self._ground.accept(made.id, now)
                failures, accepted = landed.refused, bool(landed.trees)
                for tree, fates in zip(landed.trees, landed.fates, strict=True):
                    self._claims.follow(after, tree, fates)
                    after = tree
        except CheckFailed as error:
            failures = (error.message,)
        except EngineError as error:
            self._done.stopped = error
            failures = (error.message,)
        seconds = perf_counter() - begun
        there = [(was, one) for was, one in zip(were, asked, strict=True) if one.about.alive]
        self._done.nights.append(
            Night(
                number,
                len(fresh),
                dict(sorted(Counter(change.kind for change in plan.changes).items())) if plan else {},
                accepted,
                len(plan.notes) if plan else 0,
                failures,
                self._claims.survival(after),
                (_size(before), _size(after)),
                (ask(before, [was for was, _ in there]), ask(after, placed(one for _, one in there))),
                seconds,
                plan.usage if plan else None,
            )
        )

    def finish(self) -> None:
        """Counts what all nights came to."""
        files = self._ground.files()
        self._tell(f"asking {counted(len(self._questions), 'question')}")
        there = [one for one in self._questions if one.about.alive]
        self._done.survival = self._claims.survival(files)
        self._done.lost = tuple(self._claims.missing(files))
        self._done.size = (_size(self._came, _listed(self._came)), _size(files))
        self._done.recall = (ask(self._came, placed(there, came=True)), ask(files, placed(there)))

    def _step(self, number: int, step: Step) -> None:
        turn = f", request {step.turn} of at most {step.turns}" if step.turn else ""
        self._tell(f"night {number}: {step.phase}{turn}")

    def _tell(self, line: str) -> None:
        if perf_counter() - self._told > PROGRESS_SECONDS:
            self._told = perf_counter()
            self._say(line)


def _listed(files: Files) -> int:
    """Lines of the indexes that list memories: what is too much for one is paged out."""
    agents = Counter(agent_folder(path) for path in files)
    return sum(min(number, HOT_MEMORIES) for number in agents.values())


def _size(files: Files, listed: int | None = None) -> Size:
    """Counts a tree; `listed` index lines where it has no index of its own."""
    memories = {path: data for path, data in files.items() if is_memory(path)}
    lines = sum(
        len(index.targets(decode(data))) for path, data in files.items() if path.endswith(f"/{index.INDEX}")
    )
    return Size(
        len(memories),
        len(references(memories)),
        sum(map(len, memories.values())),
        lines if listed is None else listed,
    )
