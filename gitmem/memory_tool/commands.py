"""What each command shows or would change in an agent's folder, as a value; nothing is written here.

A model's path becomes one in the agent's folder: nothing is a file path. Results and refusals are worded as
those of the SDK's own file-system backend, on which models were trained; where it has none, they are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from gitmem.core.names import ARCHIVE, INDEX, archive_path, hot_file, is_memory_file
from gitmem.core.trailers import Op
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Repository, TreeEntry
from gitmem.git.trees import list_files, subtree
from gitmem.rules.paths import check_path, collision
from gitmem.rules.redaction import unredact

ROOT = "/memories"
MOST_LINES = 999_999
"""Lines of a file that are shown, as in the SDK."""

_WIDTH = len(str(MOST_LINES))
_AROUND = 2


class CommandError(Exception):
    """A command that is not carried out; its text is for the model."""


def _missing(path: str) -> CommandError:
    return CommandError(f"The path {path} does not exist. Please provide a valid path.")


def _escapes(path: str) -> CommandError:
    """Also for a link in the tree, wherever it leads."""
    return CommandError(f"Path {path} would escape {ROOT} directory")


# paths


def locate(path: str) -> str:
    """The path in the agent's folder that a model's path names; empty for the folder itself.

    `.` and `..` are taken out as a file system would, so that `/memories/a/..` is the folder itself.

    Raises:
        CommandError: it is not under `/memories`, leads out of it, or is no name that a tree may hold.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise CommandError(f"Path must start with {ROOT}, got: {path}")
    parts: list[str] = []
    for part in path[len(ROOT) :].split("/"):
        if part == "..":
            if not parts:
                raise _escapes(path)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    inner = "/".join(parts)
    reason = check_path(inner) if inner else None
    if reason is not None and "percent" in reason:
        raise _escapes(path)
    if reason is not None:
        raise CommandError(f"Path {path} cannot be used: {reason}")
    return inner


def is_index(inner: str) -> bool:
    """Whether a path is the index, which gitmem keeps in line with the files."""
    return inner == INDEX


def _is_visible(inner: str) -> bool:
    """Whether a path of the agent's folder is shown: neither hidden nor set aside, and fit to be named."""
    return not _is_hidden(inner) and not _taken(inner) and check_path(inner) is None


def _is_hidden(inner: str) -> bool:
    return any(part.startswith(".") for part in inner.split("/"))


def _taken(inner: str) -> str:
    """What a name means to gitmem; empty for nothing."""
    first, *deeper = parts = inner.split("/")
    if first.casefold() == ARCHIVE:
        return f"{ROOT}/{first} holds what was paged out, which is read under its old path"
    if any(part.casefold() == INDEX.casefold() for part in parts) and (deeper or first != INDEX):
        return f"the index is {ROOT}/{INDEX}, and nothing else has that name"
    return ""


def _check_writable(inner: str, path: str) -> None:
    if _is_hidden(inner):
        raise CommandError(f"Path {path} cannot be written: names that start with a dot are hidden")
    if what := _taken(inner):
        raise CommandError(f"Path {path} is reserved: {what}")


# the folder


