"""What became of what the code no longer has.

Files and folders are followed from deletion to deletion through renames; identifiers and flags through
patches, where one line became another but for that name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from gitmem.search.code_reader import ANSWER, LISTING, NO_PROSE, CodeReader

MOST_RENAMES = 12
"""Renames in a row that are followed."""

RENAME_LIMIT = 200
"""New and deleted files of one commit whose contents git compares; beyond them only equal ones count."""

MOST_WORDS = 300
"""Words whose fate is sought in patches."""

MOST_WORD_RENAMES = 6
"""Renames in a row of one word."""

PATCH_BYTES = 64 << 20
"""Of a patch that is read."""

MOST_LINES = 200
"""Lines of a hunk that are compared: beyond them it is no rename of one thing."""

LONGEST_LINE = 2_000
"""Characters of a line of code that may define something."""

ALIKE = 0.6
"""Share of the lines around a definition that have to stay, but for the name: git's for files is half."""

MARK = "\x01"
"""Begins the line of a commit: its name and its time."""

_TOKEN = re.compile(r"--[a-z][a-z0-9]*(?:-[a-z0-9]+)*|[^\W\d]\w*|\d+|[^\w\s]")
_HEADER = re.compile(r"([0-9a-f]{40,64}) (\d{1,15})")
_LOG = (
    *("-c", "log.showSignature=false", "-c", "log.follow=false", "-c", "diff.renames=false"),
    *("--literal-pathspecs", "log", "-z", "--no-color", "--no-ext-diff", "--full-history", "--no-renames"),
    *("--diff-filter=D", "--name-only", f"--format={MARK}%H %ct"),
)
_PAIRS = (  # all empty files are alike: which one became which would be a guess
    *("diff-tree", "--stdin", "-r", "-z", "--no-ext-diff", "--no-rename-empty"),
    *("--diff-filter=R", "--name-status"),
)

_PATCH = (
    *("-c", "log.showSignature=false", "-c", "log.follow=false", "-c", "diff.noprefix=false"),
    *("log", "-p", "-U0", "-M", f"-l{RENAME_LIMIT}", "--no-color", "--no-ext-diff", "--no-textconv"),
    f"--format={MARK}%H %ct",
)
_INTRODUCES = (
    r"(?:def|class|func|fn|function|struct|enum|trait|interface|type|const|let|var|val|static|module|namespace|"
    r"union|macro_rules!|\#define|object|record|sub|proc|table|view)"
)


@dataclass(frozen=True)
class PathFate:
    """What became of a path.

    Attributes:
        commit, time: the last commit that took it away, and its committer time.
        now: the name it had at last; empty where it never had another.
        exists: whether `now` is in HEAD.
    """

    commit: str
    time: int
    now: str = ""
    exists: bool = False


@dataclass(frozen=True)
class _Deletion:
    commit: str
    time: int


def fates(reader: CodeReader, head: str, paths: Collection[str]) -> tuple[dict[str, PathFate], bool]:
    """Follows files and folders that are not in a commit.

    Args:
        paths: not in `head`.

    Returns:
        What became of each that history knows; and whether the others surely were never there.
    """
    found: dict[str, PathFate] = {}
    pending = {path: path for path in paths}
    complete = True
    for _ in range(MOST_RENAMES):
        deleted, whole = _deletions(reader, head, frozenset(pending.values()))
        complete &= whole
        pending = {path: name for path, name in pending.items() if name in deleted}
        if not pending:
            break
        renamed = _renamed(reader, {name: deleted[name] for name in pending.values()})
        here = reader.entries(head, renamed.values()) or {}
        following = {}
        for path, name in pending.items():
            last = deleted[name]
            now = renamed.get(name, "")
            found[path] = PathFate(last.commit, last.time, name if name != path else "")
            if now and now in here:
                found[path] = replace(found[path], now=now, exists=True)
            elif now:
                found[path] = replace(found[path], now=now)
                following[path] = now
        pending = following
        if not pending:
            break
    return found, complete


def _deletions(reader: CodeReader, head: str, paths: Collection[str]) -> tuple[dict[str, _Deletion], bool]:
    """The newest commit that took each path away; of a folder, its last file."""
    found: dict[str, _Deletion] = {}
    names = [path.encode("utf-8", "surrogateescape") for path in paths]
    seen = reader.ask(
        [*_LOG, head, "--", *sorted(paths)],
        enough=lambda said: all(name + b"\0" in said or name + b"/" in said for name in names),
    )
    last: _Deletion | None = None
    # Only the order tells which files a commit's line belongs to; the last name may be cut off.
    for part in seen.text.replace(MARK, f"\0{MARK}").split("\0"):
        text = part.strip("\n")
        if part.startswith(MARK):
            header = _HEADER.fullmatch(text[1:])
            last = _Deletion(header[1], int(header[2])) if header else None
        elif last is not None and text:
            for path in paths:
                if text == path or text.startswith(f"{path}/"):
                    found.setdefault(path, last)
    return found, seen.returncode == 0 or len(found) == len(paths)


