"""What memories, agents, their files and inboxes are called, on any file system and in any git tree."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from datetime import date
from functools import lru_cache

from gitmem.errors import UsageError
from gitmem.memory.limits import NAME_CHARS, SEGMENT_BYTES
from gitmem.memory.look_alikes import looks_like_another

INDEX = "MEMORY.md"
TOMBSTONES = ".tombstones"

TURNED_DOWN = "refs/gitmem/rejected/"
"""Where a clone keeps which state of a side branch the person has turned down, under the branch's id."""

ARCHIVE = "archive"
"""Folder of an agent that holds what was paged out."""

# Windows opens a device for these, whatever the extension.
DEVICES = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"
}

# Letters that Unicode does not decompose into an ASCII letter and a mark.
_FOLDS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i", "'": "", "’": ""}
)

# Code points that HFS+ ignores in names, so that `.g<zero width>it` opens `.git` (git's utf8.c).
_HFS_IGNORED = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF], None
)
_NTFS_GIT = re.compile(r"(?:\.git|git~1)[ .]*(?::.*)?", re.IGNORECASE)
_LOG = re.compile(r"(?:^|/)logs/\d{4}/\d{2}/[^/]+$")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_ESCAPED = re.compile(r"\^([a-z]|[0-9]{3})|([a-z0-9._-])")


def slugify(text: str) -> str:
    """Returns a memory's name for a text: kebab case, ASCII, at most `NAME_CHARS` characters.

    Longer texts are cut at a word. A text without a letter or digit that ASCII can show is named
    after its hash. Names that a file system would take for something else (`memory`, `con`) get a
    second word. Applying it twice changes nothing.
    """
    folded = unicodedata.normalize("NFKD", text.casefold().translate(_FOLDS)).casefold()
    slug = re.sub(r"[^a-z0-9]+", "-", folded.encode("ascii", "ignore").decode()).strip("-")
    if len(slug) > NAME_CHARS:
        head = slug[: NAME_CHARS + 1]
        slug = (head.rpartition("-")[0] or head[:NAME_CHARS]).strip("-")
    if not slug:
        raw = unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")
        return f"note-{hashlib.sha256(raw).hexdigest()[:8]}"
    return f"{slug}-note" if slug == "memory" or slug in DEVICES else slug


def file_name(name: str) -> str:
    """Returns the file that a new memory of this name is written to, e.g. `no-mocks-in-tests.md`."""
    return f"{slugify(name)}.md"


@lru_cache(maxsize=4096)
def is_memory_file(name: str) -> bool:
    """Whether a name inside an agent's folder is that of a memory.

    True for a flat `<file>.md` that is safe on every file system, not hidden and not the index in any
    case (where case is ignored, `memory.md` is the index).
    """
    return (
        name.endswith(".md")
        and not name.startswith(".")
        and name.casefold() != INDEX.casefold()
        and unsafe_segment(name) is None
    )


def unsafe_segment(segment: str) -> str | None:
    """Returns why a path segment may not be in a memory tree, or None where it may.

    The rules are those of git's own path verification for HFS+ and NTFS, and of Windows file names,
    applied everywhere: a tree made on one system is laid out on another.
    """
    if not segment:
        return "is empty"
    if segment in (".", ".."):
        return "leads out of its folder"
    plain = segment.isascii() and segment.isprintable()
    if not plain and any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in segment):
        return "holds a control character"
    if not plain and any(unicodedata.category(char) == "Cs" for char in segment):
        return "is not UTF-8"
    if "/" in segment or "\\" in segment:
        return "holds a path separator"
    if ":" in segment:
        return "holds a colon, which names a drive or a stream on Windows"
    if not unicodedata.is_normalized("NFC", segment):
        return "is not in Unicode form NFC"
    if len(segment.encode()) > SEGMENT_BYTES:
        return f"is longer than {SEGMENT_BYTES} bytes"
    if segment[-1] in ". " or segment[0] == " ":
        return "begins or ends with a space, or ends with a dot"
    seen = segment.translate(_HFS_IGNORED).casefold()
    if _NTFS_GIT.fullmatch(seen) or seen.rstrip(". ") == ".gitmodules":
        return "is taken for a part of git"
    if segment.casefold().split(".")[0].rstrip() in DEVICES:
        return "is a device name on Windows"
    return None if plain else looks_like_another(segment)


