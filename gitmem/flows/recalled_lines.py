"""Lines of daily logs that recall chose; loaded only where it chose one."""

from __future__ import annotations

from gitmem.core import tombstone
from gitmem.core.account import line_key, line_mark
from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine, fact_in, line_keys, log_of, statements
from gitmem.core.errors import MissingObject
from gitmem.core.text import decode
from gitmem.git.command import peek
from gitmem.git.repository import Commit, Repository
from gitmem.git.trees import read_file
from gitmem.ledger.accounts import BEFORE, accounts, fates_of_lines
from gitmem.ledger.land import memory_commit
from gitmem.ledger.taint import safe_content
from gitmem.ledger.workspace import Workspace
from gitmem.search.content import Opened
from gitmem.search.query import Candidate, RecallSource
from gitmem.search.recall import NotShown

BROUGHT_SECONDS = 0.3


Settled = dict[str, tuple[float, frozenset[tuple[str, str, str]]]]
"""Of a commit, since when its history was walked (epoch seconds), and the lines that are settled there."""


def opened(workspace: Workspace, source: RecallSource, one: Candidate, settled: Settled) -> Opened:
    """A line as it may be shown.

    Args:
        settled: what this answer knows already; added to.

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
        data = safe_content(workspace, path, data, commit)
    fact = fact_in(one.path, data)
    if fact is None:
        raise MissingObject(f"{one.path} is not there, or not shown")
    claim, line = fact
    if not _is_open(repo, commit, one.path, claim, line, settled):
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


def _is_open(repo: Repository, commit: str, at: str, fact: Claim, line: LogLine, settled: Settled) -> bool:
    """Whether a fact may be shown: nobody forgot or rejected it, disputes it, or made a memory of it.

    Args:
        commit: of the ref, at which the fact stands.
        at: its reference.
    """
    if fact.dispute:
        return False
    stones = read_file(repo, repo.commit(commit).tree, f"{at.partition('/')[0]}/{tombstone.FILE}")
    buried = tombstone.parse(decode(stones or b""))
    keys = (line_key(at), *line_keys(f"- {fact.key}"))
    if any(tombstone.matches(buried, key) for key in keys):
        return False
    since = (line.when - BEFORE).timestamp()
    if commit not in settled or settled[commit][0] > since:
        fates = (fate for one in accounts(repo, commit, since) for fate in fates_of_lines(one))
        settled[commit] = since, frozenset(line_mark(fate.source) for fate in fates)
    return line_mark(at) not in settled[commit][1]
