"""Rule(before, after, context) -> Finding: what rules judge, and how each of them answers.

Everything is a value that somebody else read: a rule opens no file, asks no clock and starts no git.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Literal

from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import Memory, parse
from gitmem.core.names import kind
from gitmem.core.text import decode, one_line
from gitmem.rules.secrets import find_secrets, redact
from gitmem.values import dataclass

Level = Literal["error", "notice"]
Profile = Literal["write", "request", "dream"]
"""What asks: a write to a memory ref, a request to merge, a dream that is proposed."""

QUOTED = 80
"""Terminal cells of someone's text that a message quotes."""

PLAIN = 0o100644
"""git's mode of a regular file that cannot be executed; what memory consists of."""

HOST = ".host"
"""Stands for the name of a file that lies in no agent's folder; of the kind `host`."""


_WHERE = 300
"""Terminal cells of a place; what is hostile may be named by thousands."""


@dataclass(frozen=True, order=True)
class Finding:
    """What is wrong, and where.

    Attributes:
        path: from the root of the tree that was judged; hostile text. Empty where it is about no file.
        line: 1-based; 1 where there is no line to show.
        rule: what was broken, one word (`secret`, `path`, `account`, ...).
        message: for a person, on one line; says the same wherever in the file it stands.
        level: an `error` stops the change, a `notice` is shown.
        claim: reference (`<file>#<12 hex>`) of the claim it is about; empty for a whole file.
        text: the claim or line, printable and with credentials replaced; empty where none is shown.
        fingerprints: what to put on the allow list to let it pass; empty where nothing would.
        commit: name of the commit that did it; empty where the trees as a whole did.
    """

    path: str
    line: int
    rule: str
    message: str
    level: Level = "error"
    claim: str = ""
    text: str = ""
    fingerprints: tuple[str, ...] = ()
    commit: str = ""

    def __str__(self) -> str:
        """The finding as a person reads it: where, and what."""
        where = one_line(self.claim or self.path, _WHERE)
        return f"{where}: {self.message}" if self.path else self.message


@dataclass(frozen=True)
class File:
    """One line of a tree.

    Attributes:
        mode: git's file mode.
        oid: object name.
        size: bytes; 0 for what is no blob.
        data: content; None for what is no regular file or too large to be judged.
    """

    mode: int
    oid: str
    size: int = 0
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class RuleFile:
    """A file as the rules read it.

    Attributes:
        path: from the root, for findings.
        name: inside its agent's folder.
    """

    path: str
    name: str
    data: bytes = field(repr=False)

    @property
    def kind(self) -> str:
        """What it is; see `names.kind`."""
        return kind(f"agent/{self.name}")

    @cached_property
    def text(self) -> str:
        """Its text; bytes that are no UTF-8 as surrogates."""
        return decode(self.data)

    @cached_property
    def memory(self) -> Memory:
        """It, read as a memory."""
        return parse(self.path, self.data)


@dataclass(frozen=True)
class Side:
    """One state of what is judged.

    Attributes:
        folders: path of an agent's folder to its files, by their path inside it.
        host: what lies outside of all of them and may matter to a host, by path.
        snapshots: whether the folders are snapshots in a code tree.
        time: when it was made, seconds since the epoch.
        trouble: (path, why) of what could not be listed or read.
    """

    folders: Mapping[str, Mapping[str, File]]
    host: Mapping[str, File]
    snapshots: bool = False
    time: int = 0
    trouble: tuple[tuple[str, str], ...] = ()

    @cached_property
    def files(self) -> dict[str, File]:
        """All files by path from the root."""
        inside = {
            f"{folder}/{name}": file
            for folder, files in self.folders.items()
            for name, file in files.items()
        }
        return {**self.host, **inside}

    @cached_property
    def texts(self) -> dict[str, RuleFile]:
        """What was read, by path from the root; what lies in no agent's folder as of the kind `host`."""
        inside = {
            f"{folder}/{name}": RuleFile(f"{folder}/{name}", name, file.data)
            for folder, files in self.folders.items()
            for name, file in files.items()
            if file.data is not None
        }
        outside = {
            path: RuleFile(path, ".host", file.data)
            for path, file in self.host.items()
            if file.data is not None
        }
        return {**outside, **inside}

    @cached_property
    def contents(self) -> dict[str, bytes]:
        """What was read, by path from the root."""
        return {path: file.data for path, file in self.files.items() if file.data is not None}

    def memories(self, folder: str) -> Iterator[RuleFile]:
        """The memories of one folder that were read and are not too large, archived ones too."""
        for name in self.folders.get(folder, {}):
            text = self.texts.get(f"{folder}/{name}")
            if text is not None and text.kind == "memory" and len(text.data) <= MEMORY_BYTES:
                yield text


