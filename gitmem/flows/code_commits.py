"""What the code's own history says to a question: the commits that decided it, and whether they stand.

Whether a later commit undid one is said only where it can be shown: by a name in a message, or by lines
that one commit added and another removed. What that commit moved elsewhere is not gone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from gitmem.core.text import fence_for_model, iso, one_line
from gitmem.git.command import GitCommand, peek
from gitmem.ledger.workspace import Workspace
from gitmem.rules.redaction import Scan, redact
from gitmem.search.commits import CommitIndex, CommitText, Hit, follow, messages
from gitmem.search.reach import Lines, read_lines
from gitmem.search.recall import plain_place
from gitmem.values import dataclass

SETTING = "recallCommits"
"""Whether prompts and questions are told of commits unasked."""

TOLD_TO_PROMPTS = 2
TOLD_TO_QUESTIONS = 3

NEAREST = 3
NEAREST_CHARS = 60

NEAR_BEST = 0.7
"""Share of the best score that a second commit needs."""

PROMPT_SECONDS = 0.3
FOLLOW_SECONDS = 60.0
"""What the worker takes for the index after a job; what is left then waits for the next."""

PATIENT_SECONDS = 3.0
"""What a person who asks may wait for the index."""

BROKEN = 0.75
"""Share of its lines in a file without which a commit counts as broken, and not just as changed."""

EXCERPT_CHARS = 700
SUBJECT_CHARS = 160
SHORT = 10

_BRANCHES = ("main", "master")


@dataclass(frozen=True)
class ToldCommit:
    """A commit as it is told.

    Attributes:
        time: ISO 8601, UTC.
        text: the sentences of its body that fit.
        undone: what is known of its end, in words; empty where nothing is.
        undone_by: the commit that did it; empty as above.
        score: see `Hit`.
    """

    commit: str
    time: str
    subject: str
    text: str
    undone: str
    undone_by: str
    score: float


def default_tip(workspace: Workspace) -> str:
    """The newest commit known of the code's default branch: the remote's, else the one here, else HEAD.

    Returns:
        Its name; empty where there is no commit yet.
    """
    names = ["refs/remotes/origin/HEAD", *(f"refs/remotes/origin/{name}" for name in _BRANCHES)]
    names += [f"refs/heads/{name}" for name in _BRANCHES]
    words = ["for-each-ref", "--format=%(refname) %(objectname)", *names]
    seen = peek(workspace.git, words, cwd=workspace.top, seconds=PATIENT_SECONDS, size=1 << 16)
    found = dict(line.split(" ", 1) for line in seen.text.splitlines())
    for name in names:
        if name in found:
            return found[name]
    head = ["rev-parse", "--verify", "-q", "HEAD"]
    return peek(workspace.git, head, cwd=workspace.top, seconds=PATIENT_SECONDS, size=1 << 10).text.strip()


def follow_commits(workspace: Workspace, seconds: float) -> bool:
    """Brings the index to the default branch, as far as there is time; whether it is there."""
    tip = default_tip(workspace)
    return bool(tip) and follow(workspace.state, workspace.git, workspace.top, tip, seconds)


def find_commits(
    workspace: Workspace,
    query: str,
    scan: Scan,
    *,
    unasked: bool,
    seen: Collection[str] = (),
    seconds: float = PATIENT_SECONDS,
) -> tuple[ToldCommit, ...]:
    """Finds the commits that decided what a question or prompt is about.

    Args:
        scan: finds credentials: what is returned holds none.
        unasked: whether this is a prompt, which nobody meant as a question.
        seen: commits that this session was told of.
        seconds: for git.
    """
    until = time.monotonic() + seconds
    index = CommitIndex.open(workspace.state)
    if index is None:
        return ()
    with closing(index):
        hits = choose(index.search(query), unasked=unasked, seen=seen)
        if not hits:
            return ()
        said = messages(workspace.git, workspace.top, [hit.oid for hit in hits], until - time.monotonic())
        found = []
        for hit in hits:
            if (message := said.get(hit.oid)) is None:
                continue
            end = undoing(index, workspace.git, workspace.top, message, until - time.monotonic())
            text = index.excerpt(query, redact(message.body, scan), EXCERPT_CHARS)
            found.append(_told(message, text, end, scan, hit.score))
        return tuple(found)


def nearest_commits(workspace: Workspace, query: str, scan: Scan) -> tuple[str, ...]:
    """Names the commits that share most with a question, though none fits: short id and subject."""
    index = CommitIndex.open(workspace.state)
    if index is None:
        return ()
    with closing(index):
        oids = [hit.oid for hit in index.search(query, NEAREST)]
    said = messages(workspace.git, workspace.top, oids, PATIENT_SECONDS)
    return tuple(
        f"{oid[:SHORT]} {one_line(redact(said[oid].subject, scan), NEAREST_CHARS)}"
        for oid in oids
        if oid in said
    )


def choose(hits: Sequence[Hit], *, unasked: bool, seen: Collection[str] = ()) -> list[Hit]:
    """Those of some hits, best first, that are worth telling; arguments as for `find_commits`."""
    fitting = [hit for hit in hits if hit.fits_prompt or (not unasked and hit.fits_question)]
    new = [hit for hit in fitting if hit.score >= NEAR_BEST * fitting[0].score and hit.oid not in seen]
    return new[: TOLD_TO_PROMPTS if unasked else TOLD_TO_QUESTIONS]


def as_context(commits: Sequence[ToldCommit]) -> str:
    """States commits as facts for a model, fenced as data; empty where there are none."""
    if not commits:
        return ""
    count = len(commits)
    what = "commit" if count == 1 else "commits"
    parts = [f"gitmem found {count} {what} of the code's history that may bear on this.\n"]
    for one in commits:
        whole = f"{one.subject}\n\n{one.text}" if one.text else one.subject
        block = fence_for_model(whole, source=f"commit {one.commit[:SHORT]} of the code, {one.time[:10]}")
        parts.append(f"{block}Known of it: {one.undone.replace('`', chr(39))}\n" if one.undone else block)
    return "\n".join(parts)


def as_values(commits: Sequence[ToldCommit]) -> list[dict[str, object]]:
    """The same for `--json`."""
    return [asdict(one) for one in commits]


def _told(message: CommitText, text: str, end: UndoneBy | None, scan: Scan, score: float) -> ToldCommit:
    return ToldCommit(
        commit=message.oid,
        time=iso(message.time),
        subject=one_line(redact(message.subject, scan), SUBJECT_CHARS),
        text=text,
        undone=redact(_words(end), scan) if end else "",
        undone_by=end.oid if end else "",
        score=score,
    )


def _words(end: UndoneBy) -> str:
    if not end.path:
        return f"reverted since by {end.oid[:SHORT]}"
    what = "broken" if BROKEN * end.brought <= end.taken else "changed"
    return (
        f"{what} since by {end.oid[:SHORT]}, which took out {end.taken} of the {end.brought} lines "
        f"that it brought to {plain_place(end.path)}"
    )


MOST_LATER = 200
"""Later commits on the same paths that are looked at, the oldest first."""

MOST_PATHS = 20
"""Files of a commit that are looked at: what touches more decides nothing on each."""

SUSPECTS = 3
"""Later commits that are looked at as a whole, for lines that they moved elsewhere."""

PATCH_BYTES = 2 << 20

FEWEST_LINES = 2
"""Lines that a commit brought to a file, below which their end tells nothing."""

PROSE = (".md", ".rst", ".txt", ".adoc")

SHORTEST = 4
"""Characters of a line that counts: brackets and blank lines come and go."""


@dataclass(frozen=True)
class UndoneBy:
    """What undid a commit, wholly or in part.

    Attributes:
        path: the file that lost lines; empty where the commit says that it reverts.
        taken, brought: lines that it took out there, of so many.
    """

    oid: str
    path: str = ""
    taken: int = 0
    brought: int = 0


def undoing(
    index: CommitIndex, git: GitCommand, top: Path, message: CommitText, seconds: float
) -> UndoneBy | None:
    """The first commit that undid another, as far as is known; nothing is fetched to find out.

    Args:
        seconds: for git.
    """
    if reverts := index.reverts(message.oid, message.subject):
        return UndoneBy(reverts[0])
    later = index.later(message.oid, MOST_LATER)
    if not later:
        return None
    until = time.monotonic() + seconds
    own = _patches(git, top, [message.oid], seconds)
    if not own or len(own[0]) > MOST_PATHS:
        return None
    paths = [_path(header) for header in own[0]]
    on_them = _patches(git, top, later, until - time.monotonic(), paths)
    for suspect in list(_lost(own[0], zip(later, on_them, strict=False)))[:SUSPECTS]:
        whole = _patches(git, top, [suspect.oid], until - time.monotonic())
        found = next(_lost(own[0], [(suspect.oid, whole[0])]), None) if whole else None
        if found is not None and not _stands(git, top, own[0], found, until - time.monotonic()):
            return found
    return None


def _stands(git: GitCommand, top: Path, own: Lines, found: UndoneBy, seconds: float) -> bool:
    """Whether HEAD has most of the lines again, or it cannot be told."""
    words = ["cat-file", "blob", f"HEAD:{found.path}"]
    seen = peek(git, words, cwd=top, seconds=seconds, size=PATCH_BYTES)
    if seen.returncode is None:
        return True
    now = Counter(seen.text.split("\n"))
    brought = next(lines for header, lines in _brought(own).items() if _path(header) == found.path)
    return 2 * (brought & now).total() > brought.total()


def _patches(
    git: GitCommand, top: Path, commits: Sequence[str], seconds: float, paths: Sequence[str] = ()
) -> Sequence[Lines]:
    """What commits change in some files, or in all; nothing where it is not there, or too much."""
    words = [
        "--literal-pathspecs",
        "diff-tree",
        "--stdin",
        "--root",
        "--always",
        "--no-renames",
        "-p",
        "-U0",
    ]
    words += ["--no-ext-diff", "--no-textconv", "--", *paths]
    listed = "".join(f"{oid}\n" for oid in commits).encode()
    seen = peek(git, words, cwd=top, seconds=seconds, size=PATCH_BYTES, input=listed)
    return read_lines(seen.stdout) if seen.returncode == 0 else []


def _lost(own: Lines, later: Iterable[tuple[str, Lines]]) -> Iterator[UndoneBy]:
    """Commits that took out most of what one brought to a file, one after another."""
    brought = _brought(own)
    for oid, patch in later:
        moved = Counter(line[1:] for lines in patch.values() for line in lines if line[0] == "+")
        for header, lines in brought.items():
            gone = Counter(line[1:] for line in patch.get(header, ()) if line[0] == "-")
            taken = (lines & (gone - moved)).total()
            if lines.total() >= FEWEST_LINES and 2 * taken >= lines.total():
                yield UndoneBy(oid, _path(header), taken, lines.total())
                break


def _brought(own: Lines) -> dict[str, Counter[str]]:
    """Lines of code that a commit adds, by the header of the file's patch; prose is often reworded."""
    return {
        header: Counter(line[1:] for line in lines if line[0] == "+" and len(line.strip()) > SHORTEST)
        for header, lines in own.items()
        if not _path(header).lower().endswith(PROSE)
    }


def _path(header: str) -> str:
    """The path of `diff --git a/<path> b/<path>`: both are the same, without renames."""
    both = header.removeprefix("diff --git a/")
    return both[: (len(both) - len(" b/")) // 2]
