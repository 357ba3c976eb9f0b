"""A person's decision on something that waits: what it does, whichever kind of thing it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from gitmem.core.errors import UsageError
from gitmem.core.text import counted
from gitmem.dream import review as dreams
from gitmem.integrations.disputes import Dispute, settle
from gitmem.integrations.docs.waiting import Waiting
from gitmem.integrations.dreams.landed import tell_landed
from gitmem.integrations.dreams.sources import lookup
from gitmem.integrations.edges import Edges, allowed_fingerprints, author
from gitmem.integrations.last_recalls import asked_before
from gitmem.integrations.promoting import proposing as promotions
from gitmem.integrations.promoting.proposing import Offered
from gitmem.integrations.refresh import settle_snapshot
from gitmem.integrations.review import find_item
from gitmem.integrations.review_items import Item
from gitmem.integrations.saving import save_all
from gitmem.integrations.saying import withdraw_proposal
from gitmem.share import inbox as inbox_branches
from gitmem.share.held import Held, agree_to, held_back
from gitmem.share.inbox import Inbox
from gitmem.share.snapshots import How, Standing
from gitmem.share.turning import agree
from gitmem.store.commits import Written
from gitmem.store.parked import Suggestion
from gitmem.store.repository import short_name
from gitmem.store.workspace import Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class Decided:
    """What a decision did: one line for the person, and the commit that an undo would take back."""

    line: str
    written: Written | None = None


def accept(
    workspace: Workspace,
    edges: Edges,
    id: str,
    numbers: tuple[int, ...],
    ask: Callable[[str], None],
    how: How = "merge",
) -> Decided:
    """Accepts an item, or some of its changes.

    Args:
        ask: asks the person for consent to what would be public, and raises where there is none.
        numbers: which changes of a dream, or which claim of a dispute; empty for all.
        how: for a snapshot, `merge` or `replace`.
    """
    item = find_item(workspace, edges, id)
    match item.subject:
        case Suggestion() as one:
            _no_numbers(item, numbers)
            from gitmem.integrations.suggestions import accept_suggestion  # a look decides nothing

            written = accept_suggestion(workspace, edges, one)
            return Decided(f"stored {item.title}" if written else f"known already: {item.title}", written)
        case Dispute() as one:
            if not numbers:
                raise UsageError(
                    f"Say which claims of {one.id} stand (all of them, if each is true)",
                    f"See them: git mem review show {one.id}",
                )
            keep = numbers
            written = settle(workspace, edges, one, keep)
            return Decided(_settlement(one, keep), written)
        case Standing() as one:
            _no_numbers(item, numbers)
            return Decided(settle_snapshot(workspace, edges, one, how))
        case Inbox() as one:
            return _accept_inbox(workspace, edges, one, numbers)
        case Held() as one:
            _no_numbers(item, numbers)
            agree_to(workspace, one)
            return Decided(f"{counted(len(one.leaves), 'memory')} may leave with the next git mem sync")
        case Waiting() as one:
            from gitmem.integrations.docs.review import refuse_accept

            raise refuse_accept(one)
        case Offered() as one:
            _no_numbers(item, numbers)
            return Decided(promotions.accept(workspace, edges, one, ask))
    save_all(workspace, edges)
    allow, who = allowed_fingerprints(workspace), author(workspace, edges)
    asked = asked_before(item.subject.scope, allow) if item.subject else ()
    landed = dreams.accept(
        workspace, item.id, numbers or None, who, edges.now, allow, asked, lookup(workspace, edges)
    )
    save_all(workspace, edges, everywhere=True)
    if landed.written:
        taken = [change for change in landed.dream.changes if change.n in landed.numbers]
        tell_landed(workspace.state, landed.dream.id, taken)
    return _landed("accepted", landed)


def reject(workspace: Workspace, edges: Edges, id: str, numbers: tuple[int, ...], why: str) -> Decided:
    """Rejects an item, or some of its changes; it is remembered and does not come back.

    Args:
        numbers: which changes of a dream, or which claims of a dispute are wrong.
        why: kept with the decision.
    """
    item = find_item(workspace, edges, id)
    match item.subject:
        case Suggestion() as one:
            _no_numbers(item, numbers)
            from gitmem.integrations.suggestions import reject_suggestion  # a look decides nothing

            reject_suggestion(workspace, edges, one, why)
            # An undo would lift the tombstone and not bring the suggestion back; remembering does both.
            return Decided(f"rejected {item.title}")
        case Dispute() as one:
            if not numbers:
                raise UsageError(f"Say which claim of {one.id} is wrong", f"git mem review show {one.id}")
            keep = tuple(n for n in range(1, len(one.claims) + 1) if n not in numbers)
            written = settle(workspace, edges, one, keep)
            return Decided(_settlement(one, keep), written)
        case Standing() as one:
            _no_numbers(item, numbers)
            return Decided(settle_snapshot(workspace, edges, one, "keep"))
        case Inbox() as one:
            return _reject_inbox(workspace, edges, one, numbers, why)
        case Held() as one:
            name = one.leaves[0].name
            raise UsageError(
                "What is to stay here belongs in another scope", f"Move it: git mem move {name} --to local"
            )
        case Waiting() as one:
            _no_numbers(item, numbers)
            from gitmem.integrations.docs.review import reject as reject_document

            return Decided(reject_document(workspace, edges, one))
        case Offered() as one:
            _no_numbers(item, numbers)
            return Decided(promotions.reject(workspace, edges, one, why))
    who = author(workspace, edges)
    landed = dreams.reject(workspace, item.id, numbers or None, why, who, edges.now)
    if landed.closed:
        withdraw_proposal(workspace.state, landed.dream.id)
    return _landed("rejected", landed)


def _accept_inbox(workspace: Workspace, edges: Edges, one: Inbox, numbers: tuple[int, ...]) -> Decided:
    short = short_name(one.branch)
    if one.closed:
        if numbers:
            raise UsageError(f"{short} is asked for whole")
        inbox_branches.ask_again(workspace, one)
        return Decided(f"the next git mem sync asks for {short} again")
    save_all(workspace, edges)
    who, allow = author(workspace, edges), allowed_fingerprints(workspace)
    open_question = held_back(workspace)
    written = inbox_branches.accept_inbox(workspace, one, numbers, who, allow)
    if written is not None and open_question is None:
        # It is at the remote already. With a question open, the next sync asks about all of it.
        agree(workspace, written.commit)
    save_all(workspace, edges, everywhere=True)
    what = ", ".join(map(str, sorted(set(numbers)))) + " of " if numbers else ""
    return Decided(f"took in {what}{short}; git mem sync sends it", written)


def _reject_inbox(
    workspace: Workspace, edges: Edges, one: Inbox, numbers: tuple[int, ...], why: str
) -> Decided:
    short = short_name(one.branch)
    if numbers:
        raise UsageError(f"{short} is turned down whole", f"Take in what is right of it: {one.id} N")
    if not one.closed:
        inbox_branches.reject_inbox(workspace, one)
        return Decided(f"turned down {short} as it stands; to its writer it says nothing, the host does")
    save_all(workspace, edges)
    written = inbox_branches.withdraw(workspace, one, author(workspace, edges), why)
    save_all(workspace, edges, everywhere=True)
    return Decided(f"withdrew what was asked for in {short}", written)


def _settlement(one: Dispute, keep: tuple[int, ...]) -> str:
    gone = [number for number in range(1, len(one.claims) + 1) if number not in keep]
    words = [
        f"{verb} {', '.join(map(str, numbers))}"
        for verb, numbers in (("kept", keep), ("dropped", gone))
        if numbers
    ]
    return f"settled {one.id}: {', '.join(words)}"


def _landed(verb: str, landed: dreams.Landed) -> Decided:
    changes = ", ".join(_runs(landed.numbers))
    left = "" if landed.closed else "; the others still wait"
    return Decided(f"{verb} {changes} of {landed.dream.id}{left}", landed.written)


def _runs(numbers: Iterable[int]) -> Iterator[str]:
    """Numbers as a person writes them: three and more in a row as `1-3`."""
    for _, run in groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        if len(found) > 2:
            yield f"{found[0]}-{found[-1]}"
        else:
            yield from map(str, found)


def _no_numbers(item: Item, numbers: tuple[int, ...]) -> None:
    if numbers:
        raise UsageError(f"{item.id} is one thing and has no numbers")
