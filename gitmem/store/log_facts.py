"""One fact of a daily log as recall opens it.

Loaded only where a line was chosen.
"""

from __future__ import annotations

from gitmem.core import tombstone
from gitmem.core.account import line_key
from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine, facts, line_keys
from gitmem.core.names import archived_path
from gitmem.core.text import decode
from gitmem.search.index import Catalog
from gitmem.store.repository import Repository
from gitmem.store.trees import read_file


def log_of(at: str) -> str:
    """The log that a fact stands in.

    Args:
        at: `<path of the log>#<12 hex>`, from the root of the tree.
    """
    return at.rpartition("#")[0]


def fact_in(at: str, data: bytes) -> tuple[Claim, LogLine] | None:
    """A fact of a log; None where it is not there.

    Args:
        data: the log.
    """
    path, _, short = at.rpartition("#")
    return next((fact for fact in facts(path, data) if fact[0].short == short), None)


def standing(repo: Repository, tree: str, at: str) -> bool:
    """Whether a fact stands in a tree, in the days that are hot or in the archive."""
    path = log_of(at)
    data = (read_file(repo, tree, place) for place in (path, archived_path(path)) if place)
    return any(each is not None and fact_in(at, each) is not None for each in data)


def is_open(
    repo: Repository, catalog: Catalog, ref: str, commit: str, at: str, fact: Claim, asked: str | None
) -> bool:
    """Whether a fact may be shown: nobody forgot or rejected it, disputes it, or made a memory of it.

    Args:
        commit: of the ref, at which the fact stands.
        asked: the commit that the answer is as of; None for the tip.
    """
    if fact.dispute or catalog.is_distilled(repo, ref, at, asked):
        return False
    stones = read_file(repo, repo.commit(commit).tree, f"{at.partition('/')[0]}/{tombstone.FILE}")
    if not stones:
        return True
    buried = tombstone.parse(decode(stones))
    keys = (line_key(at), *line_keys(f"- {fact.key}"))
    return not any(tombstone.matches(buried, key) for key in keys)
