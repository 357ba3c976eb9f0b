"""What a push would send: which memories and log lines leave for the first time, and which must not.

What is pushed for the first time is rebuilt without what does not stand any more (`departure`). The history
that was there before stays under `refs/gitmem/unshared/<number>`, which no push of gitmem sends: a commit
on top of the old one whose message lists what became of which commit, so that undo and restore still find
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.core.daily_log import SOME_DAY, LogLine, day_of, read_line, split
from gitmem.core.errors import CheckFailed, MissingObject
from gitmem.core.memory import parse
from gitmem.core.names import agent_folder, is_log, kind
from gitmem.core.text import decode, one_line
from gitmem.core.trailers import Provenance, format_message
from gitmem.git.history import touching
from gitmem.git.refs import move_ref
from gitmem.git.remote import Remote
from gitmem.git.repository import Commit, RefMoved, Repository
from gitmem.git.trees import changed_files, find_paths, list_files, read_paths
from gitmem.ledger.epochs import former
from gitmem.rules.rule import Finding
from gitmem.rules.screen import allow_command, new_warnings
from gitmem.values import dataclass

SHOWN = 60
"""Characters of a line that name it."""

UNSHARED = "refs/gitmem/unshared/"

SUBJECT = "Keep what was here before it was shared"

_PAIR = re.compile(r"^([0-9a-f]{40,64}) ([0-9a-f]{40,64})$", re.MULTILINE)


@dataclass(frozen=True)
class Leaving:
    """One memory, or one line of a daily log, that is in what would be pushed.

    Attributes:
        path: where it stands in the tree.
        agent: folder name of its agent.
        name: of a line of a log, how it begins.
        type: one of the four types.
    """

    path: str
    agent: str
    name: str
    type: str

    def __str__(self) -> str:
        return f"{self.agent}/{self.name}"


def memories(repo: Repository, tree: str, paths: Iterable[str] | None = None) -> tuple[Leaving, ...]:
    """Memories of a tree, all of them or those at some paths, sorted by path."""
    wanted = {
        path
        for path in (list_files(repo, tree) if paths is None else paths)
        if "/" in path and not path.startswith(".") and kind(path) == "memory"
    }
    found = []
    for path, data in sorted(read_paths(repo, tree, wanted).items()):
        memory = parse(path, data)
        found.append(Leaving(path, agent_folder(path), memory.name, memory.type))
    return tuple(found)


def first_departures(
    repo: Repository, oid: str, known: Iterable[str], there: Iterable[str] = ()
) -> tuple[Leaving, ...]:
    """Memories, and lines of logs, of a commit that none of the known has: they leave for the first time.

    Args:
        oid: the commit that would be pushed.
        known: commits of shared memory that the remote has, or that the person agreed to share before.
        there: other commits that the remote has: what is in them word for word came from there.
    """
    tree, known = repo.commit(oid).tree, tuple(known)
    trees = [repo.commit(commit).tree for commit in known]
    paths = set.intersection(*(changed_files(repo, other, tree) for other in trees)) if trees else None
    before = set[str]().union(*(read_paths(repo, other, paths or set()) for other in trees))
    # A memory that was only renamed or paged out has left before.
    names = {
        (memory.agent, memory.name)
        for other in trees
        for memory in memories(repo, other, _gone(repo, other, tree))
    }
    fresh = memories(repo, tree, None if paths is None else paths - before)
    found = [one for one in fresh if (one.agent, one.name) not in names]
    found += _log_lines(repo, tree, trees)
    # So has what was taken out and came back as it was; what is about a person is held back anyway.
    personal = {one.path for one in found if one.type == "user"}
    now = find_paths(repo, tree, {one.path for one in found} - personal)
    past = (touch.commit for commit in known for touch in touching(repo, commit, sorted(now)))
    back = set[str]()
    for commit in (*there, *past) if now else ():
        then = find_paths(repo, repo.commit(commit).tree, now.keys())
        back |= {path for path, blob in then.items() if blob == now[path]}
    return tuple(one for one in found if one.path not in back)


def _log_lines(repo: Repository, tree: str, known: Iterable[str]) -> Iterator[Leaving]:
    """Lines of a tree's daily logs that none of the known trees has, wherever it stood there."""
    for path, line, told in _fresh(repo, tree, known):
        day = day_of(path) or SOME_DAY
        text = one_line(f"{told.when:%H:%M} {told.text}" if told else line.strip(), SHOWN)
        yield Leaving(path, agent_folder(path), f"log {day} {text}", told.type if told else "project")


def _gone(repo: Repository, before: str, after: str) -> set[str]:
    paths = changed_files(repo, before, after)
    return paths - read_paths(repo, after, paths).keys()


def refuse_personal(found: Iterable[Leaving]) -> None:
    """Raises where a memory about a person would leave: type `user` never goes to the project scope.

    Raises:
        CheckFailed: it names them.
    """
    personal = [memory for memory in found if memory.type == "user"]
    if personal:
        raise CheckFailed(
            f"About a person, so never shared: {', '.join(map(str, personal))}", right_place(personal)
        )


def right_place(personal: Sequence[Leaving]) -> str:
    """Where memories about a person belong, as a hint."""
    if is_log(personal[0].path):
        return "Take each line out of the log: git mem forget --claim TEXT"
    names = personal[0].name if len(personal) == 1 else "NAME"
    return (
        f"Move {'it' if len(personal) == 1 else 'each'} where it belongs: git mem move {names} --to local"
    )


