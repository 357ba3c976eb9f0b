"""A person's answer to a dream's question on two claims: the change that it comes to.

The question on the branch says that one of the two goes. The answer says which, and why: it is made by the
rules that make the changes of a dream, on the ground of the question, and takes its place as it lands. The
branch stays as it is, so an undo brings the question back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

from gitmem.core.account import path_of, reference
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.memory import Memory
from gitmem.core.trailers import Provenance, parse
from gitmem.dream.cards import Origins, by_time, claim_origins, first_said
from gitmem.engines.offline.duplicates import relate
from gitmem.engines.offline.pairs import Judgement, Pair
from gitmem.engines.offline.work import Work
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger.dreams import Dream, DreamCommit, read_change
from gitmem.ledger.land import safe_message

Answer = Literal["same", "newer", "older"]

ANSWERS: tuple[Answer, ...] = get_args(Answer)

SAME = "both say the same, as a person answered"


def as_answered(dream: Dream, answers: Mapping[int, Answer]) -> Dream:
    """A dream with what a person's answers come to in place of its questions; no ref is moved.

    Args:
        answers: number of a question to what was said of it.

    Raises:
        UsageError: a number is of no open question on two claims.
        CheckFailed: the claim that would go cannot go by itself.
    """
    if not answers:
        return dream
    known = {change.n: change for change in dream.open}
    for n in answers:
        if n not in known or not known[n].compares:
            raise UsageError(
                f"{dream.id} has no open question {n} on two claims",
                f"Look: git mem review show {dream.id}",
            )
    origins = claim_origins(dream)
    changes = (
        _change(dream, one, answers[one.n], origins) if one.n in answers else one for one in dream.changes
    )
    return replace(dream, changes=tuple(changes))


def _change(dream: Dream, change: DreamCommit, answer: Answer, origins: Origins) -> DreamCommit:
    repo = dream.scope.repo
    asked = repo.commit(change.commit)
    ground = repo.commit(asked.parents[0]).tree
    work = Work(read_files(repo, ground))
    earlier, later = by_time(change, origins)
    goes, stays = (later, earlier) if answer == "older" else (earlier, later)
    if answer == "same":
        fate = next(fate for fate in change.fates if fate.target in change.stood)
        goes, stays = fate.source, fate.target
    places = [_place(work, one) for one in (goes, stays)]
    judgement = Judgement("same" if answer == "same" else "amends")
    said = {one: when for one in (goes, stays) if (when := first_said(origins, one))}
    authors = {one: who for one in (goes, stays) if (who := _who(origins, one))}
    gone, left = places
    if gone and left:
        relate(work, [Pair(gone, left, judgement, 1.0)], said, authors, asking=False)
    if not work.changes:
        what = f"The claim that would go by this answer to {dream.id} {change.n} does not go alone"
        raise CheckFailed(what, f"Say it otherwise: git mem review edit {dream.id} {change.n}")
    made = work.changes[0]
    fates = tuple(
        replace(fate, kind="superseded", reason=SAME) if answer == "same" and fate.source == goes else fate
        for fate in made.fates
    )
    told = Provenance(op="dream", writer="dream", engine=parse(asked.message).engine, claims=fates)
    with repo.together():
        tree = write_tree(repo, ground, made.edits)
        message = safe_message(made.subject, told, made.reason)
        oid = repo.add_commit(tree, asked.parents, asked.author, asked.committer, message)
        return read_change(repo, change.n, ground, repo.commit(oid))


def _place(work: Work, ref: str) -> tuple[Memory, int] | None:
    memory = work.memories.get(path_of(ref))
    for at, claim in enumerate(memory.parsed.claims if memory else ()):
        if memory and reference(memory.path, claim) == ref:
            return memory, at
    return None


def _who(origins: Origins, ref: str) -> str:
    told = [one.told[0] for one in origins.get(ref, ()) if one.told]
    return told[0].author.partition("<")[0].strip() if told else ""
