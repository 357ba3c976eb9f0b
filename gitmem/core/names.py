"""What memories, agents, their files and inboxes are called, and where they stand: hot or in the archive.

Names hold on any file system and in any git tree, and none is easily taken for another: Unicode lets one
spell many twice.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import lru_cache
from itertools import count

from gitmem.core.errors import UsageError
from gitmem.core.limits import NAME_CHARS, PATH_BYTES, PATH_SEGMENTS, SEGMENT_BYTES
from gitmem.values import dataclass

FORMAT_FILE = ".gitmem"
"""At the root of a memory tree; says in which format it is."""

FORMAT = 1
FORMAT_TEXT = b"format = 1\n"

# Drawn as nothing, or as a space, though letters, marks or spaces by category.
_BLANK = frozenset(
    "\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u202f\u205f\u2800\u3000\u3164\uffa0"
) | frozenset(
    map(
        chr,
        [*range(0x180B, 0x1810), *range(0x2000, 0x200B), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)],
    )
)
_JOINERS = "\u200c\u200d"
_EMOJI_SELECTOR = "\ufe0f"
_SEPARATORS = str.maketrans("⁄∕╱⧸⟋∖⧵⟍", "/////\\\\\\")

# Letters of Cyrillic, Greek and others in which a reserved name can be spelt, by shape, in lower case: the
# part of Unicode's confusables.txt that those names need.
_SHAPES = {
    "a": "аα", "b": "в", "c": "сϲ", "d": "ԁ", "e": "еε", "g": "ԍɡ", "h": "нһ", "i": "іιı", "k": "кκ",
    "l": "ӏⅼ", "m": "мμ", "n": "ηոп", "o": "оοօ", "p": "рρ", "r": "г", "s": "ѕ", "t": "тτ", "u": "υ",
    "v": "ѵν", "x": "хχ", "y": "уγү",
}  # fmt: skip
_SHAPED = {ord(char): latin for latin, chars in _SHAPES.items() for char in chars}
_CAPITALS_ONLY = "μητвнкмт"
"""Small letters that have a Latin letter's shape as capitals alone: `μs` is read as it is meant."""
_SCRIPT = re.compile(r"(LATIN|CYRILLIC|GREEK|ARMENIAN|CHEROKEE|COPTIC|LISU)\b")
_JOINING = re.compile(
    r"(ARABIC|SYRIAC|MONGOLIAN|DEVANAGARI|BENGALI|GURMUKHI|GUJARATI|ORIYA|TAMIL|TELUGU|KANNADA|MALAYALAM"
    r"|SINHALA|MYANMAR|KHMER|TIBETAN|NKO)\b"
)
_WORD = re.compile(r"[^\W\d_]+")

RESERVED = (
    "MEMORY.md", ".tombstones", "archive", "logs", ".git", ".gitmem", ".gitattributes", ".gitignore",
    ".gitmodules", ".github", "CODEOWNERS", "README.md", "CLAUDE.md", "AGENTS.md", "snapshot.json",
)  # fmt: skip
"""Names with a meaning in a memory tree, a work tree or to an agent."""

# Cyrillic and Greek letters that most fonts draw like a Latin one, beside those that Unicode itself maps
# (NFKC). A small part of Unicode's confusables (UTS 39), in lower and upper case.
_CYRILLIC = "асԁеһіјӏорԛѕԝхуўАВСЕНІЈКМОРЅТХУ"
_AS_LATIN = "acdehijlopqswxyyABCEHIJKMOPSTXY"
_GREEK = "αειοκνρτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_GREEK_AS_LATIN = "aeioknptuxyABEZHIKMNOPTYX"
_LATIN = str.maketrans(_CYRILLIC + _GREEK + "ı", _AS_LATIN + _GREEK_AS_LATIN + "i")


