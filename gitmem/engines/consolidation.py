"""From a scope's tree as a model left it to the changes of a dream; neither tree nor answer is trusted.

A claim that went must have an account. What else there is to prove (nothing new, nothing overspent, no
secret, and what a search still finds) is the flow's, which judges the changes of every engine alike, here
while the model can still mend them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gitmem.core.account import is_memory, path_of, references
from gitmem.core.errors import EngineError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import Memory, parse
from gitmem.core.merge import Files
from gitmem.core.names import is_agent_folder, is_log, is_memory_file
from gitmem.core.text import counted, one_line
from gitmem.core.trailers import Fate
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange
from gitmem.engines.fates import (
    SettledClaims,
    ToldChange,
    Unreadable,
    entries,
    hear,
    quoted,
    settle,
)
from gitmem.engines.prompts import labels
from gitmem.rules.paths import check_path
from gitmem.rules.secrets import find_secrets, redact

NOTES = 20
"""Remarks to a person that are taken from one answer."""

PROBLEMS = 60
"""Of what is wrong, told at once."""

_PATH_CHARS = 200


class UnaccountedError(EngineError):
    """A model left claims without an account, or added what nobody said; nothing of its work is kept."""

    def __init__(self, engine: str, problems: tuple[str, ...]) -> None:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        # It quotes memory, which may hold what is not to be shown.
        first = redact(problems[0], find_secrets(problems[0]))
        super().__init__(
            f"{engine} does not account for what it changed: {first}{more}",
            "Nothing was proposed. Run it again, or choose: git mem dream --engine offline",
        )
        self.problems = problems


def derive_dream(
    given: ConsolidateInput, after: Mapping[str, bytes], answer: str, engine: str = "The engine"
) -> Consolidation:
    """Turns what a model did to a copy of a scope into changes, each with the fate of every claim.

    Args:
        given: what it was asked with.
        after: the scope's tree as it left it, path from the root to content.
        answer: its last words: one JSON array of changes (see `fates.entries`).
        engine: whose work it is, for the message.

    Returns:
        changes in the order of the answer; entries that share a file are one. Nothing where no memory
        changed, whatever the answer says.

    Raises:
        UnaccountedError: something must still be put right; its `problems` are for the model, a line each,
            with text of memories in them as it stands.
    """
    work = _Work(given, after, answer)
    if work.problems:
        raise UnaccountedError(engine, work.problems)
    notes = (*work.notes, *_left(given, work.changes))
    return Consolidation(tuple(work.changes), notes, None, tuple(work.log))


def _left(given: ConsolidateInput, changes: Iterable[DreamChange]) -> Iterator[str]:
    """The lines of logs that nothing was made of: none is passed over in silence."""
    used = {fate.source for change in changes for fate in change.fates}
    left = [ref for ref in labels(given.lines).values() if ref not in used]
    for ref in left[:NOTES]:
        yield f"left: {ref}: the model made no memory of it: “{one_line(given.lines[ref].text, 100)}”"
    if len(left) > NOTES:
        yield f"left: {len(left) - NOTES} more"


@dataclass
class _Group:
    """Files that change together, and the entries that say why."""

    paths: list[str]
    entries: list[ToldChange] = field(default_factory=list)


class _Work:
    def __init__(self, given: ConsolidateInput, after: Mapping[str, bytes], answer: str) -> None:
        self.log: list[str] = []
        self.notes: list[str] = []
        self.changes: list[DreamChange] = []
        self._given = given
        self._before = {path: data for path, data in given.files.items() if is_memory(path)}
        self._after = self._settled_files(after)
        paths = sorted({*self._before, *self._after})
        self._changed = [path for path in paths if self._before.get(path) != self._after.get(path)]
        found = self._problems(answer) if self._changed else []
        if len(found) > PROBLEMS:
            found[PROBLEMS:] = [f"and {counted(len(found) - PROBLEMS, 'more problem')}"]
        self.problems = tuple(found)

    def _settled_files(self, after: Mapping[str, bytes]) -> dict[str, bytes]:
        """The memories as they may become: what is no memory of these agents stays as it was."""
        files = dict(self._before)
        for path in sorted({*self._given.files, *after}):
            old, new = self._given.files.get(path), after.get(path)
            if old == new:
                continue
            if not self._is_own(path):
                self.log.append(f"{one_line(path, _PATH_CHARS)}: no dream changes this; it stays as it was")
                continue
            if new is None or not new.strip():
                files.pop(path, None)
                continue
            problem = _unfit(new)
            if problem:
                self.log.append(f"{one_line(path, _PATH_CHARS)}: {problem}; it stays as it was")
                continue
            rendered = _with_front(path, old, new)
            if parse(path, rendered).body != parse(path, new).body:
                self.log.append(
                    f"{one_line(path, _PATH_CHARS)}: its frontmatter is broken; it stays as it was"
                )
                continue
            files[path] = rendered
        return files

    def _is_own(self, path: str) -> bool:
        agent, _, file = path.partition("/")
        agents = self._given.agents
        return (
            is_memory(path)
            and check_path(path) is None
            and is_agent_folder(agent)
            and is_memory_file(file)
            and (not agents or agent in agents)
        )

    def _problems(self, answer: str) -> list[str]:
        try:
            told = entries(answer)
        except Unreadable as problem:
            return [str(problem)]
        gone = [one for entry in told for one in entry.gone]
        settled = settle(self._before, self._after, self._changed, gone, self._find)
        heard = hear(self._given, self._after, told, self._changed, self._find)
        groups, unnamed = self._groups(told, settled)
        problems = [f"{path} was changed, and no change of the answer names it" for path in unnamed]
        problems += [
            *settled.problems,
            *heard.problems,
            *untold_twins(self._before, told, settled, self._find),
        ]
        for group in groups:
            fates = [fate for ref, fate in settled.fates.items() if path_of(ref) in group.paths]
            lines = heard.into(group.paths)
            problems += retyped(self._before, self._after, group.paths, heard.types(lines))
            if not any(entry.reason for entry in group.entries):
                problems.append(f"{', '.join(group.paths[:3])}: the change gives no reason")
            if not problems:
                self.changes.append(self._change(group, [*fates, *lines]))
        problems += [
            f"{path_of(ref)}: {quoted(one)} is a copy of what stays" for ref, one in settled.copies.items()
        ]
        return problems or list(self._given.judge(self.changes))

    def _find(self, told: str) -> str:
        """The path that a model means: with or without the folders that it was shown it in."""
        plain = told.strip().strip("`").replace("\\", "/").rpartition("memory/")[2].removeprefix("./")
        plain = plain.removeprefix(f"{self._given.scope}/") if self._given.scope else plain
        if plain in self._before or plain in self._after:
            return plain
        meant = [path for path in self._changed if path.rpartition("/")[2] == plain]
        return meant[0] if len(meant) == 1 else ""

    def _groups(
        self, told: tuple[ToldChange, ...], settled: SettledClaims
    ) -> tuple[list[_Group], list[str]]:
        """Files that must change together, in the order of the answer; and those that it does not name."""
        changed = frozenset(self._changed)
        parent = {path: path for path in self._changed}

        def top(path: str) -> str:
            while parent[path] != path:
                path = parent[path] = parent[parent[path]]
            return path

        def unite(paths: Iterable[str]) -> list[str]:
            mine = [path for path in dict.fromkeys(paths) if path in changed]
            for path in mine[1:]:
                parent[top(path)] = top(mine[0])
            return mine

        named: list[tuple[ToldChange, list[str]]] = []
        for entry in told:
            mine = unite(map(self._find, entry.named))
            if mine:
                named.append((entry, mine))
            elif not entry.named and entry.subject and len(self.notes) < NOTES:
                self.notes.append(f"model: {one_line(f'{entry.subject}: {entry.reason}', 300)}")
        standing = references(self._before)
        for ref, fate in settled.fates.items():
            if fate.target and fate.target not in standing:
                unite((path_of(ref), path_of(fate.target)))
        groups: dict[str, _Group] = {}
        for entry, mine in named:
            group = groups.setdefault(top(mine[0]), _Group([]))
            group.entries.append(entry)
        told_of = {path for _, mine in named for path in mine}
        unnamed = [path for path in self._changed if path not in told_of]
        for path in self._changed:
            if top(path) in groups:
                groups[top(path)].paths.append(path)
        return list(groups.values()), unnamed

    def _change(self, group: _Group, fates: list[Fate]) -> DreamChange:
        subjects = dict.fromkeys(entry.subject for entry in group.entries if entry.subject)
        reasons = dict.fromkeys(entry.reason for entry in group.entries if entry.reason)
        why = "; ".join(reasons)
        return DreamChange(
            self._kind(group, fates),
            {path: self._after.get(path) for path in group.paths},
            tuple(replace(fate, reason=fate.reason or why) for fate in fates),
            "\n".join(reasons),
            "; ".join(subjects) or f"Consolidate {parse(group.paths[0], b'').name}",
        )

    def _kind(self, group: _Group, fates: list[Fate]) -> str:
        if self._disputes(self._before, group.paths) > self._disputes(self._after, group.paths):
            return "dispute"
        kinds = {fate.kind for fate in fates if not is_log(path_of(fate.source))}
        if fates and not kinds:
            return "distil"
        names = {"dropped": "drop", "superseded": "supersede", "merged": "merge", "kept": "move"}
        return next((names[kind] for kind in names if kind in kinds), "tidy")

    def _disputes(self, files: Mapping[str, bytes], paths: list[str]) -> int:
        there = (parse(path, files[path]) for path in paths if path in files)
        return sum(bool(claim.dispute) for memory in there for claim in memory.claims)


def _unfit(data: bytes) -> str:
    """Why content cannot be a memory's; empty where it can."""
    if len(data) > MEMORY_BYTES:
        return f"it is larger than {MEMORY_BYTES:,} bytes"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return "it is no UTF-8"
    return "it is no text" if "\0" in text else ""