def agent_name(raw: str) -> str:
    """Returns the folder name of an agent, equal for no two agents, also where case is ignored.

    Lower-case ASCII letters, digits, `-`, `_` and `.` stand for themselves. An upper-case letter
    becomes `^` and its lower case; any other byte of the UTF-8 name becomes `^` and three decimal
    digits; so does a first or last dot, and the first letter of a Windows device name. `Code-Reviewer`
    is `^code-^reviewer`. All of it is legal on Windows and macOS and in git trees.

    Raises:
        UsageError: the name is empty, is not text, is too long for a file name, or would lead out of the
            folder that agents' memory lies in.
    """
    try:
        data = raw.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"agent name {raw!a} is not valid Unicode", "rename the agent") from None
    # The name is a folder on disk: a tree is hostile, and may spell `../..` in escapes.
    if raw.startswith(".") or any(c in "/\\" or unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in raw):
        raise UsageError(
            f"agent name {raw[:40]!a} cannot be a folder's name", "give the agent another name"
        )
    device = raw.split(".")[0] in DEVICES
    parts = []
    for position, byte in enumerate(data):
        char = chr(byte)
        edge_dot = char == "." and position in (0, len(data) - 1)
        if char in _PLAIN and not edge_dot and not (device and position == 0):
            parts.append(char)
        elif "A" <= char <= "Z":
            parts.append(f"^{char.lower()}")
        else:
            parts.append(f"^{byte:03d}")
    escaped = "".join(parts)
    if not escaped or len(escaped) > SEGMENT_BYTES:
        raise UsageError(
            f"agent name {raw[:40]!a} is {'too long' if escaped else 'empty'}",
            "give the agent another name",
        )
    return escaped


def is_agent_folder(name: str) -> bool:
    """Whether a directory at a tree's root is an agent's: a name that `agent_name` would give."""
    try:
        agent_folder_name(name)
    except UsageError:
        return False
    return True


def agent_folder_name(escaped: str) -> str:
    """Returns the agent that a folder of a memory tree belongs to: the inverse of `agent_name`.

    Raises:
        UsageError: no agent has this folder (trees are hostile: ask `is_agent_folder` first).
    """
    data = bytearray()
    position = 0
    while position < len(escaped):
        match = _ESCAPED.match(escaped, position)
        if match is None:
            break
        code, plain = match.groups()
        if plain:
            data += plain.encode()
        elif len(code) == 1:
            data += code.upper().encode()
        elif int(code) < 256:
            data.append(int(code))
        else:
            break
        position = match.end()
    raw = data.decode("utf-8", "replace")
    if position < len(escaped) or not raw or agent_name(raw) != escaped:
        raise UsageError(
            f"{escaped[:80]!a} is not the folder of an agent", "rename or remove it in the tree"
        )
    return raw


def kind(path: str) -> str:
    """What a path of a memory tree holds: `index`, `memory`, `log`, `tombstones` or `host`."""
    name = path.rpartition("/")[2]
    if name == INDEX:
        return "index"
    if name == TOMBSTONES:
        return "tombstones"
    if not name.endswith(".md") or name.startswith("."):
        return "host"
    return "log" if _LOG.search(path) else "memory"


def archive_path(file: str) -> str:
    """Returns where a file goes when it is paged out: `archive/<first byte of its name's SHA-256>/<file>`.

    Args:
        file: the flat file name, e.g. `no-mocks.md`; the fan-out keeps trees of 100,000 small.
    """
    return f"{ARCHIVE}/{hashlib.sha256(file.encode('utf-8', 'surrogateescape')).hexdigest()[:2]}/{file}"


def log_path(day: date) -> str:
    """Returns the daily log's path inside an agent's folder: `logs/YYYY/MM/YYYY-MM-DD.md`."""
    return f"logs/{day:%Y}/{day:%m}/{day.isoformat()}.md"


def is_archived(file: str) -> bool:
    """Whether a file of an agent's folder was paged out."""
    return file.startswith(f"{ARCHIVE}/")


def inbox_id(branch: str) -> str:
    """Names an inbox branch in a review: `i-` and six digits.

    Args:
        branch: full ref name at the remote.
    """
    return f"i-{hashlib.sha256(branch.encode()).hexdigest()[:6]}"
