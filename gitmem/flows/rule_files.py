"""The files of the code that hold rules: which may, what they say here and in HEAD, what to commit.

The message that is proposed for rules that were written, or taken out, is `gitmem/promotion.txt`.
Hooks that an agent waits for load this: what they do not need is imported where it is used.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gitmem.core.errors import GitmemError, RepositoryError, UsageError
from gitmem.core.memory import Memory
from gitmem.core.memory import parse as parse_memory
from gitmem.core.names import hot_path, is_agent_folder
from gitmem.core.pointer import rule_file
from gitmem.core.trailers import Provenance, one_line, subject_line
from gitmem.flows.context import Edges
from gitmem.flows.rule_text import (
    CLOSE,
    FileRule,
    OddMarks,
    find_rule,
    mark,
    parse,
    says_the_same,
)
from gitmem.git.command import peek
from gitmem.git.repository import Repository
from gitmem.ledger.files import has_link, read_theirs, replace_file
from gitmem.ledger.layout import LIVE_FOLDERS, auto_memory
from gitmem.ledger.rule_record import HeadRule, RuleState, read_state
from gitmem.ledger.workspace import SCOPES, Workspace

LARGEST = 262_144
"""Bytes of an instruction file: agents read a fraction of that."""

SUFFIXES = ("md", "mdc", "markdown")
DEFAULTS = ("CLAUDE.md", "AGENTS.md")
SNAPSHOTS = "agent-memory-snapshots"
MESSAGE = "promotion.txt"

PROMPT_SECONDS = 0.2
"""What a prompt may wait for one file of HEAD."""

PATIENT_SECONDS = 3.0
SECONDS = 5.0
"""What one look at the code may take in the worker."""

MOST_FILES = 100
"""Files of one commit that are searched for rules; a teammate may have pushed any number."""

EVERYWHERE = "user"
"""The scope that other projects read, too: what is a rule in one of them stays hot for the others."""


@dataclass(frozen=True)
class MemoryPlace:
    """Where a memory stands.

    Attributes:
        file: inside the agent's folder, the archive's path where it was paged out.
    """

    scope: str
    agent: str
    file: str
    memory: Memory

    @property
    def home(self) -> str:
        """Its file where it is hot."""
        hot = hot_path(f"{self.agent}/{self.file}")
        return hot.partition("/")[2] if hot else self.file

    @property
    def path(self) -> str:
        """`scope/agent/file` where it is hot."""
        return f"{self.scope}/{self.agent}/{self.home}"

    @property
    def address(self) -> str:
        """`scope/agent/file stem`."""
        return self.path.removesuffix(".md")

    @property
    def is_hot(self) -> bool:
        """Whether the agent sees it."""
        return self.home == self.file

    def is_settled(self, file: str) -> bool:
        """Whether it points to a file's rule, and stands where a memory that does so belongs."""
        return rule_file(self.memory) == file and (not self.is_hot or self.scope == EVERYWHERE)


def place_at(repo: Repository, tree: str, scope: str, agent: str, file: str) -> MemoryPlace | None:
    """The memory that a tree has under a file's name, hot or archived; None where it has none."""
    from gitmem.ledger.paging import current_place

    found = current_place(repo, tree, agent, file)
    return MemoryPlace(scope, agent, found[0], parse_memory(found[0], found[1])) if found else None


def place_of(workspace: Workspace, path: str) -> MemoryPlace | None:
    """The memory that stands at `scope/agent/file` now, hot or archived; None where none does."""
    from gitmem.ledger.land import memory_commit

    name, _, rest = path.partition("/")
    agent, _, file = rest.partition("/")
    if name not in SCOPES or not file or not is_agent_folder(agent):
        return None
    scope = workspace.scope(name)
    tip = memory_commit(scope.repo, scope.ref)
    return place_at(scope.repo, scope.repo.commit(tip).tree, name, agent, file) if tip else None


@dataclass(frozen=True)
class PromotedMemory:
    """What became of a memory that points to a rule.

    Attributes:
        file: the file that it points to.
        commit: the code commit that brought the rule; empty where that is not known.
        rule: its lines in HEAD's file; None where HEAD does not have it.
        edited: whether the file says something else than the memory would.
    """

    file: str
    commit: str
    rule: str | None
    edited: bool

    @property
    def said(self) -> str:
        """The same for a person, in one line."""
        when = f" in {self.commit[:12]}" if self.commit else ""
        if self.rule is None:
            return f"promoted to {self.file}{when}; HEAD does not have the rule"
        return f"promoted to {self.file}{when}{'; it says something else there' if self.edited else ''}"