@dataclass(frozen=True)
class Folder:
    """An agent's folder of one tree as the tool sees it: nothing hidden, and no link followed.

    Attributes:
        tree: object name of the whole tree; None where nothing was ever stored.
        agent: the agent's folder in it.
    """

    repo: Repository
    tree: str | None
    agent: str

    @cached_property
    def oid(self) -> str | None:
        """Object name of the folder; None where there is none."""
        return subtree(self.repo, self.tree, self.agent) if self.tree else None

    def entry(self, inner: str, path: str) -> TreeEntry | None:
        """What stands at a path, hidden or not.

        Raises:
            CommandError: a link stands there, or on the way.
        """
        parts = inner.split("/")
        found: TreeEntry | None = None
        for count in range(1, len(parts) + 1):
            found = self.repo.entry(self.oid, "/".join(parts[:count])) if self.oid else None
            if found is None:
                return None
            if found.mode not in (BLOB, EXECUTABLE, TREE):
                raise _escapes(path)
        return found

    def place(self, inner: str, path: str) -> str | None:
        """Where a file stands: at its path, or in the archive, where it was paged out; None for nowhere.

        Raises:
            CommandError: a link stands there, or on the way.
        """
        for at in (inner, archive_path(inner)) if is_memory_file(inner) else (inner,):
            found = self.entry(at, path) if inner and _is_visible(inner) else None
            if found is not None and found.mode != TREE:
                return at
        return None

    def below(self, inner: str) -> dict[str, str]:
        """Visible files of a folder at any depth: path in the agent's folder to blob."""
        if self.oid is None:
            return {}
        aside = frozenset() if inner else frozenset({ARCHIVE})
        found = list_files(self.repo, self.oid, inner, aside)
        return {at: oid for at, oid in found.items() if _is_visible(at)}

    def is_folder(self, inner: str, path: str) -> bool:
        """Whether something is to be seen in a folder; `/memories` itself is always there.

        Raises:
            CommandError: a link stands there, or on the way.
        """
        if not inner:
            return True
        found = self.entry(inner, path)
        return found is not None and found.mode == TREE and bool(self.below(inner))

    def read(self, at: str) -> bytes | None:
        """Content of a file; None where there is none."""
        found = self.repo.entry(self.oid, at) if self.oid else None
        return self.repo.blob(found.oid) if found is not None and found.mode in (BLOB, EXECUTABLE) else None

    def names(self, inner: str) -> frozenset[str]:
        """Names right below a folder, hidden ones too."""
        at = subtree(self.repo, self.oid, inner) if inner and self.oid else self.oid
        return frozenset(self.repo.tree(at)) if at else frozenset()

    def everything(self) -> tuple[str, ...]:
        """Paths of all files that the tool may ever show, the index and what was paged out among them."""
        if self.oid is None:
            return ()
        paged = list_files(self.repo, self.oid, ARCHIVE)
        return (*self.below(""), *(at for at in paged if at == archive_path(hot_file(at))))


# what is shown


def sought(folder: Folder, path: str) -> tuple[str, str]:
    """Finds what is to be shown.

    Returns:
        `("file", its place)` or `("folder", its path)`, both in the agent's folder.

    Raises:
        CommandError: there is nothing.
    """
    inner = locate(path)
    at = folder.place(inner, path)
    if at is not None:
        return "file", at
    if not folder.is_folder(inner, path):
        raise _missing(path)
    return "folder", inner