def _with_front(path: str, old: bytes | None, new: bytes) -> bytes:
    """A memory as edited, its frontmatter as it was but for the description.

    Name and type, and what other tools keep there, are the person's: who may see a memory is no model's to
    decide.
    """
    after = parse(path, new)
    if old is None:
        return new
    front = parse(path, old).front
    if front is not None and after.front is not None and after.description != front.text("description"):
        front = front.with_value("description", after.description)
    return Memory(path, front, after.body).render()


def retyped(before: Files, after: Files, paths: Sequence[str], heard: Iterable[str] = ()) -> list[str]:
    """New memories of another type than what they are made of, or without a whole header.

    Args:
        paths: files that change together.
        heard: types of the lines of daily logs that went into them.
    """
    types = {parse(path, before[path]).type for path in paths if path in before} | set(heard)
    found = []
    for path in paths:
        if path in before or path not in after:
            continue
        made = parse(path, after[path])
        if types and made.type not in types:
            known = ", ".join(sorted(types))
            found.append(f"{path}: a new memory has the type of those that it is made of ({known})")
        if not (made.front and made.front.text("name") and made.description):
            found.append(f"{path}: a new memory has a header with name, description and type")
    return found


def untold_twins(
    before: Files, told: Sequence[ToldChange], settled: SettledClaims, find: Callable[[str], str]
) -> list[str]:
    """Claims that stood in two memories, and go in one without a word about the other.

    The same words may be said of two things: "it listens on port 8080".

    Args:
        told: the answer.
        find: gives the path that the model means by one.
    """
    beside: dict[str, set[str]] = {}
    for entry in told:
        paths = {find(path) for path in entry.named}
        for path in paths:
            beside.setdefault(path, set()).update(paths, (find(one.into_file) for one in entry.gone))
    standing = references(before)
    return [
        f"{path_of(ref)}: {quoted(standing[ref])} is in {path_of(fate.target)}, too: name both files"
        for ref, fate in settled.fates.items()
        if fate.kind == "kept" and fate.target in standing and ref not in settled.told
        if path_of(fate.target) not in beside.get(path_of(ref), ())
    ]