class HeadRules:
    """The rules of HEAD's files, each file read once."""

    def __init__(self, workspace: Workspace, seconds: float = PROMPT_SECONDS) -> None:
        self._workspace, self._seconds = workspace, seconds
        self._rules: dict[str, tuple[FileRule, ...]] = {}

    def stands(self, path: str, memory: Memory, scope: str) -> str:
        """The file of HEAD that says what a memory says; empty where none does.

        Args:
            path: where the memory stands in its tree.
        """
        address = f"{scope}/{(hot_path(path) or path).removesuffix('.md')}"
        rule = self.rule(address, memory)
        return rule_file(memory) if rule is not None and says_the_same(memory, rule.text) else ""

    def rule(self, address: str, memory: Memory, file: str = "") -> FileRule | None:
        """The rule that a memory became; None where HEAD's file has it not.

        Args:
            address: `scope/agent/file stem`, where it is hot.
            file: that may have it; the one that the memory points to unless given.
        """
        file = file or rule_file(memory)
        if file and file not in self._rules:
            self._rules[file] = self._read(file)
        return find_rule(self._rules[file], address, memory) if file else None

    def _read(self, file: str) -> tuple[FileRule, ...]:
        try:
            return parse(in_head(self._workspace, file, self._seconds).decode("utf-8")).rules
        except (UnicodeDecodeError, OddMarks):
            return ()


def became(workspace: Workspace, address: str, memory: Memory) -> PromotedMemory | None:
    """What became of a memory that points to a rule; None for one that does not.

    Args:
        address: `scope/agent/file stem`, where it is hot.
    """
    file = rule_file(memory)
    if not file:
        return None
    head = HeadRules(workspace, PATIENT_SECONDS)
    rule = head.rule(address, memory)
    known = read_state(workspace.state).by_memory.get(address)
    commit = known.commit if known is not None and known.file == file else ""
    if not commit and rule is not None:
        commit = newest_change(workspace, rule.address, file, "HEAD")
    edited = rule is not None and not says_the_same(memory, rule.text)
    return PromotedMemory(file, commit, rule.text if rule else None, edited)


def in_head(workspace: Workspace, file: str, seconds: float = SECONDS) -> bytes:
    """One file of HEAD; empty where it is not there, or the look took too long."""
    words = ["cat-file", "blob", f"HEAD:{file}"]
    seen = peek(workspace.git, words, cwd=top_of(workspace), seconds=seconds, size=LARGEST + 1)
    return seen.stdout if seen.returncode == 0 else b""


def rules_at(
    workspace: Workspace, commit: str, files: Iterable[str]
) -> tuple[Mapping[str, tuple[str, FileRule]], Mapping[str, str]]:
    """The rules that a commit of the code has: of some files, and of Markdown files that hold a mark.

    Args:
        files: from the top of the tree.

    Returns:
        Address to the file and the rule; and of files of which nobody can tell, why.
    """
    from gitmem.search.code_files import CodeFiles

    found: dict[str, tuple[str, FileRule]] = {}
    unread: dict[str, str] = {}
    with closing(CodeFiles(workspace.git, top_of(workspace))) as code:
        there = code.places(commit).files
        marked = code.having(commit, CLOSE, SUFFIXES)[:MOST_FILES]
        for file in sorted(there.keys() & {*files, *marked}):
            data = code.blob(there[file])
            try:
                rules = parse(as_text(data, file)).rules
            except UsageError as error:
                unread[file] = error.message
                continue
            if not data and not code.complete:
                unread[file] = "it is not at hand"
            for rule in rules:
                found.setdefault(rule.address, (file, rule))
    return found, unread


def newest_change(workspace: Workspace, address: str, file: str, head: str) -> str:
    """The newest commit on the first-parent line of HEAD that brought a rule into a file, or took it out.

    Returns:
        Its object name; empty where none did, or the look took too long.
    """
    words = ["log", "-1", "--format=%H", "--first-parent", "--diff-merges=first-parent", "--no-renames"]
    words += [f"-S{mark(address)}", head, "--", f":(top,literal){file}"]
    seen = peek(
        workspace.git,
        words,
        cwd=top_of(workspace),
        seconds=SECONDS,
        size=100,
        enough=lambda said: b"\n" in said,
    )
    # A choice of parents to compare with has git print the difference, too.
    found = seen.text.partition("\n")[0].strip()
    return found if len(found) in (40, 64) else ""


def top_of(workspace: Workspace) -> Path:
    """Top of the present work tree."""
    if workspace.layout.worktree is None:
        raise RepositoryError("There is no work tree", "Run it in a repository with a work tree.")
    return workspace.layout.worktree


