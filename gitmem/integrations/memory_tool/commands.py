"""What each command would change in an agent's folder, as a value; nothing is written here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from gitmem.core.trailers import Op
from gitmem.integrations.memory_tool import words
from gitmem.integrations.memory_tool.folder import Folder, is_index
from gitmem.integrations.memory_tool.paths import check_writable, locate
from gitmem.rules.paths import colliding
from gitmem.rules.redaction import restored


@dataclass(frozen=True)
class Changed:
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


def sought(folder: Folder, path: str) -> tuple[str, str]:
    """Finds what is to be shown.

    Returns:
        `("file", its place)` or `("folder", its path)`, both in the agent's folder.

    Raises:
        Refused: there is nothing.
    """
    inner = locate(path)
    at = folder.place(inner, path)
    if at is not None:
        return "file", at
    if not folder.is_folder(inner, path):
        raise words.missing(path)
    return "folder", inner


def create(folder: Folder, path: str, text: str) -> Changed:
    """A new file.

    Raises:
        Refused: something stands there, or the name may not be used.
    """
    inner = locate(path)
    data = _encoded("file_text", text)
    _check_free(folder, inner, path, words.exists_already(path))
    return Changed("add", "create", path, {inner: data}, {}, words.created(path))


def str_replace(folder: Folder, path: str, old: str, new: str) -> Changed:
    """One replacement in a file.

    Raises:
        Refused: there is no such file, or the text does not stand in it just once.
    """
    at, content = _opened(folder, path)
    if old not in content and (meant := restored(old, old)) in content:
        # It names a line as it was shown: with a tag or an invisible character written out.
        old, new = meant, restored(new, old)
    count = content.count(old) if old else 0
    if count == 0:
        raise words.not_found(old, path)
    if count > 1:
        raise words.not_unique(old, _lines_of(content, old))
    result = content.replace(old, new)
    _encoded("new_str", new)
    answer = words.replaced(result, content[: content.find(old)].count("\n"))
    return _edited("str_replace", path, at, content, result, answer)


def insert(folder: Folder, path: str, line: int, text: str) -> Changed:
    """Lines put into a file after a line of it.

    Raises:
        Refused: there is no such file, or no such line.
    """
    at, content = _opened(folder, path)
    _encoded("insert_text", text)
    # On line feeds alone: a carriage return belongs to its line.
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    if line < 0 or line > len(lines):
        raise words.line_out_of_range(line, len(lines))
    lines.insert(line, text.rstrip("\n"))
    result = "\n".join(lines)
    result = result if result.endswith("\n") else f"{result}\n"
    return _edited("insert", path, at, content, result, words.inserted(path))


def delete(folder: Folder, path: str) -> Changed:
    """A file, or a folder with all that is in it, taken out.

    Raises:
        Refused: there is nothing, or it is the folder of all memories or the index.
    """
    inner = locate(path)
    if not inner:
        raise words.root_stays("delete")
    gone = _all_of(folder, inner, path)
    if not gone:
        raise words.nothing_there(path)
    _check_no_index(gone, path)
    return Changed("delete", "delete", path, dict.fromkeys(gone), gone, words.deleted(path))


def rename(folder: Folder, old: str, new: str) -> Changed:
    """A file, or a folder with all that is in it, under another path.

    Raises:
        Refused: there is nothing, something stands where it should go, or it may not go there.
    """
    source, target = locate(old), locate(new)
    if not source:
        raise words.root_stays("rename")
    gone = _all_of(folder, source, old)
    if target.startswith(f"{source}/"):
        raise words.into_itself(old, new)
    if not target or folder.entry(target, new) is not None or folder.place(target, new) is not None:
        raise words.destination_exists(new)
    if not gone:
        raise words.nothing_there(old)
    _check_no_index(gone, old)
    _check_free(folder, target, new, words.destination_exists(new))
    file = folder.place(source, old)
    moved = {target if at == file else f"{target}{at.removeprefix(source)}": at for at in gone}
    for place in moved:
        check_writable(place, new)
    files: dict[str, bytes | None] = dict.fromkeys(gone)
    files |= {place: gone[at] for place, at in moved.items()}
    return Changed("update", "rename", old, files, gone, words.renamed(old, new), moved, new)


def clear(folder: Folder) -> Changed:
    """All that the tool shows, and what was paged out."""
    gone = {at: data for at in folder.everything() if (data := folder.read(at)) is not None}
    return Changed("delete", "clear", words.ROOT, dict.fromkeys(gone), gone, words.CLEARED)


def text_of(data: bytes, path: str) -> str:
    """Text of a file.

    Raises:
        Refused: it is not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise words.not_utf8(path) from None


def _opened(folder: Folder, path: str) -> tuple[str, str]:
    inner = locate(path)
    at = folder.place(inner, path)
    if at is None:
        raise words.not_a_file(path) if folder.is_folder(inner, path) else words.missing(path)
    return at, text_of(folder.read(at) or b"", path)


def _edited(command: str, path: str, at: str, content: str, result: str, answer: str) -> Changed:
    # What was paged out and is spoken of again belongs where the agent sees it.
    home = locate(path)
    before = content.encode()
    files: dict[str, bytes | None] = {home: result.encode()}
    moved = {}
    if at != home:
        files[at] = None
        moved = {home: at}
    return Changed("update", command, path, files, {at: before}, answer, moved)


def _all_of(folder: Folder, inner: str, path: str) -> dict[str, bytes]:
    """A file, or the files of a folder, with their content; empty where there is nothing to be seen."""
    at = folder.place(inner, path)
    found = [at] if at is not None else [*folder.below(inner)] if folder.is_folder(inner, path) else []
    return {name: data for name in found if (data := folder.read(name)) is not None}


def _check_free(folder: Folder, inner: str, path: str, taken: words.Refused) -> None:
    """Raises where a new file may not stand."""
    if not inner:
        raise taken
    check_writable(inner, path)
    if folder.place(inner, path) is not None or folder.entry(inner, path) is not None:
        raise taken
    for parent in list(PurePosixPath(inner).parents)[:-1]:
        if folder.place(parent.as_posix(), path) is not None:
            raise words.not_a_folder(f"{words.ROOT}/{parent.as_posix()}")
    if not inner.isascii():
        where, _, name = inner.rpartition("/")
        alike = colliding([*folder.names(where), name])
        if alike is not None and name in alike:
            raise words.bad_name(path, f"it reads the same as {alike[0] if alike[1] == name else alike[1]}")


def _check_no_index(gone: Mapping[str, bytes], path: str) -> None:
    if any(is_index(at) for at in gone):
        raise words.reserved(path, "the index goes with the files that it lists")


def _lines_of(content: str, old: str) -> list[int]:
    """1-based lines in which a text begins, overlapping ones too."""
    found: list[int] = []
    at = content.find(old)
    while at != -1:
        found.append(content[:at].count("\n") + 1)
        at = content.find(old, at + 1)
    return found


def _encoded(name: str, text: str) -> bytes:
    if "\0" in text:
        raise words.not_text(name)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise words.not_text(name) from None
