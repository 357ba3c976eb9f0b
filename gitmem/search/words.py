"""What is indexed of a text, and what is asked of the index: one cutting rule for both sides.

Each word is a stem with a number, written as one character: so it is counted in a text, a phrase found and
a length taken by what `str` does in C, and frequent words, which are numbered early, take a byte or two of
UTF-8. SQLite's FTS5 gives the stems.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from itertools import pairwise

_FUNCTION_WORDS = """
    a about after again all also am an and any are aren as at be because been before being between
    both but by can cannot could couldn d did didn do does doesn doing don done down during each
    else ever few for from further get had hadn has hasn have haven having he her here hers herself
    him himself his how however i if in into is isn it its itself just let ll m may me might mine
    more most must mustn my myself need no nor not now of off on once only onto or other our ours
    ourselves out over own per please re s same shall shan she should shouldn so some such t than
    that the their theirs them themselves then there these they this those though through thus to
    too under until up upon us ve very was wasn we were weren what whatever when whenever where
    wherever whether which while who whom whose why will with within without won would wouldn yes
    yet you your yours yourself yourselves
"""
STOP = frozenset(_FUNCTION_WORDS.split())
"""Function and question words of English: they say how something is asked, not what about."""

_GENERAL_WORDS = """
    actual add allow alreadi alwai anyth app applic ask bad begin best better big break broken build
    call center centr chang check clean clear close code come command comment complet continu
    convert copi correct creat current cut dai data delet differ directori drop easi edit empti
    error everyon everyth exampl explain extract fail fast field file find fine finish first fix
    folder follow forc format full function gener give go good great happen hard hello help helper
    hi high idea implement import includ increas issu item keep kind know last leav let like line
    list littl long look loop lot main make mark mayb mean method modul move name never new next
    nice noth number object ok okai old on open option output page part pass path pick place plan
    point possibl print problem proce project pull put question quick read readi real recommend
    refactor rememb remov renam replac repo repositori result return right rule run sai save script
    second section see send set ship short show simpl small someon someth sort split start statu
    step still stop string stuff suggest sure switch tabl take talk tell test text thank thing think
    third three time todai tomorrow translat true try turn two type undo unus updat us user valu
    variabl version wai wait want whole word work world wrap write wrong yesterdai
"""
GENERAL = frozenset(_GENERAL_WORDS.split())
"""Words of any request to a coding agent, as Porter stems: a memory that shares only these is about
something else. In a handful of memories no counting could tell: there each word is rare."""

_IRREGULAR = """
    arise arose arisen, awake awoke awoken, bear bore borne, beat beaten, become became, begin began begun,
    bend bent, bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought,
    build built, burn burnt, buy bought, catch caught, choose chose chosen, cling clung, come came,
    creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven,
    eat ate eaten, fall fallen, feed fed, fight fought, flee fled, fly flew flown, forbid forbade forbidden,
    forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, get got gotten, give gave given,
    go went gone goes, grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept,
    know knew known, lay laid, lead led, lean leant, leap leapt, learn learnt, lend lent, lie lain,
    light lit, lose lost, make made, mean meant, meet met, mistake mistook mistaken, overcome overcame,
    override overrode overridden, overwrite overwrote overwritten, pay paid, prove proven, rebuild rebuilt,
    redo redid redone, rerun reran, rewrite rewrote rewritten, ride rode ridden, ring rang rung, rise risen,
    run ran, say said, see seen, seek sought, sell sold, send sent, sew sewn, shake shook shaken,
    shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat,
    sleep slept, slide slid, speak spoke spoken, speed sped, spend spent, spin spun, spring sprang sprung,
    stand stood, steal stole stolen, stick stuck, strike struck, swear swore sworn, sweep swept,
    swell swollen, swim swam swum, swing swung, take took taken, teach taught, tear tore torn, tell told,
    think thought, throw threw thrown, undergo underwent undergone, understand understood,
    undo undid undone, unwind unwound, wake woke woken, wear wore worn, weave wove woven, weep wept,
    win won, withdraw withdrew withdrawn, write wrote written,
    child children, person people, man men, woman women, foot feet, tooth teeth, mouse mice, goose geese,
    wife wives, knife knives, shelf shelves, half halves, wolf wolves, loaf loaves, thief thieves,
    bad worse worst, vertex vertices, matrix matrices, schema schemata, criterion criteria
"""

BASES = {form: forms[0] for forms in map(str.split, _IRREGULAR.split(",")) for form in forms[1:]}
"""Irregular form to base, which no rule of endings brings together.

Left out are forms that are words of their own as often: `left`, `saw`, `felt`, `found`, `fell`, `rose`,
`bound`, `ground`, `leaves`, `lives`, `better`.
"""

LONG_NUMBER = 3
"""Digits from which on a number tells something: a port does, a version's part or a count does not."""

