"""Credentials in what comes in: in files, and in all that stays in history whatever comes after.

A file is judged by the units that are stored or refused each by itself; what stood there before is not
judged again. A value that was recognised once is looked for everywhere in the same change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gitmem.rules.rule import Finding, Level, RuleContext, RuleFile, Side, quote
from gitmem.rules.secrets import (
    Secret,
    named_after,
    nameless,
    path_read,
    redact,
    scan,
    scan_together,
    values,
)
from gitmem.values import dataclass

NAMED = "its name holds a secret, "
"""How a finding about the name of a file begins; its `text` is what may be shown of the path."""


@dataclass(frozen=True)
class _Piece:
    """Something that came in, as it is scanned.

    Attributes:
        path: where a finding about it stands.
        line: on which it begins.
        numbers: line of each of its lines, where they do not follow each other; else none.
        commit: the one that brought it; empty for what a tree holds in the end.
        known: fingerprints that its file held before.
        joined: whether its parts are scanned by themselves, too: a key may lie across several.
        what: how a message begins, for what is no file's content.
        name: whether it is the name of a file or of the branch.
    """

    path: str
    text: str
    line: int = 1
    numbers: tuple[int, ...] = ()
    commit: str = ""
    known: frozenset[str] = frozenset()
    joined: bool = False
    what: str = ""
    name: bool = False

    def at(self, line: int) -> int:
        """The line of the file on which one of its own lines stands."""
        return self.numbers[line - 1] if line <= len(self.numbers) else self.line + line - 1


def judge_secrets(before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds credentials in files, paths, messages and names of people.

    Raises:
        DetectorUnavailable: nothing can be said about any text.
    """
    # What stands in the end comes first, so that it is told with its line there, and once.
    pieces = [*_of_trees(after, context), *_of_paths(before, after, context), *_of_history(after, context)]
    found = scan_together([piece.text for piece in pieces], context.allow)
    told: set[tuple[str, str]] = set()
    said: dict[tuple[str, str], set[str]] = {}
    known: dict[str, Secret] = {}
    for piece, secrets in zip(pieces, found, strict=True):
        known |= values(piece.text, secrets)
    for piece, secrets in zip(pieces, found, strict=True):
        # A name spells a value as names are spelt.
        for secret in (*secrets, *named_after(piece.text, known)) if piece.name else secrets:
            place, here = (piece.path, secret.fingerprint), said.get((piece.path, secret.severity), ())
            texts = {piece.text[start:end] for start, end in secret.spans}
            again = piece.joined and any(one in other or other in one for one in texts for other in here)
            if secret.fingerprint in piece.known or place in told or again:
                continue
            told.add(place)
            # What only may be one says nothing of a sure one that it is a part of.
            for severity in ("warning", secret.severity):
                said.setdefault((piece.path, severity), set()).update(texts)
            shown = nameless(piece.path, known) if piece.name else ""
            yield replace(_finding(piece, secret), text="" if shown == piece.path else shown)


def without_secrets(findings: Iterable[Finding], allow: frozenset[str]) -> tuple[Finding, ...]:
    """The findings with every credential taken out of what they show, also of their paths.

    Args:
        findings: of any rule.

    Raises:
        DetectorUnavailable: nothing can be said about any text.
    """
    listed = list(findings)
    if not listed:
        return ()
    names = {found.path: found.text for found in listed if found.message.startswith(NAMED) and found.text}
    names |= {path: safe_path(path, allow) for path in {found.path for found in listed} - names.keys()}
    names = {path: shown for path, shown in names.items() if path != shown}
    # Messages name a file by its path, its name or its stem.
    held = {
        cut(path): cut(shown)
        for path, shown in names.items()
        for cut in (str, _file, lambda name: _file(name).removesuffix(".md"))
    }
    texts = [*{text for found in listed for text in (found.message, found.text, found.claim) if text}]
    said = {}
    for text, secrets in zip(texts, scan(texts, allow), strict=True):
        shown = redact(text, secrets)
        for name in sorted(held, key=len, reverse=True):
            shown = shown.replace(name, held[name])
        if shown != text:
            said[text] = shown
    return tuple(
        replace(
            found,
            path=names.get(found.path, found.path),
            message=said.get(found.message, found.message),
            text=said.get(found.text, found.text),
            claim=said.get(found.claim, found.claim),
        )
        for found in listed
    )


def safe_path(path: str, allow: frozenset[str] = frozenset()) -> str:
    """A path as it may be shown: what is a credential in a name of its parts is replaced."""
    for reading in _readings(path):
        secrets = scan([reading], allow)[0]
        if secrets:
            return redact(reading, secrets).replace("\n", "/")
    return path


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def _finding(piece: _Piece, secret: Secret) -> Finding:
    shown = f": {quote(secret.redacted)}" if not piece.what else ""
    behind = f" ({piece.commit[:12]}: it stays in history)" if piece.commit else ""
    what = f"{piece.what}{secret.rule} {secret.fingerprint}{shown}{behind}"
    level: Level = "error" if secret.severity == "block" else "notice"
    prints = (secret.fingerprint,)
    line = 1 if piece.what else piece.at(secret.line)
    return Finding(piece.path, line, "secret", what, level, fingerprints=prints, commit=piece.commit)