def chosen_file(workspace: Workspace, edges: Edges, to: str | None) -> str:
    """The file for a rule, from the top of the work tree.

    Args:
        to: as the person gave it, from the folder where they are; None for `CLAUDE.md` where it is there,
            else `AGENTS.md` where it is there, else `CLAUDE.md`. Where the first is but a link to the
            second, or imports it and nothing else, the second is meant.

    Raises:
        UsageError: nothing may be written there.
    """
    top = top_of(workspace)
    if to is not None:
        file = edges.from_top(top, to)
    else:
        first, second = DEFAULTS
        has_first, has_second = ((top / name).is_file() for name in DEFAULTS)
        imports = (read_theirs(top / first, 64) or b"").strip() == f"@{second}".encode()
        means_second = not has_first or imports or (top / first).is_symlink()
        file = second if has_second and means_second else first
    check_file(workspace, file)
    return file


def check_file(workspace: Workspace, file: str) -> None:
    """Refuses a file that a rule must not go into.

    Args:
        file: from the top of the work tree, separated by `/`.

    Raises:
        UsageError: it says why, and what to do.
    """
    top = top_of(workspace)
    if why := _unfit(workspace, top, top / file, file.split("/")):
        raise UsageError(f"{file} cannot hold rules: {why}", "Name another with --to, such as AGENTS.md.")
    if not is_tracked(workspace, file):
        ignored = workspace.git.run(["check-ignore", "-q", "--", file], cwd=top, check=False)
        if ignored.returncode == 0:
            raise UsageError(
                f"{file} is ignored by git: what is written there is never committed",
                "Name a file that is committed, or put the rule there by hand and forget the memory.",
            )


def is_tracked(workspace: Workspace, file: str) -> bool:
    """Whether git knows a file of the work tree."""
    words = ["ls-files", "--error-unmatch", "-z", "--", file]
    return workspace.git.run(words, cwd=top_of(workspace), check=False).returncode == 0


def _unfit(workspace: Workspace, top: Path, path: Path, parts: list[str]) -> str:
    if any(part.lower() == ".git" for part in parts):
        return "it lies in git's own folder"
    if not parts[-1].lower().endswith(tuple(f".{end}" for end in SUFFIXES)):
        return "it is no Markdown file, whose comments could mark the rules off"
    if any(not part.isprintable() for part in parts):
        return "its name holds what cannot be shown"
    if has_link(top, path):
        return "it is a symbolic link, or lies behind one"
    memory = [top / workspace.claude_folder / name for name in (*LIVE_FOLDERS.values(), SNAPSHOTS)]
    memory += [workspace.around.config / "agent-memory", top / "snapshots"]
    auto = auto_memory(workspace)
    memory += [auto] if auto else []
    if any(path.is_relative_to(folder) for folder in memory):
        return "it is a memory, or lies among them"
    for parent in list(path.parents)[: len(parts) - 1]:
        if (parent / ".git").exists():
            return f"{parent.name} is a repository of its own"
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"it cannot be looked at: {error.strerror}"
    return "" if stat.S_ISREG(mode) else "it is no regular file"


def read_here(workspace: Workspace, file: str) -> str:
    """The file's text in the work tree; empty where it is not there.

    Raises:
        UsageError: it is not UTF-8, or too large.
        RepositoryError: it cannot be read.
    """
    return as_text(read_theirs(top_of(workspace) / file, LARGEST) or b"", file)


def as_text(data: bytes, file: str) -> str:
    """A file's bytes as text.

    Raises:
        UsageError: they are not UTF-8, or too many.
    """
    if len(data) > LARGEST:
        raise UsageError(f"{file} has more than {LARGEST:,} bytes", "Rules go into a shorter file: --to.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 at byte {error.start}", "Convert it first.") from error


def write_here(workspace: Workspace, file: str, before: str, after: str) -> None:
    """Changes the file in the work tree, keeping its mode; one that becomes empty is deleted.

    Raises:
        RepositoryError: it changed meanwhile, or cannot be written.
    """
    path = top_of(workspace) / file
    if read_here(workspace, file) != before:
        raise RepositoryError(f"{file} changed meanwhile", "Run it again.")
    try:
        if not after:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()  # a new one gets the mode that the person's own would have
        replace_file(path, after.encode("utf-8"), stat.S_IMODE(path.lstat().st_mode))
    except OSError as error:
        raise RepositoryError(f"{path} cannot be written: {error.strerror}") from error


def title_of(verb: str, memory: Memory) -> str:
    """A subject line for one memory, not cut.

    Args:
        verb: `Add` or `Take out`.
    """
    return f"{verb} the rule {memory.name}: {one_line(memory.description) or memory.name}"


