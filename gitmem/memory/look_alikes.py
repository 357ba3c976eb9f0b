"""Names that a reader, or a file system, takes for others: what Unicode lets one spell twice."""

from __future__ import annotations

import re
import unicodedata

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


def looks_like_another(segment: str) -> str | None:
    """Why a part of a path may be taken for another one, or None where it may not.

    No table of all look-alikes, but three rules: nothing without a glyph; no word of several scripts in
    which a letter has the shape of another's; nothing that reads like a separator, a dot or a name with a
    meaning.

    Args:
        segment: in NFC; plain ASCII never looks like another by these rules.
    """
    if any(_is_hidden(segment, at) for at in range(len(segment))):
        return "holds an invisible character"
    seen = unicodedata.normalize("NFKC", segment).translate(_SEPARATORS)
    if any(char in seen for char in "/\\\0"):
        return "holds what looks like a path separator"
    if not seen.strip(". ") or seen[-1] in ". ":
        return "ends with what looks like a dot"
    if ":" in seen:
        return "holds what looks like a colon"
    for word in _WORD.findall(segment):
        scripts = {found[1] for char in word if (found := _SCRIPT.match(unicodedata.name(char, "")))}
        if len(scripts) > 1 and ("LATIN" not in scripts or any(map(_is_shaped, word))):
            return f"mixes {' and '.join(sorted(map(str.title, scripts)))} letters in one word"
    skeleton = _skeleton(segment)
    for name in RESERVED:
        if skeleton == _skeleton(name) and segment != name:
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
