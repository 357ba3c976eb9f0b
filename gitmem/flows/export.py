"""Moving out: the memories of one scope as files of another format, and what that format cannot hold."""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from gitmem.core import frontmatter, index
from gitmem.core.errors import UsageError
from gitmem.core.frontmatter import Frontmatter
from gitmem.core.memory import Memory, parse
from gitmem.core.names import INDEX, TOMBSTONES, fold, is_agent_folder, is_log, is_memory_file
from gitmem.core.text import decode, encode, iso
from gitmem.flows.context import Edges
from gitmem.git.trees import list_files, read_files
from gitmem.ledger.moments import resolve_at
from gitmem.ledger.workspace import Workspace
from gitmem.rules.screen import screen

VERSION = 1
OWN = ("name", "description", "type")


@dataclass(frozen=True)
class Exported:
    """One memory to be written.

    Attributes:
        agent, file: where it stands: agent's folder, path inside it, not in the archive.
        data: the file.
        time: when it was last taught, epoch seconds; 0 where unknown.
    """

    agent: str
    file: str
    data: bytes
    time: int = 0

    @property
    def memory(self) -> Memory:
        """As it is read."""
        return parse(f"{self.agent}/{self.file}", self.data)


@dataclass
class ExportLoss:
    """What a format cannot hold: what, to how many memories have it."""

    kinds: Counter[str] = field(default_factory=Counter)

    def note(self, what: str) -> None:
        """Counts one."""
        self.kinds[what] += 1


@dataclass(frozen=True)
class Export:
    """What is written, and what is not.

    Attributes:
        files: name to content; one alone for formats that are one file.
        single: whether it is one file.
        memories: how many memories it holds.
        lost: what the format cannot hold, to how many memories had it.
        left_out: path to why a memory is not in it.
    """

    files: Mapping[str, bytes]
    single: bool
    memories: int
    lost: Mapping[str, int]
    left_out: Mapping[str, str]


@dataclass(frozen=True)
class Contents:
    """What an export is made of.

    Attributes:
        indexes: agent's folder to its index, for what people wrote there.
    """

    scope: str
    commit: str
    memories: Sequence[Exported]
    indexes: Mapping[str, bytes] = field(default_factory=dict)


def export(
    workspace: Workspace, edges: Edges, format: str, scope: str, agent: str = "", at: str = ""
) -> Export:
    """Renders the memories of a scope.

    Args:
        format: one of `FORMATS`.
        agent: folder of one agent; empty for all.
        at: a moment or revision; empty for now.

    Raises:
        UsageError: there is no such format or moment, or nothing is remembered there.
    """
    if format not in FORMATS:
        raise UsageError(f"There is no format {format!r}", f"Formats: {', '.join(FORMATS)}.")
    where = workspace.scope(scope)
    commit = resolve_at(workspace, where, at, edges.now) if at else where.repo.ref(where.ref)
    if commit is None:
        full = next((one.name for one in workspace.scopes if one.repo.ref(one.ref)), "")
        hint = f"{full.capitalize()} memory is not: git mem export --scope {full}" if full else ""
        raise UsageError(f"{scope} memory is empty", hint or "See what there is: git mem list")
    tree = where.repo.commit(commit).tree
    files = read_files(where.repo, tree, agent)
    blobs = list_files(where.repo, tree, agent)
    kept, left_out = _kept(files, workspace.allowed)
    with closing(where.catalog()) as catalog:
        wanted = {path: blobs[path] for path in files if path in blobs and path.endswith(".md")}
        times = catalog.times(where.repo, where.ref, commit, wanted)
    taught: dict[str, int] = {}
    for path, time in times.items():
        hot = next(iter(fold({path: b""}).files), path)
        taught[hot] = max(time, taught.get(hot, 0))
    memories = [
        Exported(folder, file, data, taught.get(path, 0))
        for path, data in sorted(kept.items())
        for folder, _, file in [path.partition("/")]
        if file != INDEX
    ]
    indexes = {path.partition("/")[0]: data for path, data in kept.items() if path.endswith(f"/{INDEX}")}
    return rendered(format, Contents(scope, commit, memories, indexes), left_out)