def looks_like_another(segment: str) -> str | None:
    """Why a part of a path may be taken for another one, or None where it may not.

    No table of all look-alikes, but three rules: nothing without a glyph; no word of several scripts in
    which a letter has the shape of another's; nothing that reads like a separator, a dot or a name with a
    meaning.

    Args:
        segment: in NFC, and not all of it plain ASCII, which looks like what it is.
    """
    if any(_is_hidden(segment, at) for at in range(len(segment))):
        return "holds an invisible character"
    seen = unicodedata.normalize("NFKC", segment).translate(_SEPARATORS)
    if any(char in seen for char in "/\\\0"):
        return "holds what looks like a path separator"
    if not seen.strip(". ") or seen[-1] in ". ":
        return "ends with what looks like a dot"
    # Some file systems and readers leave marks out.
    bare = "".join(
        char
        for char in unicodedata.normalize("NFD", seen)
        if unicodedata.category(char) not in ("Mn", "Me", "Cf")
    )
    if not bare.strip(". ") or bare[-1] in ". ":
        return "is nothing, or ends with a dot, where marks are left out"
    if ":" in seen:
        return "holds what looks like a colon"
    for word in _WORD.findall(segment):
        scripts = {found[1] for char in word if (found := _SCRIPT.match(unicodedata.name(char, "")))}
        if len(scripts) > 1 and ("LATIN" not in scripts or any(map(_is_shaped, word))):
            return f"mixes {' and '.join(sorted(map(str.title, scripts)))} letters in one word"
    skeleton = _skeleton(segment)
    for name in RESERVED:
        if skeleton == _skeleton(name):
            return f"looks like {name}"
    return None


def collision_key(path: str) -> str:
    """Returns what a path becomes where case and compatible forms make no difference.

    Two paths of one tree with the same key are one file on some file system, or to some reader.
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())


def _is_shaped(char: str) -> bool:
    return char not in _CAPITALS_ONLY and ord(char.casefold()[0]) in _SHAPED


def _skeleton(segment: str) -> str:
    """What a name looks like: without marks, in Latin letters where they have that shape."""
    shaped = collision_key(segment).translate(_SHAPED)
    bare = "".join(char for char in unicodedata.normalize("NFD", shaped) if not unicodedata.combining(char))
    return bare.translate(_SHAPED)


def _is_hidden(segment: str, at: int) -> bool:
    """Whether a character shows nothing; joiners do where scripts need them, and inside emoji."""
    char = segment[at]
    if char == _EMOJI_SELECTOR or char in _JOINERS:
        before, after = segment[at - 1 : at] if at else "", segment[at + 1 : at + 2]
        if (before and unicodedata.category(before) in ("So", "Sk")) or before == _EMOJI_SELECTOR:
            return False
        return char == _EMOJI_SELECTOR or not joined(before, after)
    return char in _BLANK or unicodedata.category(char) in ("Cf", "Co", "Cn")


def joined(before: str, after: str) -> bool:
    """Whether a joiner or non-joiner between these two shows: both are of a script that is spelt so."""
    return all(
        char and unicodedata.category(char)[0] in "LM" and _JOINING.match(unicodedata.name(char, ""))
        for char in (before, after)
    )


INDEX = "MEMORY.md"
TOMBSTONES = ".tombstones"

ARCHIVE = "archive"
"""Folder of an agent that holds what was paged out."""

LOGS = "logs"
"""Folder of an agent that holds its daily logs."""

TEAM = "team"
"""Folder in the client's own one that is another scope's: nothing of this scope may be laid out there."""

KEPT_FOLDERS = frozenset({ARCHIVE, LOGS, TEAM})
"""Folders of an agent that have a meaning; memories lie beside them and in folders of any other name."""

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
_NTFS_GIT = re.compile(r"(?:\.git|git~1)[ .]*(?::.*)?")
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,199}(?:\.md)?")  # none of these is unsafe, but a device
_LOG = re.compile(r"(?:^|/)logs/\d{4}/\d{2}/[^/]+$")
_FANNED = re.compile(r"(?:^|/)archive/[0-9a-f]{2}/")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_ESCAPED = re.compile(r"\^([a-z]|[0-9]{3})|([a-z0-9._-])")


def slugify(text: str) -> str:
    """Returns a memory's name for a text: kebab case, ASCII, at most `NAME_CHARS` characters.

    Longer texts are cut at a word. A text without a letter or digit that ASCII can show is named
    after its hash. Names that a file system would take for something else (`memory`, `con`) get a
    second word. Applying it twice changes nothing.
    """
    if text.isascii():
        folded = text.lower().replace("'", "")
    else:
        folded = unicodedata.normalize("NFKD", text.casefold().translate(_FOLDS)).casefold()
        folded = folded.encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")
    if len(slug) > NAME_CHARS:
        head = slug[: NAME_CHARS + 1]
        slug = (head.rpartition("-")[0] or head[:NAME_CHARS]).strip("-")
    if not slug:
        raw = unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")
        return f"note-{hashlib.sha256(raw).hexdigest()[:8]}"
    return f"{slug}-note" if slug == "memory" or slug in DEVICES else slug


def numbered_names(name: str) -> Iterator[str]:
    """Yields a memory's name, and then those of a second, third, … of that name: the number fits in."""
    yield name
    slug = slugify(name)
    for number in count(2):
        tail = f"-{number}"
        yield f"{slug[: NAME_CHARS - len(tail)].strip('-')}{tail}"