MOST_TERMS = 48
"""Terms asked of the index at most: a pasted log as a prompt must not cost a second."""

LONGEST = 64
"""Characters of a word that count: what is longer is no word but a digest or a blob."""

_VOICED = "\u3099\u309a"
"""Marks that make another letter: those of Japanese."""

_CHUNK = re.compile(r"\S+")
_EDGES = re.compile(r"^[^\w]+|[^\w]+$")
_WORD = re.compile(r"[^\W_]+")
_LETTERS = {code: chr(code) if chr(code).isalnum() else " " for code in range(128)}
_HUMPED = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CAMEL = re.compile(r"\b[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*\b|\b[A-Z]{2,}[a-z][A-Za-z0-9]*\b")
_APOSTROPHE = re.compile(r"['’](?:s|t|re|ve|ll|d|m)\b", re.IGNORECASE)


@cache
def _unspaced() -> re.Pattern[str]:
    """Scripts written without spaces: a character is a word of its own, neighbours are asked as pairs."""
    # Compiling its table takes 3 ms, which a start without such text is spared.
    return re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def parts(word: str) -> list[str]:
    """The parts of a word in CamelCase; none of any other."""
    return _HUMP.sub(" ", word).split() if _CAMEL.fullmatch(word) else []


def indexed(text: str) -> str:
    """Adds to a text what its tokens alone would hide: the parts of CamelCase, single CJK characters."""
    humps = [part for word in _CAMEL.findall(text) for part in parts(word)] if _HUMPED.search(text) else ()
    spaced = text if text.isascii() else _unspaced().sub(lambda m: f" {m.group(0)} ", text)
    return f"{spaced}\n{' '.join(humps)}" if humps else spaced


def spaced(text: str) -> str:
    """The tokens of a text with white space between them, in one pass over its letters.

    The parts of words in CamelCase, of a text that is not ASCII, stand behind them.
    """
    if text.isascii():
        return text.translate(_LETTERS)
    return " ".join(_WORD.findall(folded(indexed(text)))).lower()


def tokens(text: str) -> list[str]:
    """Cuts a text into all its words; behind them come the parts of those in CamelCase."""
    found = spaced(text).split()
    return found + [part for word in found if not word.islower() for part in parts(word)]


def word_of(token: str) -> str:
    """The word that is indexed for a token, empty for a stop word.

    An irregular form is its base: to stemming, `went` and `go` are two words.
    """
    token = token.lower()
    word = BASES.get(token, token[:LONGEST])
    return "" if word in STOP else word


def words(text: str) -> list[str]:
    """Cuts a text into the words that are indexed of it."""
    return [word for token in tokens(text) if (word := word_of(token))]


def folded(text: str) -> str:
    """A text in lower case, its letters without marks (`café` is `cafe`)."""
    lower = text.lower()
    if lower.isascii():
        return lower
    apart = unicodedata.normalize("NFKD", lower)
    kept = [char for char in apart if unicodedata.category(char)[0] != "M" or char in _VOICED]
    return unicodedata.normalize("NFC", "".join(kept))


