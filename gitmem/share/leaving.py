"""What a push would send: which memories leave for the first time, and which must not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gitmem.core.daily_log import is_log
from gitmem.core.errors import CheckFailed
from gitmem.core.memory import parse
from gitmem.core.merge import agent_folder, kind
from gitmem.rules.profiles import judge_files
from gitmem.rules.rule import Finding
from gitmem.rules.screen import warned
from gitmem.share.leaving_lines import fresh_lines
from gitmem.store.remote import Remote
from gitmem.store.repository import MissingObject, Repository
from gitmem.store.trees import changed_files, list_files, read_paths
from gitmem.values import dataclass


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


def leaving(repo: Repository, oid: str, known: Iterable[str]) -> tuple[Leaving, ...]:
    """Memories, and lines of logs, of a commit that none of the known has: they leave for the first time.

    Args:
        oid: the commit that would be pushed.
        known: commits that the remote has, or that the person agreed to share before.
    """
    tree = repo.commit(oid).tree
    trees = [repo.commit(commit).tree for commit in known]
    logged = lines(repo, tree, trees)
    if not trees:
        return memories(repo, tree) + logged
    paths = set.intersection(*(changed_files(repo, other, tree) for other in trees))
    seen = [read_paths(repo, other, paths) for other in trees]
    fresh = memories(repo, tree, {path for path in paths if not any(path in files for files in seen)})
    # A memory that was only renamed or paged out has left before.
    names = {
        (memory.agent, memory.name)
        for other in trees
        for memory in memories(repo, other, _gone(repo, other, tree))
    }
    return tuple(memory for memory in fresh if (memory.agent, memory.name) not in names) + logged


def lines(repo: Repository, tree: str, known: Iterable[str] = ()) -> tuple[Leaving, ...]:
    """Lines of a tree's daily logs that none of the known trees has."""
    return tuple(Leaving(*line) for line in fresh_lines(repo, tree, known))


def _gone(repo: Repository, before: str, after: str) -> set[str]:
    paths = changed_files(repo, before, after)
    return paths - read_paths(repo, after, paths).keys()


def refuse_personal(found: Iterable[Leaving]) -> None:
    """Raises where a memory about a person would leave (design.md section 2: user, never project).

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


def secrets_to_leave(
    repo: Repository, remote: Remote, oids: Sequence[str], allow: frozenset[str]
) -> tuple[Finding, ...]:
    """Secrets in anything that a push of these commits would send, past versions included.

    Raises:
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
    found = judge_files("write", {}, files, allow)
    return tuple(replace(refusal, path=refusal.path.partition("/")[2]) for refusal in found)


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
    return warned(before, read_paths(repo, tree, changed), allow)


def refuse_secrets(found: Iterable[Finding]) -> None:
    """Raises where something that would be pushed holds a secret.

    Raises:
        CheckFailed: it names the files and how to allow a false alarm.
    """
    refusals = tuple(found)
    if refusals:
        paths = ", ".join(dict.fromkeys(f"{refusal.path} {refusal.message}" for refusal in refusals))
        prints = " ".join(dict.fromkeys(print for refusal in refusals for print in refusal.fingerprints))
        hint = "It may stand in an earlier version only. Take it out (git mem purge TEXT)"
        raise CheckFailed(
            f"Not pushed: {paths}",
            f"{hint}, or allow it: git config --global --add gitmem.allow '{prints}'"
            if prints
            else f"{hint}.",
        )