def file_name(name: str) -> str:
    """Returns the file that a new memory of this name is written to, e.g. `no-mocks-in-tests.md`."""
    return f"{slugify(name)}.md"


@lru_cache(maxsize=4096)
def is_memory_file(name: str) -> bool:
    """Whether a path inside an agent's folder is that of a hot memory: see `unfit`."""
    return name.endswith(".md") and unfit(name) is None


def unfit(name: str) -> str | None:
    """Returns why a path inside an agent's folder is not that of a hot memory, or None where it is.

    A hot memory is a `<file>.md`, right in the folder or in folders of a person's own inside it, of which
    every part is safe on every file system and not hidden. It is not an index in any case (where case is
    ignored, `memory.md` is the index), and lies in no folder that has a meaning (`KEPT_FOLDERS`).
    Segments are separated by `/`.
    """
    *folders, file = name.split("/")
    if not file.endswith(".md"):
        return "is no markdown file"
    if file.casefold() == INDEX.casefold():
        return "is taken for the index"
    if folders and (collision_key(folders[0]) in KEPT_FOLDERS or _FANNED.search(name) or _LOG.search(name)):
        return "lies in a folder that has another meaning"
    for part in (*folders, file):
        if reason := "is hidden" if part.startswith(".") else unsafe_segment(part):
            return reason
    if any(part.casefold().endswith(".md") for part in folders):
        return "lies in a folder that is named like a memory"
    # Its place in the archive, below the agent's folder, is within the limits of paths as well.
    if len(folders) + 4 > PATH_SEGMENTS:
        return f"lies more than {PATH_SEGMENTS - 4} folders deep"
    if len(name.encode()) > PATH_BYTES - SEGMENT_BYTES - len("/archive/00/"):
        return "has too long a path"
    return None


def unsafe_segment(segment: str) -> str | None:
    """Returns why a path segment may not be in a memory tree, or None where it may.

    The rules are those of git's own path verification for HFS+ and NTFS, and of Windows file names,
    applied everywhere: a tree made on one system is laid out on another.
    """
    if _SLUG.fullmatch(segment):
        return "is a device name on Windows" if segment.split(".")[0] in DEVICES else None
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
    digits; so does a last dot, and the first letter of a Windows device name. `Code-Reviewer`
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
        last_dot = char == "." and position == len(data) - 1
        if char in _PLAIN and not last_dot and not (device and position == 0):
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


def is_log(path: str) -> bool:
    """Whether a path from the root of a memory tree is the daily log of some agent, archived or not."""
    return "logs/" in path and not path.startswith(".") and kind(path) == "log"


def agent_folder(path: str) -> str:
    """The agent's folder that a path of a memory tree lies in: `main` for `main/topics/x.md`."""
    return path.partition("/")[0] if "/" in path else ""


