"""Letters that look like others: what a reader takes for one name or word may be two."""

from __future__ import annotations

import unicodedata

# Cyrillic and Greek letters that most fonts draw like a Latin one, beside those that Unicode itself maps
# (NFKC). A small part of Unicode's confusables (UTS 39), in lower and upper case.
_CYRILLIC = "асԁеһіјӏорԛѕԝхуўАВСЕНІЈКМОРЅТХУ"
_AS_LATIN = "acdehijlopqswxyyABCEHIJKMOPSTXY"
_GREEK = "αειοκνρτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_GREEK_AS_LATIN = "aeioknptuxyABEZHIKMNOPTYX"
_PLAIN = str.maketrans(_CYRILLIC + _GREEK + "ı", _AS_LATIN + _GREEK_AS_LATIN + "i")


def plain(text: str) -> str:
    """The text with look-alike letters as Latin ones; as many characters as before."""
    return text.translate(_PLAIN)


def skeleton(name: str) -> str:
    """What two names share that a reader, or a file system that ignores case, would take for one."""
    if name.isascii():
        return name.lower()
    return plain(unicodedata.normalize("NFKC", plain(name)).casefold()).casefold()