def rendered(format: str, contents: Contents, left_out: Mapping[str, str] | None = None) -> Export:
    """An export as a pure function of what it is made of; arguments as for `export`."""
    lost = ExportLoss()
    render, single = FORMATS[format]
    files = render(contents, lost)
    return Export(files, single, len(contents.memories), dict(lost.kinds), left_out or {})


def write(made: Export, place: Path) -> None:
    """Writes an export of several files into a folder that is not there yet, or empty.

    Raises:
        UsageError: something is there, or it cannot be written.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise UsageError(f"{place} is not empty", "Name a folder that is not there yet.")
        for name, data in made.files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(data)
    except OSError as error:
        raise UsageError(f"{place} cannot be written: {error.strerror}") from error


def write_file(made: Export, place: Path) -> None:
    """Writes an export of one file; one that is there is not touched. Raises UsageError."""
    try:
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(next(iter(made.files.values())))
    except FileExistsError as error:
        raise UsageError(f"{place} is there already", "Name another file, or - to print it.") from error
    except OSError as error:
        raise UsageError(f"{place} cannot be written: {error.strerror}") from error


def _kept(files: Mapping[str, bytes], allow: frozenset[str]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Memories, logs and indexes by the place where agents see them; and why others stay."""
    folded = fold(files).files
    kept, left = {}, {}
    for path, data in folded.items():
        agent, _, file = path.partition("/")
        if not is_agent_folder(agent) or not file or file == TOMBSTONES:
            continue
        if file == INDEX or is_memory_file(file) or is_log(path):
            kept[path] = data
        elif file.endswith(".md"):
            left[path] = "has a name that not every file system takes"
    may_leave = screen({}, kept, allow).files
    # What a teammate stored with a secret in it or its name is shown nowhere, and least of all carried off.
    left |= {path: "holds a secret" for path, data in kept.items() if may_leave.get(path) != data}
    return {path: data for path, data in kept.items() if path not in left}, left


def _markdown(contents: Contents, _: ExportLoss) -> dict[str, bytes]:
    files = {f"{one.agent}/{one.file}": one.data for one in contents.memories}
    files |= {f"{agent}/{INDEX}": data for agent, data in contents.indexes.items()}
    manifest = {
        "format": "gitmem",
        "version": VERSION,
        "scope": contents.scope,
        "commit": contents.commit,
        "times": {f"{one.agent}/{one.file}": iso(one.time) for one in contents.memories if one.time},
    }
    return {**files, "gitmem.json": _dumped(manifest)}


def _json(contents: Contents, _: ExportLoss) -> dict[str, bytes]:
    made = {
        "format": "gitmem-json",
        "version": VERSION,
        "scope": contents.scope,
        "commit": contents.commit,
        "indexes": {agent: decode(data) for agent, data in sorted(contents.indexes.items())},
        "memories": [_record(one) for one in contents.memories],
    }
    return {"memories.json": _dumped(made)}


def _record(one: Exported) -> dict[str, object]:
    memory = one.memory
    try:
        content: dict[str, object] = {"content": one.data.decode("utf-8")}
    except UnicodeDecodeError:
        content = {"content_base64": base64.b64encode(one.data).decode("ascii")}
    about = {"name": memory.name, "description": memory.description, "type": memory.type}
    plain = {key: _plain(text) for key, text in about.items()}
    return {
        "agent": one.agent,
        "file": one.file,
        **plain,
        "time": iso(one.time) if one.time else None,
        **content,
    }