def archive_path(file: str) -> str:
    """Returns where a file goes when it is paged out: `archive/<first byte of its name's SHA-256>/<file>`.

    Args:
        file: its path inside the agent's folder, e.g. `no-mocks.md` or `topics/deep.md`; the fan-out keeps
            trees of 100,000 small.
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


_ARCHIVED = re.compile(r"(?P<agent>[^/]+)/(?P<place>archive/[0-9a-f]{2}/(?P<file>.+))")
_LOG_PLACE = re.compile(r"([^/]+)/(archive/)?(logs/(\d{4})/(\d{2})/\4-\5-\d{2}\.md)")


@dataclass(frozen=True)
class Folded:
    """One side of a merge with every memory and log at its hot path.

    Attributes:
        files: path to content.
        archived: hot paths of those that stand in the archive.
        twice: hot path to the archived content of memories that stand in both places.
    """

    files: dict[str, bytes]
    archived: frozenset[str]
    twice: Mapping[str, bytes]


def hot_path(path: str) -> str | None:
    """Where an archived memory or log stands when it is hot; None for a path outside the archive."""
    if log := _log(path):
        return f"{log[1]}/{log[3]}" if log[2] else None
    match = _ARCHIVED.fullmatch(path)
    if match is None or not is_memory_file(match["file"]) or archive_path(match["file"]) != match["place"]:
        return None
    return f"{match['agent']}/{match['file']}"


def hot_file(file: str) -> str:
    """The file inside an agent's folder that a memory or log is while it is hot, archived or not.

    One in the archive that is not where its name puts it goes by its last name.
    """
    hot = hot_path(f"any/{file}")
    if hot is None and _FANNED.match(file):
        return file.rpartition("/")[2]
    return hot.partition("/")[2] if hot else file


def file_address(file: str) -> str:
    """What tells a file of an agent's folder from the others, hot or archived: `ports`, `topics/deep`.

    That of a daily log is its day.
    """
    name = file.rpartition("/")[2] if kind(file) == "log" else hot_file(file)
    return name.removesuffix(".md")


def archived_path(path: str) -> str | None:
    """Where a hot memory or log goes when it is paged out; None for what is neither."""
    if log := _log(path):
        return None if log[2] else f"{log[1]}/{ARCHIVE}/{log[3]}"
    agent, _, file = path.partition("/")
    return f"{agent}/{archive_path(file)}" if agent and is_memory_file(file) else None


def twins(paths: Iterable[str]) -> set[str]:
    """What a merge of these paths must see besides: the other place of each, and indexes of memories."""
    found: set[str] = set()
    for path in paths:
        other = hot_path(path) or archived_path(path)
        if other:
            found.add(other)
            if not _log(path):
                found.add(f"{path.partition('/')[0]}/{INDEX}")
    return found


def fold(files: Mapping[str, bytes]) -> Folded:
    """Moves what is archived to its hot path; a hot memory of that path stays and is named in `twice`."""
    homes = {path: home for path in files if (home := hot_path(path))}
    folded = {path: data for path, data in files.items() if path not in homes}
    twice = {home: files[path] for path, home in homes.items() if home in folded}
    moved = {home: files[path] for path, home in homes.items() if home not in twice}
    return Folded(folded | moved, frozenset(moved), twice)


def stays_archived(path: str, base: Folded, ours: Folded, theirs: Folded) -> bool:
    """Whether a merged memory belongs in the archive.

    It does where both sides have it there, and where one paged it out while the other left it as it was:
    who changed it, or brought it back, wants it where the agent sees it.

    Args:
        path: the hot path.
    """
    sides = [side for side in (ours, theirs) if path in side.files]
    hot = [side for side in sides if path not in side.archived]
    if not hot:
        return bool(sides)
    if len(hot) == len(sides) or path in base.archived:
        return False
    return hot[0].files[path] == base.files.get(path)


def _log(path: str) -> re.Match[str] | None:
    """A log's agent, `archive/` where it is archived, and its place while it is hot."""
    return _LOG_PLACE.fullmatch(path) if "/logs/" in path else None


def homes(path: str) -> tuple[str, ...]:
    """Where a memory stands while it is hot, and while it is archived."""
    hot = hot_path(path) or path
    return (hot, *([archived] if (archived := archived_path(hot)) else []))


def in_latin(text: str) -> str:
    """The text with look-alike letters as Latin ones; as many characters as before."""
    return text.translate(_LATIN)


def skeleton(name: str) -> str:
    """What two names share that a reader, or a file system that ignores case, would take for one."""
    if name.isascii():
        return name.lower()
    return in_latin(unicodedata.normalize("NFKC", in_latin(name)).casefold()).casefold()