def _told_of(workspace: Workspace, at: MemoryPlace) -> tuple[list[str], list[str]]:
    """What the message says of a memory: who taught it, when, in which session, where it is kept.

    Returns:
        Lines, and trailers.
    """
    from gitmem.ledger.blame import blame_memory

    scope = workspace.scope(at.scope)
    tip = scope.repo.ref(scope.ref) or ""
    said = [at.address]
    if at.scope == "project":  # where a private one is kept is nobody else's business
        said[0] += f", kept by gitmem in {scope.ref} at {tip[:12]}"
    trailers = [f"Gitmem-Memory: {one_line(at.address)}"]
    blamed = blame_memory(scope.repo, tip, f"{at.agent}/{at.file}") if tip else ()
    told = next((o.told[0] for one in blamed if not one.description for o in one.origins if o.told), None)
    if told is not None:
        when = f" on {datetime.fromtimestamp(told.time, UTC):%Y-%m-%d}" if told.time is not None else ""
        who, session = one_line(told.author.partition(" <")[0]), one_line(told.provenance.session)
        said.append(f"taught by {who}{when}{f' in session {session}' if session else ''}")
        trailers += _trailers(told.provenance)
    return said, trailers


def propose(workspace: Workspace, edges: Edges, state: RuleState) -> tuple[Path | None, str]:
    """Writes the message for all that waits in the present work tree.

    Returns:
        The message's file and the command that commits it; None and empty where nothing waits.
    """
    top = str(top_of(workspace))
    waits = [("Add", name, one.file) for name, one in sorted(state.pending.items()) if one.worktree == top]
    waits += [
        ("Take out", name, one.file)
        for name, one in sorted(state.standing.items())
        if _leaves(workspace, name, one)
    ]
    path = workspace.state / MESSAGE
    if not waits:
        path.unlink(missing_ok=True)
        return None, ""
    replace_file(path, message(workspace, waits).encode("utf-8", "replace"), 0o600)
    return path, _command(workspace, edges, sorted({file for _, _, file in waits}), path)


def _leaves(workspace: Workspace, address: str, one: HeadRule) -> bool:
    """Whether HEAD has a rule that was taken out of the work tree's file, its memory brought back."""
    opening = mark(address)
    if one.here or opening.encode() not in in_head(workspace, one.file):
        return False
    try:
        return opening not in read_here(workspace, one.file)
    except GitmemError:  # whatever it is now, it is not known to be gone
        return False


def message(workspace: Workspace, waits: Sequence[tuple[str, str, str]]) -> str:
    """A subject, what each rule was, and trailers.

    Args:
        waits: `Add` or `Take out`, the address and the file of each rule.
    """
    parts: list[str] = []
    titles: list[str] = []
    trailers: dict[str, None] = {}
    for verb, address, _ in waits:
        at = place_of(workspace, f"{address}.md")
        titles.append(title_of(verb, at.memory) if at else f"{verb} the rule {address.rpartition('/')[2]}")
        said, more = _told_of(workspace, at) if at else ([], [])
        parts.append("\n".join(map(_plain, (titles[-1], *said))))
        trailers |= dict.fromkeys(map(_plain, more))
    counts = Counter(verb for verb, _, _ in waits)
    named = " and ".join(f"{verb.lower()} {count}" for verb, count in counts.items())
    subject = f"{named.capitalize()} rules learned while working"
    if len(waits) == 1:
        subject = subject_line(titles[0])
        parts = [parts[0].removeprefix(subject).lstrip("\n")]
    return "\n\n".join([subject, *parts, "\n".join(trailers)]).rstrip("\n") + "\n"


def _trailers(told: Provenance) -> list[str]:
    found = {
        "Session": told.session,
        "Messages": "..".join(told.messages) if told.messages else "",
        "Code-Commit": told.code_commit,
    }
    return [f"Gitmem-{key}: {one_line(value)}" for key, value in found.items() if value]


def _plain(line: str) -> str:
    """One line that git's clean-up keeps and that no hook takes for something to do."""
    said = one_line(line)
    lead = said.partition(":")[0].strip().lower()
    return f"- {said}" if said.startswith("#") or lead in ("remember", "forget") else said


def _command(workspace: Workspace, edges: Edges, changed: list[str], message: Path) -> str:
    """What the person types, from the folder that they are in."""
    top, here = top_of(workspace), edges.cwd
    outside = [] if edges.person_in in (None, here) else ["-C", str(here)]
    paths = [os.path.relpath(top / file, here) for file in changed]
    said = os.path.relpath(message, here) if message.is_relative_to(top) else str(message)
    fresh = [path for path, file in zip(paths, changed, strict=True) if not is_tracked(workspace, file)]
    commands = [["git", *outside, "commit", "-eF", said, "--", *paths]]
    if fresh:
        commands.insert(0, ["git", *outside, "add", "--", *fresh])
    return " && ".join(shlex.join(words) for words in commands)
