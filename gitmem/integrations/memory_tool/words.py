"""What the model is told, in the words of the SDK's own file-system backend: it was trained on them.

Sentences under "ours" have no counterpart there: they tell of what that backend allows or cannot know.
"""

from __future__ import annotations

ROOT = "/memories"
MOST_LINES = 999_999
"""Lines of a file that are shown, as in the SDK."""

_WIDTH = len(str(MOST_LINES))
_AROUND = 2


class Refused(Exception):
    """A command that is not carried out; its text is for the model."""


def not_under_root(path: str) -> Refused:
    """Of every command."""
    return Refused(f"Path must start with {ROOT}, got: {path}")


def escapes(path: str) -> Refused:
    """Of every command; also for a link in the tree, wherever it leads."""
    return Refused(f"Path {path} would escape {ROOT} directory")


def missing(path: str) -> Refused:
    """Of `view`, `str_replace` and `insert`."""
    return Refused(f"The path {path} does not exist. Please provide a valid path.")


def nothing_there(path: str) -> Refused:
    """Of `delete` and `rename`."""
    return Refused(f"The path {path} does not exist")


def not_a_file(path: str) -> Refused:
    """Of `str_replace` and `insert` on a folder."""
    return Refused(f"The path {path} is not a file.")


def exists_already(path: str) -> Refused:
    """Of `create`."""
    return Refused(f"File {path} already exists")


def destination_exists(path: str) -> Refused:
    """Of `rename`."""
    return Refused(f"The destination {path} already exists")


def root_stays(verb: str) -> Refused:
    """For `delete` and `rename`."""
    return Refused(f"Cannot {verb} the {ROOT} directory itself")


def too_many_lines(path: str) -> Refused:
    """Of `view`."""
    return Refused(f"File {path} exceeds maximum line limit of 999,999 lines.")


def not_utf8(path: str) -> Refused:
    """Of what reads a file."""
    return Refused(f"path {path!r} is not valid utf-8")


def not_found(old: str, path: str) -> Refused:
    """Of `str_replace`."""
    return Refused(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")


def not_unique(old: str, lines: list[int]) -> Refused:
    """Of `str_replace`; `lines` are 1-based."""
    listed = ", ".join(map(str, lines))
    return Refused(
        f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {listed}. "
        "Please ensure it is unique"
    )


def line_out_of_range(line: int, count: int) -> Refused:
    """Of `insert`; `count` is how many lines there are."""
    return Refused(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {count}].")


def created(path: str) -> str:
    """The answer to `create`."""
    return f"File created successfully at: {path}"


def inserted(path: str) -> str:
    """The answer to `insert`."""
    return f"The file {path} has been edited."


def deleted(path: str) -> str:
    """The answer to `delete`."""
    return f"Successfully deleted {path}"


def renamed(old: str, new: str) -> str:
    """The answer to `rename`."""
    return f"Successfully renamed {old} to {new}"


CLEARED = "All memory cleared"


def replaced(content: str, line: int) -> str:
    """A replacement, with the lines around it.

    Args:
        content: the file after it.
        line: 0-based line in which the replacement begins.
    """
    lines = content.split("\n")
    first = max(0, line - _AROUND)
    shown = _numbered(lines[first : line + _AROUND + 1], first + 1)
    return (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        + shown
    )


def file_view(path: str, content: str, span: tuple[int, int] | None) -> str:
    """A file with line numbers.

    Args:
        span: first and last line, 1-based; -1 is the last one there is. None for the whole.

    Raises:
        Refused: it has too many lines.
    """
    lines = content.split("\n")
    if len(lines) > MOST_LINES:
        raise too_many_lines(path)
    start = 0
    if span is not None:
        start = max(1, span[0]) - 1
        lines = lines[start : len(lines) if span[1] == -1 else span[1]]
    return f"Here's the content of {path} with line numbers:\n" + _numbered(lines, start + 1)


def folder_view(path: str, size: int, items: list[tuple[int, str]]) -> str:
    """A listing.

    Args:
        size: bytes of all files below.
        items: bytes and path relative to the folder, a folder's with a slash at its end.
    """
    head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    rows = [f"{file_size(size)}\t{path}", *(f"{file_size(count)}\t{path}/{name}" for count, name in items)]
    return "\n".join([head, *rows])


def file_size(count: int) -> str:
    """Bytes as the SDK writes them: `0B`, `13B`, `1.5K`, `4K`."""
    power = min((count.bit_length() - 1) // 10, 3) if count else 0
    size = count / 1024**power
    return f"{int(size) if size == int(size) else f'{size:.1f}'}{'BKMG'[power]}"


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{str(first + at).rjust(_WIDTH)}\t{line}" for at, line in enumerate(lines))


# ours


def bad_name(path: str, reason: str) -> Refused:
    """A name that no memory tree may hold."""
    return Refused(f"Path {path} cannot be used: {reason}")


def kept_by_gitmem(path: str) -> Refused:
    """A hidden name."""
    return Refused(f"Path {path} cannot be written: names that start with a dot are hidden")


def reserved(path: str, what: str) -> Refused:
    """A name that means something to gitmem; `what` says what."""
    return Refused(f"Path {path} is reserved: {what}")


def not_a_folder(path: str) -> Refused:
    """A file stands where a folder is needed."""
    return Refused(f"The path {path} is not a directory.")


def into_itself(old: str, new: str) -> Refused:
    """A folder that should go below itself."""
    return Refused(f"Cannot move {old} into itself: {new}")


def too_large(path: str, size: int, limit: int) -> Refused:
    """Sizes are in bytes."""
    return Refused(
        f"{path} was not written: it would have {size:,} bytes, and {limit:,} are the most. Split it into "
        "several files, or keep what matters."
    )


def not_text(what: str) -> Refused:
    """`what` is the parameter."""
    return Refused(f"`{what}` holds a null character or is not valid Unicode")


def wrong_parameter(name: str, what: str) -> Refused:
    """`what` is what it should be."""
    return Refused(f"Invalid `{name}` parameter: it should be {what}.")


def unsafe(path: str, why: str) -> Refused:
    """What the guard refused, and why."""
    return Refused(
        f"{path} was not written: it {why}. Leave the secret out, and say where it is kept instead."
    )


def forgotten(path: str, text: str) -> Refused:
    """A claim on which a tombstone lies."""
    return Refused(
        f"{path} was not written: the person asked for this to be forgotten, and only they can bring it "
        f"back: {text}"
    )


def suggested(id: str, path: str) -> str:
    """The answer to a change of shared memory."""
    return (
        f"Suggested as {id}, and not stored yet: this memory is shared by a team, so a person accepts or "
        f"rejects each change. Until then {path} stays as it is."
    )


def rejected(path: str) -> Refused:
    """A suggestion that a person turned down before."""
    return Refused(f"{path} was not suggested: a person rejected this before.")


def by_people_only(path: str) -> Refused:
    """A change of shared memory that cannot be suggested."""
    return Refused(
        f"{path} was not changed: this memory is shared by a team and is changed through review. What can "
        f"be suggested is to create, edit or delete one memory file, {ROOT}/<name>.md."
    )


def out_of_reach(message: str) -> Refused:
    """The repository, and not the model, is at fault."""
    return Refused(f"The memory cannot be used at the moment, and nothing was changed: {message}")
