"""`gitmem bench dream`: nights of dreams on a corpus, in a repository that is thrown away.

Each night memories arrive, a dream is made, proved and accepted as ever. Every claim is followed from its
arrival by account, and questions in the words in which it arrived are asked before and after: whatever a
dream makes of the words later, who remembers the old ones asks with them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from time import perf_counter
from typing import Any, NamedTuple

from gitmem.app.bench_recall import seldom
from gitmem.core import index
from gitmem.core.account import account, is_memory, path_of, references
from gitmem.core.claim import Claim
from gitmem.core.errors import CheckFailed, EngineError, UsageError
from gitmem.core.facts import sentences
from gitmem.core.limits import HOT_MEMORIES, MEMORY_BYTES, OTHER_BYTES, RECALLED
from gitmem.core.memory import parse
from gitmem.core.merge import Files
from gitmem.core.names import agent_folder, agent_name, is_memory_file
from gitmem.core.text import counted, decode, encode
from gitmem.core.trailers import Fate, FateKind, Provenance
from gitmem.core.trailers import parse as parse_trailers
from gitmem.dream.review import accept, find_dream
from gitmem.engines.engine import DreamProgress, Engine, Tell, untold
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.dream import DreamOutcome, dream
from gitmem.git.command import GitCommand
from gitmem.git.config import config_set
from gitmem.git.trees import read_files
from gitmem.ledger.land import Write, land
from gitmem.ledger.workspace import MAIN, Scope, Workspace, store_project_id
from gitmem.search.query import search
from gitmem.search.tree_catalog import LooseCatalog
from gitmem.search.words import terms

Figures = dict[str, Any]
"""As they are printed: keys are a schema to which some may be added, none taken."""


@dataclass(frozen=True)
class Arriving:
    """One memory that a night brings.

    Attributes:
        path: from the root of a memory tree.
        line: its line in the index.
    """

    path: str
    data: bytes
    line: str


def own_memory(workspace: Workspace) -> dict[str, bytes]:
    """The memories of all scopes here, with their indexes, as one tree; nothing is written.

    An agent that has memory in several scopes has it under several names, so that nothing is hidden.
    """
    found: dict[str, bytes] = {}
    for scope in workspace.scopes:
        tip = scope.repo.ref(scope.ref)
        files = _fitting(read_files(scope.repo, scope.repo.commit(tip).tree)) if tip else {}
        taken = {agent_folder(path) for path in found} & {agent_folder(path) for path in files}
        for path, data in files.items():
            agent, _, file = path.partition("/")
            found[f"{agent}-{scope.name}/{file}" if agent in taken else path] = data
    return found


def read_folder(folder: Path) -> dict[str, bytes]:
    """Reads a folder of memory: one agent's files, or a folder for each agent.

    Links are not followed, and what is no memory is passed over.

    Raises:
        UsageError: it cannot be read, or holds no memory.
    """
    try:
        flat = _read(folder, MAIN)
        found = flat or {
            path: data
            for one in sorted(folder.iterdir())
            if one.is_dir() and not one.is_symlink() and not one.name.startswith(".")
            for path, data in _read(one, agent_name(one.name)).items()
        }
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be read: {error.strerror}", "Name a folder of memory."
        ) from error
    found = _fitting(found)
    if not any(map(is_memory, found)):
        raise UsageError(f"{folder} holds no memory", "Name a folder with files NAME.md, or one of agents.")
    return found


def deal(files: Mapping[str, bytes], nights: int, number: int, seed: int) -> Iterator[tuple[Arriving, ...]]:
    """Yields what each night brings, so many at most, in an order that the seed alone decides."""
    paths = sorted(filter(is_memory, files))
    random.Random(f"deal {seed}").shuffle(paths)  # noqa: S311 - an order, no secret
    lines = {
        f"{agent_folder(path)}/{unit.target}": unit.text
        for path, data in files.items()
        if path.endswith(f"/{index.INDEX}")
        for unit in index.parse(decode(data))
        if unit.target
    }
    for night in range(nights):
        yield tuple(
            Arriving(path, files[path], lines.get(path) or _line(path, files[path]))
            for path in paths[night * number : (night + 1) * number]
        )


def _line(path: str, data: bytes) -> str:
    memory = parse(path, data)
    return index.entry(memory.name, path.partition("/")[2], memory.description)


def _read(folder: Path, agent: str) -> dict[str, bytes]:
    found = {}
    for one in sorted(folder.iterdir()):
        wanted = is_memory_file(one.name) or one.name == index.INDEX
        if wanted and one.is_file() and not one.is_symlink() and one.stat().st_size <= OTHER_BYTES:
            found[f"{agent}/{one.name}"] = one.read_bytes()
    return found if any(map(is_memory, found)) else {}


def _fitting(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {
        path: data
        for path, data in files.items()
        if path.endswith(f"/{index.INDEX}") or (is_memory(path) and len(data) <= MEMORY_BYTES)
    }


SCOPE = "user"
"""The one scope that is about no code: there is none here, and nothing may be missing in it."""

_KEPT_VARIABLES = ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
_IDENTITY = {"user.name": "bench", "user.email": "bench@localhost"}


@dataclass(frozen=True)
class LandedNight:
    """What was accepted of one dream.

    Attributes:
        fates: what is said of claims, commit after commit.
        refused: why a change was not accepted, a line each.
        trees: what was remembered after each of these commits.
    """

    fates: tuple[tuple[Fate, ...], ...]
    refused: tuple[str, ...]
    trees: tuple[Mapping[str, bytes], ...]


class ThrowAway:
    """The repository; a home directory of its own keeps the person's memory and settings out of it."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        home, self._repo = folder / "home", folder / "repo"
        home.mkdir()
        kept = {name: environ[name] for name in _KEPT_VARIABLES if name in environ}
        self._environ = {
            **kept,
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "CLAUDE_CONFIG_DIR": str(home / "claude"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        git = GitCommand(self._environ)
        git.run(["init", "--quiet", "--template=", str(self._repo)])
        for key, value in _IDENTITY.items():
            config_set(git, None, key, value, git_dir=self._repo / ".git")
        self.workspace: Workspace = store_project_id(workspace_at(self.edges(0.0)))
        self.workspace.state.mkdir()
        self._who = self.workspace.author(self.edges(0.0).now)

    def edges(self, now: float) -> Edges:
        """The world of the throw-away repository at a moment."""
        return Edges(self._environ, self._repo, now)

    @property
    def scope(self) -> Scope:
        """Where the memories are."""
        return self.workspace.scope(SCOPE)

    def files(self) -> dict[str, bytes]:
        """All that is remembered."""
        tip = self.scope.repo.ref(self.scope.ref)
        return read_files(self.scope.repo, self.scope.repo.commit(tip).tree) if tip else {}

    def learn(self, arriving: Sequence[Arriving], now: float) -> dict[str, bytes]:
        """Commits new memories; one whose place was taken meanwhile gets another.

        Returns:
            path to content, as they came to stand.
        """
        here = self.files()
        fresh: dict[str, bytes] = {}
        edits: dict[str, bytes | None] = {}
        for one in arriving:
            path = _free(one.path, {*here, *fresh})
            fresh[path] = one.data
            agent, _, file = path.partition("/")
            listing = f"{agent}/{index.INDEX}"
            before = edits.get(listing) or here.get(listing, b"")
            line = one.line if path == one.path else one.line.replace(one.path.partition("/")[2], file)
            edits[listing] = encode(index.with_entry(decode(before), file, line))
        if fresh:
            write = Write(edits | fresh, "Learn", Provenance(op="add", writer="agent"))
            who = replace(self._who, time=int(now))
            land(self.scope, lambda _: write, who)
        return fresh

    def dream(self, engine: Engine, now: float, tell: Tell = untold) -> DreamOutcome:
        """Dreams; raises as `flows.dream.dream` does."""
        return dream(self.workspace, self.edges(now), scope=SCOPE, force=True, engine=engine, tell=tell)

    def accept(self, id: str, now: float) -> LandedNight:
        """Accepts a dream: the whole where it is proved, else each change that is."""
        waiting = find_dream(self.workspace, id)
        fates: list[tuple[Fate, ...]] = []
        refused: list[str] = []
        trees: list[Mapping[str, bytes]] = []
        for numbers in (None, *((change.n,) for change in waiting.changes)):
            try:
                landed = accept(self.workspace, id, numbers, self._who, now)
            except CheckFailed as error:
                refused.append(error.message)
                continue
            if landed.written:
                fates.append(parse_trailers(self.scope.repo.commit(landed.written.commit).message).claims)
                trees.append(self.files())
            if landed.closed:
                break
        return LandedNight(tuple(fates), tuple(refused), tuple(trees))

    def close(self) -> None:
        """Lets go of the repositories."""
        self.workspace.close()


def _free(path: str, taken: set[str]) -> str:
    pure = PurePosixPath(path)
    number = 1
    while path in taken:
        number += 1
        path = str(pure.with_name(f"{pure.stem}-{number}{pure.suffix}"))
    return path


@dataclass
class Followed:
    """One claim that arrived.

    Attributes:
        ref: what it is now, or was when it went, as `<file>#<12 hex>`.
        came: the same on its arrival.
        described: whether it is a memory's description.
        fates: kinds of all that became of it, in order.
        lost: why it is missing without a true account; empty where it is not.
    """

    ref: str
    came: str
    claim: Claim
    described: bool = False
    fates: tuple[FateKind, ...] = ()
    lost: str = ""

    @property
    def alive(self) -> bool:
        """Whether it stands, or what took its place."""
        return not self.lost and "dropped" not in self.fates


@dataclass(frozen=True)
class Survival:
    """What became of all claims that arrived; the next four add up to them.

    Attributes:
        by_hash: those whose words stand in some memory of their agent.
        by_account: others, that an unbroken account leads to a claim that stands.
        dropped: given up with a reason, which is an account as well.
        lost: all others.
        superseded: of `by_account`, those in whose place stands what says something else.
    """

    arrived: int
    by_hash: int
    by_account: int
    dropped: int
    lost: int
    superseded: int


class Claims:
    """All claims that arrived so far."""

    def __init__(self) -> None:
        self.all: list[Followed] = []

    def arrive(self, files: Files) -> tuple[Followed, ...]:
        """Adds the claims of new memories, and tells which they are."""
        said = {
            path: {claim.id for claim in parse(path, data).parsed.claims} for path, data in files.items()
        }
        fresh = tuple(
            Followed(ref, ref, claim, claim.id not in said[path_of(ref)])
            for ref, claim in references(files).items()
        )
        self.all += fresh
        return fresh

    def follow(self, before: Files, after: Files, fates: Sequence[Fate]) -> None:
        """Takes in what a dream did, from the trees, with what is said of it."""
        done = account(before, after, fates)
        told = {fate.source: fate for fate in done.fates}
        lost = {one.source: one.problem for one in done.unaccounted}
        for one in self.all:
            if not one.alive:
                continue
            if one.ref in lost:
                one.lost = lost[one.ref]
            elif fate := told.get(one.ref):
                one.fates = (*one.fates, fate.kind)
                one.ref = fate.target or one.ref

    def survival(self, files: Files) -> Survival:
        """Counts what became of them, against the tree as it is."""
        here, words = _standing(files)
        by_hash = by_account = dropped = superseded = 0
        for one in self.all:
            if (agent_folder(path_of(one.came)), one.claim.key) in words:
                by_hash += 1
            elif one.alive and one.ref in here:
                by_account += 1
                superseded += "superseded" in one.fates
            elif not one.lost and "dropped" in one.fates:
                dropped += 1
        lost = len(self.all) - by_hash - by_account - dropped
        return Survival(len(self.all), by_hash, by_account, dropped, lost, superseded)

    def missing(self, files: Files) -> Iterator[Followed]:
        """Those that are lost."""
        here, words = _standing(files)
        for one in self.all:
            stands = (agent_folder(path_of(one.came)), one.claim.key) in words
            if not stands and (one.lost or ("dropped" not in one.fates and one.ref not in here)):
                yield one


def _standing(files: Files) -> tuple[dict[str, Claim], set[tuple[str, str]]]:
    """The claims of a tree by name, and what is said there, by agent."""
    here = references(files)
    return here, {(agent_folder(path_of(ref)), claim.key) for ref, claim in here.items()}


SENTENCE_TERMS = 3
"""Terms that a sentence needs at least to be a question about something."""

MOST_ASKED = 250
"""Questions of one night, drawn anew each night; in all of them are asked in the end."""

_REF = "refs/heads/bench"


@dataclass(frozen=True)
class ClaimQuestion:
    """Asks for the memory that a claim is in, in words in which it arrived."""

    text: str
    about: Followed


class PlantedQuestion(NamedTuple):
    """A question, and the memory that has to be found."""

    text: str
    path: str
    described: bool


def questions(arrived: Iterable[Followed], seed: int) -> list[ClaimQuestion]:
    """The questions about claims that arrived."""
    made = []
    for one in arrived:
        pick = random.Random(f"sentence {seed} {one.came}")  # noqa: S311 - a draw, no secret
        told = [one.claim.key] if one.described else sentences(one.claim.text)
        fit = [text for text in told if len(terms(text)) >= (1 if one.described else SENTENCE_TERMS)]
        if fit:
            made.append(ClaimQuestion(" ".join(pick.choice(fit).split()), one))
    return made


def drawn(asked: Sequence[ClaimQuestion], seed: int, night: int) -> list[ClaimQuestion]:
    """Some of the questions whose claims are there, the same for the same seed and night."""
    there = [one for one in asked if one.about.alive]
    if len(there) <= MOST_ASKED:
        return there
    return random.Random(f"ask {seed} {night}").sample(there, MOST_ASKED)  # noqa: S311 - a draw, no secret


def placed(asked: Iterable[ClaimQuestion], *, came: bool = False) -> list[PlantedQuestion]:
    """The questions with the memories that their claims are in at present, or arrived in."""
    return [
        PlantedQuestion(one.text, path_of(one.about.came if came else one.about.ref), one.about.described)
        for one in asked
    ]


def ask(files: Files, asked: Iterable[PlantedQuestion]) -> Figures:
    """Asks a tree, through the search that answers recalls: which memories are among the first five."""
    catalog = LooseCatalog()
    hits: dict[bool, list[bool]] = {True: [], False: []}
    try:
        catalog.add(_REF, files)
        for one in asked:
            first = search(catalog, one.text, (_REF,), limit=RECALLED)
            hits[one.described].append(one.path in {candidate.path for candidate in first})
    finally:
        catalog.close()
    return {"descriptions": _share(hits[True]), "sentences": _share(hits[False])}


def _share(hits: Sequence[bool]) -> Figures:
    found, of = sum(hits), len(hits)
    return {"found": found, "of": of, "share": round(100 * found / of, 1) if of else None}


DAY = 86_400
NIGHTS = 5
NEW = 20
"""Memories that a night brings, where nothing else is asked for."""


@dataclass
class Nights:
    """All nights.

    Attributes:
        engine: its name.
        new: memories a night, as asked for.
        memories: in the corpus.
        nights: what is printed of each: `arrived` counts the memories that came before its dream, `notes`
            what was left for a person, `failures` what could not be proved; `size` and `recall` (of
            questions drawn for this night) are of before and after; `seconds` end with its acceptance.
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
    nights: list[Figures] = field(default_factory=list)
    survival: Survival = field(default_factory=lambda: Survival(0, 0, 0, 0, 0, 0))
    lost: tuple[Followed, ...] = ()
    size: tuple[Figures, Figures] = field(default_factory=lambda: ({}, {}))
    recall: tuple[Figures, Figures] = field(default_factory=lambda: ({}, {}))
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
        self._ground, self._engine, self._done = ground, engine, done
        self._claims = Claims()
        self._questions: list[ClaimQuestion] = []
        self._came: dict[str, bytes] = {}
        self._tell = seldom(say)

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
            {
                "night": number,
                "arrived": len(fresh),
                "proposals": _kinds(change.kind for change in plan.changes) if plan else {},
                "accepted": accepted,
                "notes": len(plan.notes) if plan else 0,
                "failures": list(failures),
                "claims": asdict(self._claims.survival(after)),
                "recall": _both(
                    ask(before, [was for was, _ in there]), ask(after, placed(one for _, one in there))
                ),
                "size": _both(_size(before), _size(after)),
                "seconds": round(seconds, 3),
                "requests": plan.usage.requests if plan and plan.usage else 0,
                "dollars": plan.usage.dollars if plan and plan.usage else 0.0,
            }
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

    def _step(self, number: int, step: DreamProgress) -> None:
        turn = f", request {step.turn} of at most {step.turns}" if step.turn else ""
        self._tell(f"night {number}: {step.phase}{turn}")


def _kinds(kinds: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(kinds).items()))


def _listed(files: Files) -> int:
    """Lines of the indexes that list memories: what is too much for one is paged out."""
    agents = Counter(agent_folder(path) for path in files)
    return sum(min(number, HOT_MEMORIES) for number in agents.values())


def _size(files: Files, listed: int | None = None) -> Figures:
    """Counts a tree, its bytes without indexes; `listed` index lines where it has no index of its own."""
    memories = {path: data for path, data in files.items() if is_memory(path)}
    lines = sum(
        len(index.targets(decode(data))) for path, data in files.items() if path.endswith(f"/{index.INDEX}")
    )
    return {
        "memories": len(memories),
        "claims": len(references(memories)),
        "bytes": sum(map(len, memories.values())),
        "index_lines": lines if listed is None else listed,
    }


RECALL = "share of questions whose memory is among the first five, 0 to 100"


def dream_figures(done: Nights) -> Figures:
    """The answer as JSON.

    Claims: `by_hash` stand word for word, `by_account` in what took them up, `dropped` were given up with a
    reason; `lost` must be 0. Recall is asked with what memories said when they arrived. A night's `before`
    is its memory before the dream; that of all nights is what arrived, had nobody dreamt.
    """
    proposals: Counter[str] = Counter()
    for night in done.nights:
        proposals.update(night["proposals"])
    return {
        "engine": done.engine,
        "seed": done.seed,
        "new_a_night": done.new,
        "corpus": done.memories,
        "arrived": sum(night["arrived"] for night in done.nights),
        "used_up": done.used_up or None,
        "nights": done.nights,
        "all": {
            "claims": asdict(done.survival),
            "lost": [
                {"claim": one.came, "text": one.claim.text, "why": one.lost or "it is gone"}
                for one in done.lost
            ],
            "recall": _both(*done.recall),
            "size": _both(*done.size),
            "proposals": dict(sorted(proposals.items())),
            "notes": sum(night["notes"] for night in done.nights),
            "failures": sum(len(night["failures"]) for night in done.nights),
            "seconds": round(sum(night["seconds"] for night in done.nights), 3),
        },
        "stopped": done.stopped.message if done.stopped else None,
        "recall": RECALL,
    }


def _both(before: Figures, after: Figures) -> Figures:
    return {"before": before, "after": after}
