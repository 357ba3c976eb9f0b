"""Memory that a change of the code makes false: what it names and the change removes or renames.

A change is what `BASE..HEAD` brings since the two parted. Told is what the code had before and lacks
after: a file or folder, and a symbol, flag or command of which the code has no mention left, or whose
definition the change plainly renamed. Each comes with the claims that name it, and as they would be true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from gitmem.core.errors import UsageError
from gitmem.core.memory import Memory, parse
from gitmem.core.names import hot_path, is_agent_folder, kind
from gitmem.core.references import Named, named, with_names
from gitmem.git.trees import read_files
from gitmem.ledger.workspace import SHARED_REF, Scope, Workspace
from gitmem.search.code_files import CodeFiles, Places
from gitmem.search.code_history import folder_moved, renames, word_fates

SECONDS = 60.0
"""For all questions to git: it runs in CI, where nobody waits at a prompt."""


@dataclass(frozen=True)
class Untrue:
    """One name that a memory has and the code no longer.

    Attributes:
        name: as the memory writes it.
        kind: `file` or `word` (a symbol, flag or command).
        now: what it became; empty where it is gone.
        claims: each claim that names it, and as it would be true; empty where nobody knows.
    """

    name: str
    kind: str
    now: str
    claims: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Affected:
    """A memory that a change makes false.

    Attributes:
        scope, path: where it stands, not in the archive.
        name: what it is called.
    """

    scope: str
    path: str
    name: str
    untrue: tuple[Untrue, ...]


@dataclass(frozen=True)
class CodeReport:
    """What a change does to memory.

    Attributes:
        base, head: commits between which the change lies.
        looked: memories that name code.
        affected: those that it makes false.
        whole: whether all was at hand; a shallow or partial clone may lack some.
    """

    base: str
    head: str
    looked: int
    affected: tuple[Affected, ...]
    whole: bool = True


@dataclass(frozen=True)
class _Memory:
    scope: str
    path: str
    memory: Memory


def check_code(workspace: Workspace, change: str, scope: str = "") -> CodeReport:
    """Holds memory against a change of the code.

    Args:
        change: `BASE..HEAD`; without a HEAD what is checked out, a lone commit against its parent.
        scope: whose memory; empty for all that is here.

    Raises:
        UsageError: there is no such commit.
    """
    with closing(CodeFiles(workspace.git, workspace.top, SECONDS)) as files:
        base, head = _ends(workspace, files, change)
        memories = list(_memories(workspace, scope))
        asked = [(one, named(f"{one.memory.description}\n\n{one.memory.body}")) for one in memories]
        asked = [(one, names) for one, names in asked if names.paths or names.words]
        became = _became(files, base, head, [names for _, names in asked])
        affected = [found for one, names in asked if (found := _affected(one, names, became))]
        return CodeReport(base, head, len(asked), tuple(affected), files.complete)


def _ends(workspace: Workspace, files: CodeFiles, change: str) -> tuple[str, str]:
    first, dots, last = change.partition("...") if "..." in change else change.partition("..")
    if not dots:
        first, last = f"{change}^", change
    names = (first or "HEAD", last or "HEAD")
    base, head = (_commit(workspace, name) for name in names)
    met = workspace.code.merge_bases(base, head)
    return met[0] if met else base, files.commit(head)


def _commit(workspace: Workspace, name: str) -> str:
    oid = workspace.code.resolve(name)
    if oid is None:
        raise UsageError(f"There is no commit {name!r}", "Give BASE..HEAD, two commits of the code.")
    return oid


def _memories(workspace: Workspace, scope: str) -> Iterator[_Memory]:
    for where in (workspace.scope(scope),) if scope else workspace.scopes:
        if where.name != "project" and not workspace.has_private:
            continue
        tip = _tip(where)
        for path, data in read_files(where.repo, where.repo.commit(tip).tree).items() if tip else ():
            if kind(path) == "memory" and is_agent_folder(path.partition("/")[0]):
                yield _Memory(where.name, hot_path(path) or path, parse(path, data))


def _tip(where: Scope) -> str | None:
    """The memory of a scope; in a checkout of CI that of the remote's memory branch."""
    if (tip := where.repo.ref(where.ref)) or where.name != "project":
        return tip
    branch = SHARED_REF.removeprefix("refs/heads/")
    remote = [oid for ref, oid in where.repo.refs("refs/remotes/").items() if ref.endswith(f"/{branch}")]
    return where.repo.ref(SHARED_REF) or (remote[0] if remote else None)


