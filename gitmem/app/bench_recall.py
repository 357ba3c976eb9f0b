"""`gitmem bench recall`: how much of what answers a question is found, in a corpus or in the memories here.

A corpus has one memory a line, a query file one question:

    {"id": "a", "text": "Deploys go through the blue queue.", "name": "deploys", "time": "2026-03-01",
     "context": "what was said around it", "space": "team"}
    {"id": "q1", "query": "how do we deploy?", "relevant": ["a"], "at": "2026-04-01", "space": "team"}

Only `id` and `text`, `id`, `query` and `relevant` are needed; other keys are ignored. A text that begins
with frontmatter is read as a memory file. A query is asked of its own space alone and, with `at`, of the
lines that existed by then; a line without a time always did. Where nothing is relevant, silence is right.
The corpus becomes a throw-away repository, each line a blob and each time a commit, and is asked through
the catalog and the search that answer a person.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Any

from gitmem.app.bench_extract import Z, bad_line, objects
from gitmem.core.dates import MONTHS
from gitmem.core.limits import CANDIDATES, RECALLED
from gitmem.flows.prompt_recall import opened_sources
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand, layout
from gitmem.ledger.files import CATALOG
from gitmem.ledger.workspace import Workspace
from gitmem.search.catalog import Catalog, TreePlace
from gitmem.search.gate import Selection, select
from gitmem.search.query import Candidate, RecallSource, gather, search
from gitmem.search.text import Fields, read_memory
from gitmem.search.words import terms

_MONTH = rf"(?P<month>{'|'.join(MONTHS)})[a-z]*\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_DATES = tuple(
    re.compile(rf"(?<!\w){pattern}(?!\w)", re.IGNORECASE)
    for pattern in (
        rf"{_DAY}(?: of)? {_MONTH},? {_YEAR}",
        rf"{_MONTH} {_DAY},? {_YEAR}",
        r"(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})",
    )
)
_CLOCK = re.compile(
    r"(?<![\w:])(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::\d{2})?"
    r"(?: ?(?P<half>[ap])\.?m\b\.?|(?<=:\d\d)(?![\w:]))",
    re.IGNORECASE,
)
_LATEST = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


def moment(given: object, *, end: bool = False) -> int | None:
    """Reads a time: ISO 8601, epoch seconds, or prose that is clear ("1:56 pm on 8 May, 2023").

    Args:
        given: a value of a JSON line.
        end: whether a day without a time of day means its end, as in `--at`; else its beginning.

    Returns:
        Seconds since the epoch, UTC where no zone is given; None for what names no one moment. So does
        `3/4/2023`: half of the world reads March there.
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        return int(given) if 0 <= given < _LATEST else None
    if not isinstance(given, str):
        return None
    text = " ".join(given.split())
    try:
        read = datetime.fromisoformat(text)
        whole_day = re.fullmatch(r"\d{4}-?\d\d-?\d\d", text) is not None
    except ValueError:
        told = _in_prose(text)
        if told is None:
            return None
        read, whole_day = told
    if whole_day and end:
        read += timedelta(hours=23, minutes=59, seconds=59)
    seconds = int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp())
    return seconds if seconds >= 0 else None  # git knows no earlier time


def _in_prose(text: str) -> tuple[datetime, bool] | None:
    """The one moment that a text names, and whether it is a day without a time of day."""
    found = [match for pattern in _DATES for match in pattern.finditer(text)]
    if len(found) != 1:
        return None
    date = found[0].groupdict()
    month = int(date["number"]) if "number" in date else 1 + MONTHS.index(date["month"][:3].lower())
    rest = text[: found[0].start()] + " " + text[found[0].end() :]
    clocks = list(_CLOCK.finditer(rest))
    if len(clocks) > 1:
        return None
    try:
        day = datetime(int(date["year"]), month, int(date["day"]), tzinfo=UTC)
        if not clocks:
            return day, True
        clock = clocks[0]
        hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
        if clock["half"]:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if clock["half"].lower() == "p" else 0)
        return day.replace(hour=hour, minute=minute), False
    except ValueError:
        return None