def _renamed(reader: CodeReader, deleted: Mapping[str, _Deletion]) -> dict[str, str]:
    """Where the commits that took names away moved them, by git's own reckoning."""
    moved = renamed_by(reader, {one.commit for one in deleted.values()})
    found = {}
    for name, one in deleted.items():
        pairs = moved.get(one.commit, {})
        if now := pairs.get(name) or folder_moved(name, pairs):
            found[name] = now
    return found


def renamed_by(reader: CodeReader, commits: Collection[str]) -> dict[str, dict[str, str]]:
    """What some commits renamed, by git's own reckoning: commit to old name to new."""
    if not commits:
        return {}
    order = "".join(f"{commit}\n" for commit in sorted(commits)).encode()
    seen = reader.ask([*_PAIRS, "-M", f"-l{RENAME_LIMIT}"], 4 * ANSWER, order)
    if seen.returncode:  # a partial clone lacks the contents: equal ones are told by their names
        seen = reader.ask([*_PAIRS, "-M100%"], 4 * ANSWER, order)
    return _pairs(seen.text)


def _pairs(text: str) -> dict[str, dict[str, str]]:
    """Reads `--name-status -z` of renames by commit, which is named before what it renamed; else empty."""
    moved: dict[str, dict[str, str]] = {}
    commit, fields = "", iter(text.split("\0"))
    for field in fields:
        word = field.strip("\n")
        if re.fullmatch(r"R\d{3}", word):
            old, now = next(fields, ""), next(fields, "")
            moved.setdefault(commit, {})[old] = now
        elif re.fullmatch(r"[0-9a-f]{40,64}", word):
            commit = word
    return moved


def renames(reader: CodeReader, base: str, commit: str) -> dict[str, str]:
    """What git sees as renamed between two commits, whatever happened between: old name to new."""
    words = ["diff-tree", "-r", "-z", "-M70%", f"-l{RENAME_LIMIT * 5}", "--no-ext-diff"]
    options = ["--no-rename-empty", "--diff-filter=R", "--name-status", base, commit]
    return _pairs(reader.ask([*words, *options], LISTING).text).get("", {})


def folder_moved(name: str, pairs: Mapping[str, str]) -> str:
    """Where most of a folder's files went, if they went to one."""
    targets = Counter(
        now[: -len(rest)]
        for old, now in pairs.items()
        if old.startswith(f"{name}/") and now.endswith(rest := old[len(name) :])
    )
    if not targets:
        return ""
    (target, count), total = targets.most_common(1)[0], sum(targets.values())
    return target if target and 2 * count > total else ""


@dataclass(frozen=True)
class Hunk:
    """A run of lines that became others.

    Attributes:
        commit, time: the commit, and its committer time.
    """

    commit: str
    time: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True)
class WordFate:
    """What became of a word.

    Attributes:
        commit, time: the newest commit that took it out of a line.
        now: what it was renamed to; empty where that is not plain.
    """

    commit: str
    time: int
    now: str = ""


def hunks(patch: str) -> Iterator[Hunk]:
    """Reads `git log -p -U0`, whose commits begin with a line of `MARK`, their names and times."""
    commit, moment = "", 0
    removed: list[str] = []
    added: list[str] = []
    inside = False
    for line in patch.split("\n"):
        if inside and line.startswith("-"):
            removed.append(line[1:])
            continue
        if inside and line.startswith("+"):
            added.append(line[1:])
            continue
        if inside and line.startswith("\\"):
            continue
        if removed or added:
            yield Hunk(commit, moment, tuple(removed), tuple(added))
            removed, added = [], []
        inside = line.startswith("@@ ")
        if line.startswith(MARK) and (header := _HEADER.fullmatch(line[1:])):
            commit, moment = header[1], int(header[2])
    if removed or added:
        yield Hunk(commit, moment, tuple(removed), tuple(added))


def word_fates(
    reader: CodeReader,
    base: str,
    commit: str,
    words: Collection[str],
    *,
    given: bool = False,
) -> dict[str, WordFate]:
    """What became of words since a commit, through renames in a row.

    Args:
        base: a commit that had them.
        commit: whose history counts.
        words: identifiers and flags that it lacks.
        given: see `in_patch`.
    """
    found = in_patch(_patch(reader, base, commit, words), words, given=given)
    for _ in range(MOST_WORD_RENAMES):
        new = {fate.now for fate in found.values() if fate.now}
        lost = new - reader.words(commit, new)[0].keys() if new else set()
        if not lost:
            break
        later = in_patch(_patch(reader, base, commit, lost), lost, given=given)
        found = {
            word: later.get(fate.now) or replace(fate, now="") if fate.now in lost else fate
            for word, fate in found.items()
        }
    return found


