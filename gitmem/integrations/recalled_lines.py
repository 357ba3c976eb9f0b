"""Lines of daily logs that recall chose; loaded only where it chose one."""

from __future__ import annotations

from gitmem.core.daily_log import statements
from gitmem.integrations.withholding import without_secrets
from gitmem.search.query import Candidate
from gitmem.search.recall import NotShown, Opened, Source
from gitmem.store.commits import memory_commit
from gitmem.store.glimpse import peek
from gitmem.store.log_facts import fact_in, is_open, log_of
from gitmem.store.repository import Commit, MissingObject, Repository
from gitmem.store.trees import read_file
from gitmem.store.workspace import Workspace

BROUGHT_SECONDS = 0.3


def opened(workspace: Workspace, source: Source, one: Candidate) -> Opened:
    """A line as it may be shown.

    Raises:
        MissingObject: it is gone, or nothing of its log may be shown.
        NotShown: a memory was made of it, or somebody forgot or rejected it.
    """
    repo, path = source.repo, log_of(one.path)
    commit = one.commit or memory_commit(repo, one.ref)
    data = read_file(repo, repo.commit(commit).tree, path) if commit else None
    if not commit or data is None:
        raise MissingObject(f"{path} is not there")
    if one.ref == workspace.scope("project").ref:
        data = without_secrets(workspace, path, data)
    fact = fact_in(one.path, data)
    if fact is None:
        raise MissingObject(f"{one.path} is not there, or not shown")
    claim, line = fact
    if not is_open(repo, source.catalog, one.ref, commit, one.path, claim, one.commit or None):
        raise NotShown("settled", path)
    session = f" in session {line.session}" if line.session else ""
    return Opened(
        f"log {line.when:%Y-%m-%d %H:%M}",
        statements(line.text)[0],
        line.type,
        line.text,
        (f"a line of the daily log, said{session}; no memory was made of it yet",),
    )


def bringer(workspace: Workspace, repo: Repository, tip: str, one: Candidate) -> Commit | None:
    """The commit that brought a line to its log; None where that cannot be told in time."""
    path = log_of(one.path)
    data = read_file(repo, repo.commit(tip).tree, path)
    fact = fact_in(one.path, data) if data is not None else None
    if fact is None:
        return None
    line = next(iter(fact[0].text.splitlines()))
    words = ["log", "--no-color", "--format=%H", "--diff-filter=AM", f"-S{line}", tip, "--", path]
    words = [f"--git-dir={repo.git_dir}", "--literal-pathspecs", *words]
    seen = peek(workspace.git, words, cwd=repo.git_dir, seconds=BROUGHT_SECONDS, size=1 << 12)
    found = seen.text.split()
    return repo.commit(found[-1]) if found else None