_Became = Mapping[tuple[str, str], str]
"""Kind and name of what the change took away, to what it is called now; empty where it is gone."""


def _became(files: CodeFiles, base: str, head: str, asked: Sequence[Named]) -> _Became:
    before, after = files.places(base), files.places(head)
    paths = {path: path.removeprefix("./").rstrip("/") for one in asked for path in one.paths}
    lost = {path for path, plain in paths.items() if before.meant(plain, "") and not after.has(plain)}
    moved = renames(files, base, head) if lost else {}
    turned = {path: _moved(path, before, moved) for path in lost}
    # What still ends so may be meant by it, unless it is known where it went.
    found = {
        ("file", path): now
        for path, now in turned.items()
        if not after.anywhere(paths[path]) or (now and before.has(paths[path]))
    }
    words = {name: parts for one in asked for name, parts in one.words}
    parts = {part for some in words.values() for part in some}
    had, has = (files.words(commit, parts)[0].keys() if parts else set() for commit in (base, head))
    there = {part for some in words.values() if had >= set(some) for part in some}
    gone = there - has
    # What is mentioned still may be defined no more: told only where it plainly got another name.
    undefined = (files.defined(base, there) - files.defined(head, there)) & has if there else set()
    fates = word_fates(files, base, head, gone | undefined) if gone | undefined else {}
    now = {word: fate.now for word, fate in fates.items() if fate.now}
    # A name that was made private often lives on in a shim that warns: its text is there, and leads nobody.
    private = {f"_{word}": word for word in undefined - now.keys() if word.isidentifier()}
    made = files.defined(head, private) - files.defined(base, private) if private else set()
    now |= {private[name]: name for name in made}
    out = gone | {word for word in undefined if word in now}
    for name, some in words.items():
        if not set(some) <= there or not set(some) & out:
            continue
        whole = all(part in now for part in set(some) & out)
        found["word", name] = (
            with_names(name, {part: now[part] for part in some if part in now}) if whole else ""
        )
    return found


def _moved(path: str, before: Places, moved: Mapping[str, str]) -> str:
    """What a file or folder is called now, written as the memory writes it."""
    plain = path.removeprefix("./").rstrip("/")
    meant = before.meant(plain, "")
    if len(meant) != 1:
        return ""
    now = moved.get(meant[0]) or folder_moved(meant[0], moved)
    above = meant[0].removesuffix(plain)
    shown = now.removeprefix(above) if above else now
    return f"{shown}/" if shown and path.endswith("/") else shown


def _affected(one: _Memory, names: Named, became: _Became) -> Affected | None:
    mine = [("file", path) for path in names.paths] + [("word", name) for name, _ in names.words]
    untrue = [_untrue(one.memory, *each, became[each]) for each in mine if each in became]
    return Affected(one.scope, one.path, one.memory.name, tuple(untrue)) if untrue else None


def _untrue(memory: Memory, what: str, name: str, now: str) -> Untrue:
    written, other = name.removesuffix("()"), now
    if written != name:
        other = now.removesuffix("()")
    holding = [
        text
        for text in (memory.description, *(claim.text for claim in memory.parsed.claims))
        if written in text
    ]
    pairs = {text: with_names(text, {written: other}) if now else "" for text in holding}
    return Untrue(name, what, now, tuple(pairs.items()))