@dataclass(frozen=True)
class CorpusLine:
    """One memory of a corpus.

    Attributes:
        near: what stands around it, and is no part of it.
        time: epoch seconds; None where it has none that can be read.
    """

    id: str
    text: str
    name: str = ""
    near: str = ""
    time: int | None = None


@dataclass(frozen=True)
class Query:
    """One question.

    Attributes:
        relevant: ids of the lines that answer it.
        at: asked as of then, epoch seconds; None for the present.
    """

    id: str
    text: str
    relevant: tuple[str, ...]
    at: int | None = None


@dataclass(frozen=True)
class CorpusSpace:
    """Lines that are searched together, in the file's order, and what is asked of them."""

    name: str
    lines: tuple[CorpusLine, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class RecallCorpus:
    """What two files hold.

    Attributes:
        spaces: in the order in which the corpus names them, then those that only queries name.
        unread_times: lines with a `time` that means no one moment.
    """

    spaces: tuple[CorpusSpace, ...]
    unread_times: int


def read_given(corpus: Path, queries: Path) -> RecallCorpus:
    """Reads a corpus and its queries.

    Raises:
        UsageError: a file cannot be read, a line is of another form, or an id is there twice.
    """
    lines: dict[str, dict[str, CorpusLine]] = {}
    unread = 0
    for number, value in objects(corpus, "memories"):
        line = CorpusLine(
            _text(value, "id", corpus, number),
            _text(value, "text", corpus, number),
            _text(value, "name", corpus, number, ""),
            _text(value, "context", corpus, number, ""),
            moment(value.get("time")),
        )
        unread += line.time is None and value.get("time") not in (None, "")
        space = lines.setdefault(_text(value, "space", corpus, number, ""), {})
        if line.id in space:
            raise bad_line(corpus, number, f"the id {line.id!r} is in its space twice")
        space[line.id] = line
    asked: dict[str, dict[str, Query]] = {}
    for number, value in objects(queries, "questions"):
        query = _query(value, queries, number)
        of = asked.setdefault(_text(value, "space", queries, number, ""), {})
        if query.id in of:
            raise bad_line(queries, number, f"the id {query.id!r} is in its space twice")
        of[query.id] = query
    names = dict.fromkeys((*lines, *asked))
    spaces = (
        CorpusSpace(name, tuple(lines.get(name, {}).values()), tuple(asked.get(name, {}).values()))
        for name in names
    )
    return RecallCorpus(tuple(spaces), unread)


def _query(value: Mapping[str, Any], path: Path, number: int) -> Query:
    relevant = value.get("relevant")
    if not isinstance(relevant, list) or not all(isinstance(one, str | int) for one in relevant):
        raise bad_line(path, number, "`relevant` is no list of ids")
    at = None
    if value.get("at") not in (None, ""):
        at = moment(value["at"], end=True)
        if at is None:
            raise bad_line(path, number, f"`at` is no clear time: {value['at']!r}")
    return Query(
        _text(value, "id", path, number),
        _text(value, "query", path, number),
        tuple(dict.fromkeys(map(str, relevant))),
        at,
    )


def _text(value: Mapping[str, Any], key: str, path: Path, number: int, default: str | None = None) -> str:
    """A key's text; numbers serve as ids, and null as a key that is not there."""
    found = value.get(key)
    if found is None:
        if default is None:
            raise bad_line(path, number, f"no `{key}`")
        return default
    if key in ("id", "space") and isinstance(found, int):
        found = str(found)
    if not isinstance(found, str):
        raise bad_line(path, number, f"`{key}` is no text")
    if key == "id" and not found:
        raise bad_line(path, number, "`id` is empty")
    return found


REF = "refs/heads/space"
"""The ref under which a catalog knows a space: each has a catalog of its own."""

FOLDER = 256
"""Lines in one folder of a tree: a new time rewrites one folder, not the list of all lines."""


@dataclass(frozen=True)
class Grown:
    """A space's history.

    Attributes:
        commits: oldest first; each holds what existed by its time.
        times: of the commits, epoch seconds, ascending.
    """

    commits: tuple[str, ...]
    times: tuple[int, ...]

    @property
    def tip(self) -> str | None:
        """The last commit; None for a space without lines."""
        return self.commits[-1] if self.commits else None

    def by(self, time: int) -> str | None:
        """The commit that holds what existed by a time; None where nothing did."""
        place = bisect_right(self.times, time)
        return self.commits[place - 1] if place else None


def path_of(number: int) -> str:
    """Where the line of that number stands in its space's tree."""
    # Lines of one thread have one time: their paths tell which comes first.
    return f"main/{number // FOLDER:06}/{number % FOLDER:03}.md"


def number_of(path: str) -> int:
    """The line that stands at a path."""
    _, folder, file = path.split("/")
    return int(folder) * FOLDER + int(file.removesuffix(".md"))


def read_line(path: str, data: bytes) -> Fields:
    """Reads the fields of a line's blob; see `text.Read`."""
    head, _, text = data.decode("utf-8", "replace").partition("\n")
    given = json.loads(head)
    fields = read_memory(path, text.encode("utf-8"))
    named = text.startswith("---\n")
    name = given["name"] or (fields.name if named else "")
    return replace(fields, name=name, session=given.get("session") or fields.session)


def build(
    git: GitCommand, folder: Path, spaces: Sequence[CorpusSpace]
) -> tuple[GitRepository, tuple[Grown, ...]]:
    """Makes the repository, with one process for all objects.

    Args:
        folder: empty, or not there yet.

    Raises:
        RepositoryError: git failed.
    """
    git.run(["init", "--bare", "--quiet", "--template=", str(folder)])
    marks = folder / "marks"
    words = ["fast-import", "--quiet", "--force", "--date-format=raw", f"--export-marks={marks}"]
    # Deltas are not worth their time in what is read once.
    git.run([*words, "--depth=0"], git_dir=folder, input=b"".join(_stream(spaces)))
    rows = (row.split() for row in marks.read_text("ascii").splitlines())
    names = {int(mark[1:]): oid for mark, oid in rows}
    grown, last = [], 0
    for space in spaces:
        times = tuple(time for time, _ in _by_time(space.lines))
        grown.append(Grown(tuple(names[last + place] for place in range(1, len(times) + 1)), times))
        last += len(times)
    return GitRepository(git, layout(git, folder, git_dir=folder)), tuple(grown)


def _by_time(lines: Sequence[CorpusLine]) -> Iterator[tuple[int, list[int]]]:
    """Numbers of the lines by time, oldest first; one without a time has always been there."""
    order = sorted(range(len(lines)), key=lambda number: lines[number].time or 0)
    for time, numbers in groupby(order, key=lambda number: lines[number].time or 0):
        yield time, list(numbers)


def _stream(spaces: Sequence[CorpusSpace]) -> Iterator[bytes]:
    """What `git fast-import` reads: the commits of all spaces, marked from 1 on."""
    mark = 0
    for space in spaces:
        yield b"reset %s\n" % REF.encode()
        sessions = _sessions(space.lines)
        for time, numbers in _by_time(space.lines):
            mark += 1
            yield f"commit {REF}\nmark :{mark}\ncommitter bench <bench@localhost> {time} +0000\n".encode()
            yield b"data 0\n"
            for number in numbers:
                data = _blob(space.lines[number], sessions[number])
                yield f"M 100644 inline {path_of(number)}\ndata {len(data)}\n".encode() + data + b"\n"
            yield b"\n"


def follows(lines: Sequence[CorpusLine]) -> list[bool]:
    """Says of each line whether it follows the one before: its context holds what that says."""
    before = ["", *(line.text for line in lines)]
    return [bool(text) and text in line.near for text, line in zip(before, lines, strict=False)]


def _sessions(lines: Sequence[CorpusLine]) -> list[str]:
    """The session of each line, for a catalog: the id of the first in its run; alone it has none."""
    following = follows(lines)
    found: list[str] = []
    for place, line in enumerate(lines):
        followed = place + 1 < len(lines) and following[place + 1]
        found.append(found[-1] if following[place] else line.id if followed else "")
    return found


def _blob(line: CorpusLine, session: str) -> bytes:
    # With its id, a line is a content of its own, whatever others say.
    head = json.dumps({"id": line.id, "name": line.name, "session": session})
    return f"{head}\n{line.text}".encode("utf-8", "replace")


DEPTHS = (1, 5, 10)

MANY = 5_000
"""Memories from which on writing or indexing them takes more than a moment."""

Progress = Callable[[str], None]

PROGRESS_SECONDS = 2.0


def seldom(say: Progress) -> Progress:
    """Passes lines on, but none that comes within two seconds of the last one (or of now)."""
    told = perf_counter()

    def tell(line: str) -> None:
        nonlocal told
        if perf_counter() - told > PROGRESS_SECONDS:
            told = perf_counter()
            say(line)

    return tell


@dataclass(frozen=True)
class QueryOutcome:
    """What came of one query.

    Attributes:
        ranked: ids of all candidates, best first: the order before the choice.
        selected: ids of those that the default choice shows, at most five.
        relevant: ids of what answers it, those that were there to be found.
        missing: ids that the query names and its space does not hold, or did not by then.
        ms: milliseconds that search and choice took.
    """

    space: str
    query: Query
    ranked: tuple[str, ...]
    selected: tuple[str, ...]
    relevant: tuple[str, ...]
    missing: tuple[str, ...]
    ms: float

    @property
    def unanswerable(self) -> bool:
        """Whether all that the query names is missing, so that nothing can be said of it."""
        return not self.relevant and bool(self.missing)

    @property
    def first(self) -> int | None:
        """Rank of the first that is relevant, from 1 on."""
        return next((rank for rank, one in enumerate(self.ranked, 1) if one in self.relevant), None)

    def share(self, depth: int) -> float:
        """Share of what is relevant among the best so many."""
        return len(set(self.ranked[:depth]) & set(self.relevant)) / len(self.relevant)

    @property
    def selected_share(self) -> float:
        """Share of what is relevant among what is shown."""
        return len(set(self.selected) & set(self.relevant)) / len(self.relevant)


@dataclass
class Measured:
    """All queries, and what the indexes cost.

    Attributes:
        index_seconds: time that the catalogs took to read and index their lines, together.
        index_bytes: size of their files, together.
    """

    given: RecallCorpus
    asked: list[QueryOutcome] = field(default_factory=list)
    index_seconds: float = 0.0
    index_bytes: int = 0


def measure(given: RecallCorpus, git: GitCommand, folder: Path, now: int, say: Progress) -> Measured:
    """Asks every query of its space.

    Args:
        folder: an empty one, for the repository and one catalog at a time.
        now: epoch seconds, for spaces whose lines have no time; else the present is a space's newest time.
        say: told how far it is, every two seconds.

    Raises:
        RepositoryError: git failed.
    """
    measured = Measured(given)
    total = sum(len(space.queries) for space in given.spaces)
    lines = sum(len(space.lines) for space in given.spaces)
    if lines >= MANY:
        say(f"writing {lines:,} memories in {len(given.spaces):,} spaces")
    repo, grown = build(git, folder / "corpus.git", given.spaces)
    tell = seldom(say)
    try:
        for number, (space, history) in enumerate(zip(given.spaces, grown, strict=True), 1):
            if not space.queries:
                continue
            if len(space.lines) >= MANY:
                say(f"indexing {len(space.lines):,} memories")
            for asked in _ask_all(measured, repo, space, history, folder / "catalog", now):
                measured.asked.append(asked)
                spaces = f"space {number} of {len(given.spaces)}"
                tell(f"{spaces}, {len(measured.asked)} of {total} questions")
    finally:
        repo.close()
    return measured


def _ask_all(
    measured: Measured, repo: GitRepository, space: CorpusSpace, history: Grown, folder: Path, now: int
) -> Iterator[QueryOutcome]:
    begun = perf_counter()
    catalog = Catalog.open(folder)
    try:
        catalog.bring_up_to_date(repo, REF, history.tip, read_line)
        measured.index_seconds += perf_counter() - begun
        present = max((time for time in history.times if time), default=now)
        times = {line.id: line.time or 0 for line in space.lines}
        for query in space.queries:
            limit = present if query.at is None else query.at
            there = [
                one for one in query.relevant if one in times and (query.at is None or times[one] <= limit)
            ]
            then = {} if query.at is None else _then(catalog, repo, history, query.at)
            begun = perf_counter()
            found: Sequence[Candidate] = ()
            if then is not None:
                found = search(catalog, query.text, (REF,), limit=CANDIDATES, when=then, now=limit)
            chosen = select(found).chosen[:RECALLED]
            ms = 1000 * (perf_counter() - begun)
            missing = tuple(one for one in query.relevant if one not in there)
            yield QueryOutcome(
                space.name, query, _ids(space, found), _ids(space, chosen), tuple(there), missing, ms
            )
    finally:
        catalog.close()
        measured.index_bytes += (folder / CATALOG).stat().st_size
        shutil.rmtree(folder)


def _ids(space: CorpusSpace, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    return tuple(space.lines[number_of(one.path)].id for one in candidates)


def _then(catalog: Catalog, repo: GitRepository, history: Grown, at: int) -> dict[str, str] | None:
    """The commit of the ref as of then, laid out; None where nothing existed yet."""
    commit = history.by(at)
    if commit is None:
        return None
    if commit == history.tip:
        return {}
    catalog.lay_out(repo, REF, commit, read_line)
    return {REF: commit}


INTERVAL = "95 %, normal over queries"


def figures(measured: Measured) -> dict[str, Any]:
    """Adds queries up.

    Shares are means over queries of the share of what is relevant, 0 to 100. Ranking is measured before the
    choice, which may rightly show less; `selected` is measured after it. `threads` counts lines that follow
    another, and are searched as memories of one session are. Queries with nothing relevant, and
    those of which all that is relevant is missing, are counted apart.
    """
    scored = [one for one in measured.asked if one.relevant]
    silent = [one for one in measured.asked if not one.relevant and not one.missing]
    return {
        "spaces": len(measured.given.spaces),
        "memories": sum(len(space.lines) for space in measured.given.spaces),
        "threads": sum(sum(follows(space.lines)) for space in measured.given.spaces),
        "queries": len(scored),
        **{f"recall@{depth}": _mean([one.share(depth) for one in scored]) for depth in DEPTHS},
        "mrr": _rounded([1 / one.first if one.first else 0.0 for one in scored]),
        "selected": {
            "answered": sum(bool(one.selected) for one in scored),
            "shown": round(sum(len(one.selected) for one in scored) / len(scored), 2) if scored else None,
            "recall@5": _mean([one.selected_share for one in scored]),
        },
        "nothing_relevant": {
            "queries": len(silent),
            "answered": sum(bool(one.selected) for one in silent),
        },
        "missing_relevant": sum(len(one.missing) for one in measured.asked),
        "unanswerable": sum(one.unanswerable for one in measured.asked),
        "unread_times": measured.given.unread_times,
        "ms": {
            "p50": _quantile([one.ms for one in measured.asked], 0.5),
            "p95": _quantile([one.ms for one in measured.asked], 0.95),
        },
        "index": {"seconds": round(measured.index_seconds, 3), "bytes": measured.index_bytes},
        "interval": INTERVAL,
    }


def _mean(shares: Sequence[float]) -> dict[str, float] | None:
    if not shares:
        return None
    mean, low, high = (round(100 * value, 1) for value in normal(shares))
    return {"mean": mean, "low": low, "high": high}


def _rounded(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


def _quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that so many are not above (nearest rank)."""
    if not values:
        return None
    ranked = sorted(values)
    return round(ranked[max(0, -(-int(share * 100) * len(ranked) // 100) - 1)], 2)


AHEAD = 3
"""Memories that are named of those that come first."""


@dataclass(frozen=True)
class Own:
    """One memory, asked for by its own description.

    Attributes:
        query: its description, else its name.
        rank: among the candidates, from 1 on; None where it is none.
        found: it, or one with the same content, is among the five that are shown.
        why: why not, for a person; empty where it is found.
    """

    scope: str
    path: str
    query: str
    rank: int | None
    found: bool
    why: str = ""


def ask_own(workspace: Workspace, say: Callable[[str], None]) -> tuple[Own, ...]:
    """Asks for every memory of all scopes and agents, as a recall sees them.

    Args:
        say: told how far it is, every two seconds.
    """
    with opened_sources(workspace) as (sources, _):
        gather("", sources)  # brings every catalog up to date
        memories = [
            (source, place)
            for source in sources
            for ref in sorted(source.scopes, key=lambda ref: source.scopes[ref])
            for place in source.catalog.places(ref)
        ]
        asked: list[Own] = []
        tell = seldom(say)
        for source, place in memories:
            asked.append(_ask(sources, source, place))
            tell(f"{len(asked)} of {len(memories)} memories")
        return tuple(asked)


def _ask(sources: Sequence[RecallSource], source: RecallSource, place: TreePlace) -> Own:
    scope = source.scopes[place.ref]
    head = source.catalog.heads(source.repo, [place.blob]).get(place.blob)
    query = (head.description or head.name) if head else ""
    if head is None:
        return Own(scope, place.path, query, None, False, "its content is missing from the repository")
    if not query.strip():
        return Own(scope, place.path, query, None, False, "it has no description and no name")
    candidates = [one for _, one in gather(query, sources, None, CANDIDATES)]
    selection = select(candidates)
    shown = selection.chosen[:RECALLED]
    rank = next((at for at, one in enumerate(candidates, 1) if _is(one, place)), None)
    if any(_is(one, place) or one.blob == place.blob for one in shown):
        return Own(scope, place.path, query, rank, True)
    return Own(scope, place.path, query, rank, False, _why(query, place, candidates, selection))


def _why(query: str, place: TreePlace, candidates: Sequence[Candidate], selection: Selection) -> str:
    if not terms(query):
        return "its description has no word that could be looked for"
    left = next((one for one in selection.left if _is(one.candidate, place)), None)
    if left is not None:
        return f"the choice leaves it out: {left.words}"
    if any(_is(one, place) for one in candidates):
        ahead = ", ".join(one.path for one in selection.chosen[:AHEAD])
        return f"others come first: {ahead}, …"
    if not candidates:
        return "no memory has a word of its description"
    return f"{len(candidates)} others match better: {', '.join(one.path for one in candidates[:AHEAD])}, …"


def _is(candidate: Candidate, place: TreePlace) -> bool:
    return candidate.ref == place.ref and candidate.path == place.path


def normal(shares: Sequence[float]) -> tuple[float, float, float]:
    """The mean of some queries' shares and its interval of 95 %, normal over queries.

    Args:
        shares: each from 0 to 1.

    Returns:
        Mean, lower and upper end; the ends of what is possible where there are fewer than two queries.
    """
    if not shares:
        return 0.0, 0.0, 1.0
    mean = math.fsum(shares) / len(shares)
    if len(shares) < 2:
        return mean, 0.0, 1.0
    variance = math.fsum((share - mean) ** 2 for share in shares) / (len(shares) - 1)
    half = Z * math.sqrt(variance / len(shares))
    return mean, max(0.0, mean - half), min(1.0, mean + half)