def _of_trees(after: Side, context: RuleContext) -> Iterator[_Piece]:
    """What is new in the files that changed."""
    changed = [after.texts[path] for path in sorted(context.changed & after.texts.keys())]
    former = {text.path: _units(was) for text in changed if (was := context.former.get(text.path))}
    # A file without units of its own is scanned whole, then and now.
    whole = [path for path in former if after.texts[path].kind != "memory"]
    found = scan(["\n".join(unit for unit, _ in former[path]) for path in whole], context.allow)
    known = {
        path: frozenset(one.fingerprint for one in secrets)
        for path, secrets in zip(whole, found, strict=True)
    }
    for text in changed:
        old = {unit for unit, _ in former.get(text.path, ())}
        fresh = [(unit, line) for unit, line in _units(text) if unit not in old]
        yield from _pieces(text, fresh, "", known.get(text.path, frozenset()))


def _pieces(
    text: RuleFile, fresh: Sequence[tuple[str, int]], commit: str, known: frozenset[str] = frozenset()
) -> Iterator[_Piece]:
    """Units of one file as they are scanned: each by itself, then together."""
    for unit, line in fresh:
        yield _Piece(text.path, unit, line, commit=commit, known=known)
    if len(fresh) > 1:
        # What it shows is told by the unit that has it, or has a line of it; else where its first half is.
        whole = "\n".join(unit for unit, _ in fresh)
        numbers = tuple(line + n for unit, line in fresh for n in range(unit.count("\n") + 1))
        yield _Piece(text.path, whole, 1, numbers, commit, known, joined=True)


def _of_paths(before: Side | None, after: Side, context: RuleContext) -> Iterator[_Piece]:
    """Names of files that were not there, and the name under which all of it comes."""
    fresh = {path: "" for path in context.changed if not (before and path in before.files)}
    for revision in context.revisions:
        known = {path for parent in revision.parents for path in parent}
        for path in revision.files:
            if path not in known and path not in after.files:
                fresh.setdefault(path, revision.oid)
    for path, commit in sorted(fresh.items()):
        for reading in _readings(path):
            yield _Piece(path, reading, commit=commit, what=NAMED, name=True)
    for reading in _readings(context.ref) if context.ref else ():
        yield _Piece("", reading, what="the name of the branch holds a secret, ", name=True)


def _readings(path: str) -> tuple[str, ...]:
    """A path as a reader takes it, a part a line: as it stands, and with the words of its names apart."""
    plain = path_read(path)
    words = plain.replace("-", " ").replace("_", " ")
    return (plain,) if words == plain else (plain, words)


def _of_history(after: Side, context: RuleContext) -> Iterator[_Piece]:
    """What each commit brought and the end does not show: contents, its message, the names of people."""
    ends = [after.texts[path] for path in context.changed & after.texts.keys()]
    seen = {(text.path, unit) for text in ends for unit, _ in _parts(text)}
    known: dict[tuple[str, bytes], tuple[tuple[str, int], ...]] = {}
    people: set[str] = set()
    for revision in context.revisions:
        yield _Piece("", revision.message, commit=revision.oid, what="the message of the commit holds ")
        for person in sorted(set(revision.people) - people):
            people.add(person)
            yield _Piece("", person, commit=revision.oid, what="the name of a person holds ")
        for text, former in revision.texts():
            for one in (text, *former):
                if (one.path, one.data) not in known:
                    known[one.path, one.data] = tuple(_parts(one))
            old = {unit for one in former for unit, _ in known[one.path, one.data]}
            fresh = [
                (unit, line)
                for unit, line in known[text.path, text.data]
                if unit not in old and (text.path, unit) not in seen
            ]
            seen |= {(text.path, unit) for unit, _ in fresh}
            if text.kind == "memory":
                yield from _pieces(text, fresh, revision.oid)
            elif fresh:
                numbers = tuple(line for _, line in fresh)
                yield _Piece(text.path, "\n".join(unit for unit, _ in fresh), 1, numbers, revision.oid)


def _parts(text: RuleFile) -> Iterator[tuple[str, int]]:
    """The units of a memory; lines of any other file."""
    return _units(text) if text.kind == "memory" else _lines(text)


def _lines(text: RuleFile) -> Iterator[tuple[str, int]]:
    return ((line, number) for number, line in enumerate(text.text.split("\n"), 1))


def _units(text: RuleFile) -> Iterator[tuple[str, int]]:
    """The pieces of a file that are stored or refused each by itself, and the line each begins on."""
    if text.kind != "memory":
        yield text.text, 1
        return
    line = 2
    front = text.memory.front
    for field in front.fields if front else ():
        if field.raw.strip():
            yield field.raw.removesuffix("\n"), line
        line += field.raw.count("\n")
    line = 1 + (front.render().count("\n") if front else 0)
    for claim in text.memory.parsed.claims:
        line += claim.lead.count("\n")
        yield claim.text, line
        line += claim.text.count("\n")