def file_view(path: str, data: bytes, span: tuple[int, int] | None) -> str:
    """A file with line numbers.

    Args:
        span: first and last line, 1-based; -1 is the last one there is. None for the whole.

    Raises:
        CommandError: it is no text, or has too many lines.
    """
    lines = _text_of(data, path).split("\n")
    if len(lines) > MOST_LINES:
        raise CommandError(f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.")
    start = 0
    if span is not None:
        start = max(1, span[0]) - 1
        lines = lines[start : len(lines) if span[1] == -1 else span[1]]
    return f"Here's the content of {path} with line numbers:\n" + _numbered(lines, start + 1)


def folder_view(folder: Folder, inner: str, path: str) -> str:
    """What a folder holds, two levels deep, each in the order of names, with sizes."""
    files = folder.below(inner)
    sizes = folder.repo.sizes(sorted(set(files.values())))
    held: dict[str, int] = {}
    for at, oid in files.items():
        parts = at.removeprefix(f"{inner}/" if inner else "").split("/")
        for depth in (1, 2):
            if depth <= len(parts):
                name = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
                held[name] = held.get(name, 0) + sizes[oid]
    order = sorted(held, key=lambda name: [part for part in name.split("/") if part])
    whole = sum(sizes[oid] for oid in files.values())
    return "\n".join(
        [
            f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:",
            f"{_size(whole)}\t{path}",
            *(f"{_size(held[name])}\t{path}/{name}" for name in order),
        ]
    )


def _size(count: int) -> str:
    """Bytes as the SDK writes them: `0B`, `13B`, `1.5K`, `4K`."""
    power = min((count.bit_length() - 1) // 10, 3) if count else 0
    size = count / 1024**power
    return f"{int(size) if size == int(size) else f'{size:.1f}'}{'BKMG'[power]}"


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{str(first + at).rjust(_WIDTH)}\t{line}" for at, line in enumerate(lines))


# what is changed


@dataclass(frozen=True)
class CommandResult:
    """What a command comes to.

    Attributes:
        op: for the commit.
        command: the tool's own name for it, e.g. `str_replace`.
        path: the path that the model named.
        files: path in the agent's folder to new content, None to delete; the index is not looked after yet.
        before: the same paths to what stands there now.
        answer: what the model is told once it is done.
        moved: new path to old path of files that change places.
        to: where the model wants it, of a rename.
    """

    op: Op
    command: str
    path: str
    files: Mapping[str, bytes | None]
    before: Mapping[str, bytes]
    answer: str
    moved: Mapping[str, str] = field(default_factory=dict)
    to: str = ""


def create(folder: Folder, path: str, text: str) -> CommandResult:
    """A new file.

    Raises:
        CommandError: something stands there, or the name may not be used.
    """
    inner = locate(path)
    data = _encoded("file_text", text)
    _check_free(folder, inner, path, f"File {path} already exists")
    return CommandResult("add", "create", path, {inner: data}, {}, f"File created successfully at: {path}")


def str_replace(folder: Folder, path: str, old: str, new: str) -> CommandResult:
    """One replacement in a file.

    Raises:
        CommandError: there is no such file, or the text does not stand in it just once.
    """
    at, content = _opened(folder, path)
    if old not in content and (meant := unredact(old, old)) in content:
        # It names a line as it was shown: with a tag or an invisible character written out.
        old, new = meant, unredact(new, old)
    count = content.count(old) if old else 0
    if count == 0:
        raise CommandError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if count > 1:
        lines = ", ".join(map(str, _lines_of(content, old)))
        raise CommandError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    _encoded("new_str", new)
    result = content.replace(old, new)
    lines_now = result.split("\n")
    line = content[: content.find(old)].count("\n")
    first = max(0, line - _AROUND)
    answer = (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        + _numbered(lines_now[first : line + _AROUND + 1], first + 1)
    )
    return _edited("str_replace", path, at, content, result, answer)


def insert(folder: Folder, path: str, line: int, text: str) -> CommandResult:
    """Lines put into a file after a line of it.

    Raises:
        CommandError: there is no such file, or no such line.
    """
    at, content = _opened(folder, path)
    _encoded("insert_text", text)
    # On line feeds alone: a carriage return belongs to its line.
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    if line < 0 or line > len(lines):
        raise CommandError(
            f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
        )
    lines.insert(line, text.rstrip("\n"))
    result = "\n".join(lines)
    result = result if result.endswith("\n") else f"{result}\n"
    return _edited("insert", path, at, content, result, f"The file {path} has been edited.")


def delete(folder: Folder, path: str) -> CommandResult:
    """A file, or a folder with all that is in it, taken out.

    Raises:
        CommandError: there is nothing, or it is the folder of all memories or the index.
    """
    inner = locate(path)
    if not inner:
        raise CommandError(f"Cannot delete the {ROOT} directory itself")
    gone = _all_of(folder, inner, path)
    return CommandResult(
        "delete", "delete", path, dict.fromkeys(gone), gone, f"Successfully deleted {path}"
    )


def rename(folder: Folder, old: str, new: str) -> CommandResult:
    """A file, or a folder with all that is in it, under another path.

    Raises:
        CommandError: there is nothing, something stands where it should go, or it may not go there.
    """
    source, target = locate(old), locate(new)
    exists = f"The destination {new} already exists"
    if not source:
        raise CommandError(f"Cannot rename the {ROOT} directory itself")
    if target.startswith(f"{source}/"):
        raise CommandError(f"Cannot move {old} into itself: {new}")
    if not target or folder.entry(target, new) is not None or folder.place(target, new) is not None:
        raise CommandError(exists)
    gone = _all_of(folder, source, old)
    _check_free(folder, target, new, exists)
    file = folder.place(source, old)
    moved = {target if at == file else f"{target}{at.removeprefix(source)}": at for at in gone}
    for place in moved:
        _check_writable(place, new)
    files: dict[str, bytes | None] = dict.fromkeys(gone)
    files |= {place: gone[at] for place, at in moved.items()}
    answer = f"Successfully renamed {old} to {new}"
    return CommandResult("update", "rename", old, files, gone, answer, moved, new)


def clear(folder: Folder) -> CommandResult:
    """All that the tool shows, and what was paged out."""
    gone = {at: data for at in folder.everything() if (data := folder.read(at)) is not None}
    return CommandResult("delete", "clear", ROOT, dict.fromkeys(gone), gone, "All memory cleared")


def _opened(folder: Folder, path: str) -> tuple[str, str]:
    inner = locate(path)
    at = folder.place(inner, path)
    if at is None and folder.is_folder(inner, path):
        raise CommandError(f"The path {path} is not a file.")
    if at is None:
        raise _missing(path)
    return at, _text_of(folder.read(at) or b"", path)


def _text_of(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise CommandError(f"path {path!r} is not valid utf-8") from None


def _encoded(name: str, text: str) -> bytes:
    """A text as it would be stored; `name` is the parameter."""
    trouble = CommandError(f"`{name}` holds a null character or is not valid Unicode")
    if "\0" in text:
        raise trouble
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise trouble from None


def _edited(command: str, path: str, at: str, content: str, result: str, answer: str) -> CommandResult:
    # What was paged out and is spoken of again belongs where the agent sees it.
    home = locate(path)
    files: dict[str, bytes | None] = {home: result.encode()}
    moved = {}
    if at != home:
        files[at] = None
        moved = {home: at}
    return CommandResult("update", command, path, files, {at: content.encode()}, answer, moved)


def _all_of(folder: Folder, inner: str, path: str) -> dict[str, bytes]:
    """A file, or the files of a folder, with their content, which may go from there.

    Raises:
        CommandError: nothing is to be seen there, or the index is.
    """
    at = folder.place(inner, path)
    found = [at] if at is not None else [*folder.below(inner)] if folder.is_folder(inner, path) else []
    gone = {name: data for name in found if (data := folder.read(name)) is not None}
    if not gone:
        raise CommandError(f"The path {path} does not exist")
    if any(map(is_index, gone)):
        raise CommandError(f"Path {path} is reserved: the index goes with the files that it lists")
    return gone


def _check_free(folder: Folder, inner: str, path: str, taken: str) -> None:
    """Raises where a new file may not stand, with `taken` where one stands."""
    if not inner:
        raise CommandError(taken)
    _check_writable(inner, path)
    if folder.place(inner, path) is not None or folder.entry(inner, path) is not None:
        raise CommandError(taken)
    for parent in list(PurePosixPath(inner).parents)[:-1]:
        if folder.place(parent.as_posix(), path) is not None:
            raise CommandError(f"The path {ROOT}/{parent.as_posix()} is not a directory.")
    if not inner.isascii():
        where, _, name = inner.rpartition("/")
        alike = collision([*folder.names(where), name])
        if alike is not None and name in alike:
            other = alike[0] if alike[1] == name else alike[1]
            raise CommandError(f"Path {path} cannot be used: it reads the same as {other}")


def _lines_of(content: str, old: str) -> list[int]:
    """1-based lines in which a text begins, overlapping ones too."""
    found: list[int] = []
    at = content.find(old)
    while at != -1:
        found.append(content[:at].count("\n") + 1)
        at = content.find(old, at + 1)
    return found