def _mem0(contents: Contents, lost: ExportLoss) -> dict[str, bytes]:
    _no_indexes(contents, lost)
    rows = []
    for one in _memories(contents, lost):
        memory = one.memory
        for key in memory.front.keys() if memory.front else ():
            if key not in (*OWN, "tags"):
                lost.note(f"key {key} of the frontmatter")
        told = {
            "type": memory.type,
            "name": memory.name,
            "description": memory.description,
            "agent": one.agent,
        }
        tags = memory.front.text("tags") if memory.front else ""
        rows.append(
            {
                "id": f"{one.agent}/{one.file}",
                "memory": _plain(memory.body.strip()) or _plain(memory.description),
                "metadata": {key: _plain(text) for key, text in told.items()},
                "categories": [_plain(tag.strip()) for tag in tags.split(",") if tag.strip()],
                "updated_at": iso(one.time) if one.time else None,
            }
        )
    return {"memories.json": _dumped({"results": rows})}


def _basic_memory(contents: Contents, lost: ExportLoss) -> dict[str, bytes]:
    _no_indexes(contents, lost)
    files = {}
    for one in _memories(contents, lost):
        memory = one.memory
        front = memory.front or frontmatter.new(memory.name, memory.description, memory.type)
        tags = tuple(tag.strip() for tag in front.text("tags").split(",") if tag.strip())
        front = front.without("type").without("permalink")
        front = (
            _flat(front).with_value("title", front.text("title") or memory.name).with_value("type", "note")
        )
        front = front.with_value("permalink", f"{one.agent}/{one.file.removesuffix('.md')}")
        front = front.with_value("tags", tuple(dict.fromkeys((*tags, memory.type))))
        files[f"{one.agent}/{one.file}"] = encode(front.render() + memory.body)
    return files


def _okf(contents: Contents, lost: ExportLoss) -> dict[str, bytes]:
    _no_indexes(contents, lost)
    files: dict[str, bytes] = {}
    lines = []
    taken = {(one.agent, one.file) for one in contents.memories}
    for one in _memories(contents, lost):
        memory = one.memory
        front = _flat(memory.front or frontmatter.new(memory.name, memory.description, memory.type))
        for key, text in (
            ("title", memory.name),
            ("description", memory.description),
            ("type", memory.type),
        ):
            front = front.with_value(key, text)
        if one.time:
            front = front.with_value("timestamp", iso(one.time))
        if "[[" in memory.body:
            lost.note("links by [[name]], which are text there")
        file = one.file
        if file.rpartition("/")[2] in ("index.md", "log.md"):
            file = f"{file.removesuffix('.md')}-note.md"
            while (one.agent, file) in taken:
                file = f"{file.removesuffix('.md')}-note.md"
        files[f"{one.agent}/{file}"] = encode(front.render() + memory.body)
        lines.append(f"- [{memory.name}](/{one.agent}/{file}): {memory.description}\n")
    head = '---\nokf_version: "0.2"\n---\n\n# Memory\n\n'
    return {**files, "index.md": encode(head + "".join(lines))}


def _memories(contents: Contents, lost: ExportLoss) -> Iterable[Exported]:
    for one in contents.memories:
        if is_log(f"{one.agent}/{one.file}"):
            lost.note("daily logs")
        else:
            yield one


def _no_indexes(contents: Contents, lost: ExportLoss) -> None:
    for data in contents.indexes.values():
        if any(unit.text.strip() and not index.targets(unit.text) for unit in index.parse(decode(data))):
            lost.note("what people wrote into an index")


def _flat(front: Frontmatter) -> Frontmatter:
    """The block with nothing under `metadata:`, which others do not read."""
    flat = Frontmatter(front.opening, (), front.closing)
    for one in front.fields:
        if one.key and one.value:
            flat = flat.with_value(one.key, one.value)
    return flat


def _plain(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _dumped(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


FORMATS: Mapping[str, tuple[Callable[[Contents, ExportLoss], dict[str, bytes]], bool]] = {
    "markdown": (_markdown, False),
    "json": (_json, True),
    "mem0": (_mem0, True),
    "basic-memory": (_basic_memory, False),
    "okf": (_okf, False),
}
"""Name to what renders it, and whether it is one file."""