def _patch(reader: CodeReader, base: str, commit: str, words: Collection[str]) -> list[Hunk]:
    """What changed lines with some words; they are of letters, digits, `_` and `-` alone."""
    pattern = "|".join(sorted(words)[:MOST_WORDS])
    seen = reader.ask([*_PATCH, f"-G({pattern})", f"{base}..{commit}", "--", ":/", *NO_PROSE], PATCH_BYTES)
    return list(hunks(seen.stdout.decode("utf-8", "replace")))


def in_patch(
    patch: Collection[Hunk], words: Collection[str], *, given: bool = False
) -> dict[str, WordFate]:
    """What a patch made of words that are no longer in the code.

    Args:
        patch: hunks, newest commit first.
        words: identifiers and flags.
        given: they are words that a program is given: elsewhere the code may have them still, so that only
            lines count that define them.
    """
    last: dict[str, Hunk] = {}
    votes: dict[str, dict[str, Counter[str]]] = {}
    for hunk in patch:
        here = {token for line in hunk.removed for token in _TOKEN.findall(line)} & set(words)
        if given:
            here = {word for word in here if any(gives(line, word) for line in hunk.removed)}
        for word in here:
            last.setdefault(word, hunk)
            if len(hunk.removed) <= MOST_LINES and len(hunk.added) <= MOST_LINES:
                votes.setdefault(word, {}).setdefault(hunk.commit, Counter()).update(
                    _renamed_in(hunk, word, given)
                )
    found = {}
    for word, hunk in last.items():
        # The newest commit that plainly renamed a definition counts.
        new = next((names for names in votes.get(word, {}).values() if names), Counter())
        found[word] = WordFate(hunk.commit, hunk.time, next(iter(new)) if len(new) == 1 else "")
    return found


def defines(line: str, word: str) -> bool:
    """Whether a line of code brings a name into being."""
    if word.startswith("--"):
        return True
    if len(line) > LONGEST_LINE:  # made by a program, or to take long
        return False
    name = re.escape(word)
    patterns = (
        rf"(?<!\w){_INTRODUCES}\s+(?:\([^)]*\)\s*|self\.)?{name}\b",
        rf"^(?:\s*(?:export\s+|public\s+|private\s+|self\.)+)?{name}\s*(?::[^=\n]+)?=(?!=)",
        # Further in, `name=` is what a function is given, and its word; `NAME=` is a shell's.
        rf"^\s+{name}(?:\s*:[^=\n]+|\s+){'?' if word.isupper() else ''}=(?!=)",
        rf"^\s*{name}\s*:",
        rf"\b{name}\s*\([^;]*\{{\s*$",
        rf"^[A-Za-z_][\w*&<>:, ]*[\s*&]{name}\s*\([^;]*\{{?\s*$",
        rf"^\s*[\"']{name}[\"']\s*[:,]",
    )
    return any(re.search(pattern, line) for pattern in patterns)


def gives(line: str, word: str) -> bool:
    """Whether a line of code gives a word to a program: in quotes, or as a function of its own."""
    return f'"{word}"' in line or f"'{word}'" in line or defines(line, word)


def _renamed_in(hunk: Hunk, word: str, given: bool) -> Iterator[str]:
    """What definitions of a word in a hunk are called behind it."""
    defining = [line for line in hunk.removed if word in line and (gives if given else defines)(line, word)]
    for line in defining:
        before = _TOKEN.findall(line)
        new = {name for other in hunk.added if (name := _put_for(word, before, _TOKEN.findall(other)))}
        for name in new:
            if (gives if given else defines)(line.replace(word, name), name) and _stays(hunk, word, name):
                yield name


def _put_for(word: str, before: list[str], after: list[str]) -> str:
    """The one token that stands for a word in a line that else is the same."""
    if len(before) != len(after):
        return ""
    new = {other for one, other in zip(before, after, strict=True) if one == word}
    same = all(one == other for one, other in zip(before, after, strict=True) if one != word)
    name = new.pop() if len(new) == 1 else ""
    return name if same and name != word and name.startswith("--") == word.startswith("--") else ""


def _stays(hunk: Hunk, word: str, name: str) -> bool:
    """Whether the lines are the same but for a name: else one thing went and another came in its place."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?!\w)")
    expected = [pattern.sub(name, line).split() for line in hunk.removed]
    given = [line.split() for line in hunk.added]
    expected_lines = [" ".join(line) for line in expected if line]
    given_lines = [" ".join(line) for line in given if line]
    return SequenceMatcher(None, expected_lines, given_lines, autojunk=False).ratio() >= ALIKE