def terms(question: str) -> tuple[str, ...]:
    """Cuts a question into what to look for: words, and identifiers both whole and in parts.

    Args:
        question: natural language, code or a path; any text at all.

    Returns:
        Lower-case words and phrases (words joined by one space), stop words left out where anything
        else remains, without repeats, in the order asked, at most `MOST_TERMS`.
    """
    found: dict[str, bool] = {}
    for match in _CHUNK.finditer(question.replace("\0", " ")):
        chunk = _EDGES.sub("", _APOSTROPHE.sub("", match.group(0)))
        for term in _of_chunk(chunk, match.group(0).startswith("-")):
            letter = len(term) == 1 and term.isascii() and term.isalpha()
            found.setdefault(term, term not in STOP and not letter)
    kept = [term for term, telling in found.items() if telling] or list(found)
    if len(kept) > MOST_TERMS:  # a request stands at the beginning or the end of what is pasted
        kept = kept[: MOST_TERMS // 2] + kept[-MOST_TERMS // 2 :]
    return tuple(kept)


def tells(stem: str) -> bool:
    """Says whether a term, as the index holds it, says what a question is about.

    Args:
        stem: one stemmed word, or several joined by a space.
    """
    return any(
        word not in GENERAL and word not in STOP and not (word.isdigit() and len(word) < LONG_NUMBER)
        for word in stem.split()
    )


def _of_chunk(chunk: str, option: bool) -> list[str]:
    if not chunk.isascii() and _unspaced().search(chunk):
        spaced = _WORD.findall(_unspaced().sub(lambda m: f" {m.group(0)} ", chunk))
        return [f"{a} {b}".lower() for a, b in pairwise(spaced)] or [chunk.lower()]
    words = [word.lower() for word in _WORD.findall(chunk)]
    # "and/or", "yes/no": punctuation between stop words makes no identifier. An option's does.
    whole = " ".join(words) if len(words) > 1 and (option or any(w not in STOP for w in words)) else ""
    humps = [part.lower() for word in _CAMEL.findall(chunk) for part in _HUMP.split(word)]
    return [*([whole] if whole else []), *words, *(part for part in humps if part not in words)]


FIELD, PASSAGE, LABEL, ASKS = "\x01", "\x02", "\x03", "\x04"
"""What is no word: between fields, between passages, behind a passage's label, behind what asks."""

MARKS = FIELD + PASSAGE + LABEL + ASKS

HEADED, STRONG, WEAK = range(3)
"""Where a text has a word: in its name or description, often or in a short body, else in its body."""

KIND_BITS = 2
"""Bits of an entry of a list that say where; the others are the text's number."""

TOKENIZER = "porter unicode61 remove_diacritics 2"

PROBE = f"""
CREATE VIRTUAL TABLE IF NOT EXISTS temp.probe USING fts5(text, content='', tokenize='{TOKENIZER}');
CREATE VIRTUAL TABLE IF NOT EXISTS temp.probe_term USING fts5vocab(temp, probe, 'instance');
"""
"""What tells the stems of words, where SQLite has FTS5."""

PROBED = 200
"""Words whose stems are asked for together."""

MOST_STEMS = 400_000
"""Words whose stems one connection keeps."""

_FIRST = 16
_SURROGATES = range(0xD800, 0xE000)
MOST = 0x110000 - len(_SURROGATES) - _FIRST
"""Words that have a number of their own; those beyond share one with another word."""


def number_of(char: str) -> int:
    """The number of a word's character."""
    point = ord(char)
    return (point - len(_SURROGATES) if point >= _SURROGATES.stop else point) - _FIRST


def char(number: int) -> str:
    """The character of a word's number, 0 and up."""
    point = number + _FIRST
    return chr(point + len(_SURROGATES) if point >= _SURROGATES.start else point)


def unpack(ids: bytes) -> Sequence[int]:
    """The entries of a list: a text's number, shifted by `KIND_BITS`, and where the word stands in it."""
    entries = array("I")
    entries.frombytes(ids[: len(ids) - len(ids) % entries.itemsize])
    if sys.byteorder == "big":
        entries.byteswap()
    return entries


def storable(text: str) -> str:
    """Text without lone surrogates, which SQLite cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


@cache
def has_stems() -> bool:
    """Whether this process's SQLite has FTS5."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.executescript(PROBE)
        except sqlite3.OperationalError as error:
            if "no such module" not in str(error):
                raise
            return False
    return True


class Stems:
    """Gives words their stems, for one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._stems: dict[str, tuple[str, ...]] = {}
        self._begun = False

    def learn(self, words: Iterable[str]) -> None:
        """Finds the stems of words; the file is not touched.

        Where SQLite comes without FTS5, each word is its own stem.
        """
        self._bound()
        new = [word for word in set(words) if word not in self._stems]
        if not new:
            return
        plain = [word for word in new if word.isascii() and word.isalnum()]  # one token each
        rows = [plain[at : at + PROBED] for at in range(0, len(plain), PROBED)]
        others = [word for word in new if not (word.isascii() and word.isalnum())]
        self._stems.update((word, ()) for word in new)
        for doc, place, stem in self._probed([*map(" ".join, rows), *others]):
            if doc < len(rows):
                self._stems[rows[doc][place]] = (stem,)
            else:
                self._stems[others[doc - len(rows)]] += (stem,)

    def _bound(self) -> None:
        if len(self._stems) > MOST_STEMS:
            self._stems.clear()

    def _probed(self, texts: Sequence[str]) -> list[tuple[int, int, str]]:
        """The number of a text, the place in it, and the stem there, in order."""
        if not has_stems():
            words = (enumerate(text.split()) for text in texts)
            return [(number, place, word) for number, some in enumerate(words) for place, word in some]
        if not self._begun:
            self.connection.executescript(PROBE)
            self._begun = True
        self.connection.execute("BEGIN")
        try:
            self.connection.execute("INSERT INTO temp.probe(probe) VALUES('delete-all')")
            self.connection.executemany(
                "INSERT INTO temp.probe(rowid, text) VALUES(?, ?)", enumerate(texts, 1)
            )
            rows = self.connection.execute("SELECT doc - 1, offset, term FROM temp.probe_term").fetchall()
        finally:
            self.connection.execute("COMMIT")
        return sorted(rows)

    def stems(self, words: Iterable[str]) -> list[str]:
        """The stems of words that were learned, in order."""
        return [stem for word in words for stem in self._stems[word]]