def refuse_secrets(repo: Repository, remote: Remote, oids: Sequence[str], allow: frozenset[str]) -> None:
    """Raises where anything that a push of these commits would send holds a secret, past versions included.

    Raises:
        CheckFailed: it names the files and how to allow a false alarm.
        DetectorUnavailable: nothing can be said; push nothing.
    """
    files: dict[str, bytes] = {}
    lines: set[bytes] = set()
    for name, path in remote.new_blobs(*oids):
        try:
            data = repo.blob(name)
        except MissingObject:
            # A folder, or an object that a partial clone does not have and git will not send.
            continue
        if kind(path) != "memory":
            # Every commit has its own index, nearly all of it seen before.
            fresh = [line for line in data.splitlines(keepends=True) if line not in lines]
            lines.update(fresh)
            data = b"".join(fresh)
        files[f"{name}/{path}"] = data
    from gitmem.rules.profiles import judge_files  # a look sends nothing, and the rules take long to load

    if found := judge_files("write", {}, files, allow):
        paths = ", ".join(dict.fromkeys(f"{one.path.partition('/')[2]} {one.message}" for one in found))
        prints = dict.fromkeys(print for one in found for print in one.fingerprints)
        hint = "It may stand in an earlier version only. Take it out (git mem purge TEXT)"
        raise CheckFailed(
            f"Not pushed: {paths}",
            f"{hint}, or allow it: {allow_command(prints)}" if prints else f"{hint}.",
        )


def doubts_to_leave(
    repo: Repository, there: str | None, tree: str, changed: set[str], allow: frozenset[str]
) -> tuple[Finding, ...]:
    """What may be a credential in what a push brings, and is stored all the same.

    Args:
        there: tree that stands where it goes; None for none.
        tree: tree that is to stand there.
        changed: paths in which they differ.

    Raises:
        DetectorUnavailable: nothing can be said; push nothing.
    """
    before = read_paths(repo, there, changed) if there else {}
    return new_warnings(before, read_paths(repo, tree, changed), allow)


def personal_lines(repo: Repository, tree: str, known: Iterable[str]) -> dict[str, set[str]]:
    """Lines about a person that no log of the known trees has, by the log in which they stand."""
    found: dict[str, set[str]] = {}
    for path, line, told in _fresh(repo, tree, known):
        if told is not None and told.type == "user":
            found.setdefault(path, set()).add(line)
    return found


def _fresh(repo: Repository, tree: str, known: Iterable[str]) -> Iterator[tuple[str, str, LogLine | None]]:
    trees = list(known)
    changed = [changed_files(repo, other, tree) for other in trees]
    paths = set.intersection(*changed) if changed else set(list_files(repo, tree))
    seen = set()
    for other, differs in zip(trees, changed, strict=True):
        for path, line in _lines(repo, other, differs):
            seen.add((agent_folder(path), line))
    for path, line in _lines(repo, tree, paths):
        agent = agent_folder(path)
        if (agent, line) not in seen:
            seen.add((agent, line))
            yield path, line, read_line(line, day_of(path) or SOME_DAY)


def _lines(repo: Repository, tree: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    for path, data in sorted(read_paths(repo, tree, set(filter(is_log, paths))).items()):
        yield from ((path, line) for line in dict.fromkeys(split(decode(data))) if line.strip())


def keep(repo: Repository, old: str, pairs: Mapping[str, str]) -> str:
    """Keeps a commit that a memory ref is about to leave; returns the ref that holds it.

    Args:
        pairs: commit in the rebuilt history to the one that it was made of.
    """
    commit = repo.commit(old)
    listed = "\n".join(f"{new} {was}" for new, was in pairs.items())
    message = format_message(SUBJECT, Provenance(op="sync", writer="sync")) + f"\n{listed}\n"
    made = repo.add_commit(commit.tree, (old,), commit.committer, commit.committer, message)
    while True:
        ref = f"{UNSHARED}{max(_numbered(repo), default=0) + 1}"
        try:
            move_ref(repo, ref, made, None, "gitmem: before it was shared")
        except RefMoved:
            continue
        return ref


def unshared_tips(repo: Repository) -> tuple[str, ...]:
    """Commits that keep what was not shared, the newest first."""
    return tuple(oid for _, oid in sorted(_numbered(repo).items(), reverse=True))


def side_tips(repo: Repository, ref: str = "") -> tuple[str, ...]:
    """Commits at which histories end that are here though no memory ref has them, the newest first.

    What was never shared, and what somebody else's purge replaced.

    Args:
        ref: whose; empty for those of all memory refs.
    """
    return *unshared_tips(repo), *former(repo, ref)


def is_kept(repo: Repository, oid: str) -> bool:
    """Whether a commit is in history that was kept here."""
    return any(repo.is_ancestor(oid, tip) for tip in unshared_tips(repo))


def as_it_was(repo: Repository, commit: Commit) -> Commit:
    """The commit that a rebuilt one was made of; itself where it was not rebuilt, or that is gone."""
    for made, was in _pairs(repo):
        if made == commit.oid:
            try:
                return as_it_was(repo, repo.commit(was))
            except MissingObject:
                return commit
    return commit


def _numbered(repo: Repository) -> dict[int, str]:
    names = ((ref.removeprefix(UNSHARED), oid) for ref, oid in repo.refs(UNSHARED).items())
    return {int(name): oid for name, oid in names if name.isdecimal()}


def _pairs(repo: Repository) -> Iterator[tuple[str, str]]:
    for tip in unshared_tips(repo):
        yield from _PAIR.findall(repo.commit(tip).message)