EMPTY = Side({}, {})


def side_of(files: Mapping[str, bytes]) -> Side:
    """Files that are in no tree yet as a side, all of them plain.

    Args:
        files: path from the root of a memory tree to content.
    """
    folders: dict[str, dict[str, File]] = {}
    host: dict[str, File] = {}
    for path, data in files.items():
        file = File(PLAIN, hashlib.sha1(data, usedforsecurity=False).hexdigest(), len(data), data)
        agent, slash, name = path.partition("/")
        if slash and not agent.startswith("."):
            folders.setdefault(agent, {})[name] = file
        else:
            host[path] = file
    return Side(folders, host)


@dataclass(frozen=True)
class Revision:
    """One commit of what is judged, as far as it stays in history whatever comes after it.

    Attributes:
        oid: its name.
        people: author and committer, as `Name <address>`; hostile text.
        message: all of it, with other headers that were put into the commit; hostile text.
        parents: for each parent, what it has at the paths in which the commit differs from all of them.
        files: what the commit has at these paths; one that is missing was taken away.
    """

    oid: str
    people: tuple[str, ...]
    message: str
    parents: tuple[Mapping[str, File], ...]
    files: Mapping[str, File]

    def texts(self) -> Iterator[tuple[RuleFile, tuple[RuleFile, ...]]]:
        """Each file that was read, and what its path held in the parents that have it."""
        for path, file in self.files.items():
            if file.data is not None:
                name = path if "/" in path else HOST
                former = [parent[path].data for parent in self.parents if path in parent]
                texts = tuple(RuleFile(path, name, data) for data in former if data is not None)
                yield RuleFile(path, name, file.data), texts


@dataclass(frozen=True)
class RuleContext:
    """What a rule may know beside the two states.

    Attributes:
        allow: fingerprints of secrets that a person accepted.
        ref: the name under which the change comes, as a person wrote it; empty for none.
        revisions: the commits between the two states, parents first; none for a change without history.
        changed: paths at which the second state has another file than the first, or a new one.
        former: each changed path to what it was before, there or under another path.
        unsigned: each of these commits that has to be signed by somebody trusted and is not, to what it is;
            under no name, why that cannot be told.
    """

    allow: frozenset[str] = frozenset()
    ref: str = ""
    revisions: tuple[Revision, ...] = ()
    changed: frozenset[str] = frozenset()
    former: Mapping[str, RuleFile] = field(default_factory=dict)
    unsigned: Mapping[str, str] = field(default_factory=dict)


Judge = Callable[[Side | None, Side, RuleContext], Iterable[Finding]]
"""Judges what lies between two states; without a state before, everything is new."""


def quote(text: str) -> str:
    """A piece of someone's text for a message: without credentials, on one line, cut, nothing invisible.

    Raises:
        DetectorUnavailable: nothing can be said about any text.
    """
    # Half of a credential is recognised by nobody, so it has to be out before the text is cut.
    return one_line(redact(text, find_secrets(text)), QUOTED)


def new_ones(after: Iterable[Finding], before: Iterable[Finding]) -> Iterator[Finding]:
    """Those that were not found before; the line does not count, for text moves."""
    known = Counter((found.rule, found.message) for found in before)
    for found in after:
        if known[found.rule, found.message] > 0:
            known[found.rule, found.message] -= 1
        else:
            yield found


def in_texts(judge_text: Callable[[RuleFile], Iterable[Finding]]) -> Judge:
    """Makes a rule over one file into one over two states: what is new in the files that changed."""

    def judge(_before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
        for path in context.changed & after.texts.keys():
            former = context.former.get(path)
            yield from new_ones(judge_text(after.texts[path]), judge_text(former) if former else ())

    return judge


def compare(before: Side | None, after: Side, context: RuleContext) -> RuleContext:
    """The context with what changed between two states."""
    past = before or EMPTY
    changed = frozenset(path for path, file in after.files.items() if past.files.get(path) != file)
    # At its own path, else equal content elsewhere: moved or paged out.
    places = {file.oid: path for path, file in past.files.items()}
    sources = {path: path if path in past.files else places.get(after.files[path].oid) for path in changed}
    former = {path: past.texts[source] for path, source in sources.items() if source in past.texts}
    return replace(context, changed=changed, former=former)
