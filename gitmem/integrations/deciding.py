"""A person's decision on something that waits: what it does, whichever kind of thing it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from gitmem.core.errors import UsageError
from gitmem.core.text import counted, one_line
from gitmem.dream import review as dreams
from gitmem.integrations.disputes import Dispute, settle
from gitmem.integrations.docs.waiting import Waiting
from gitmem.integrations.dreams.landed import tell_landed
from gitmem.integrations.dreams.sources import lookup
from gitmem.integrations.edges import Edges, allowed_fingerprints
from gitmem.integrations.last_recalls import asked_before
from gitmem.integrations.promoting import proposing as promotions
from gitmem.integrations.promoting.proposing import Offered
from gitmem.integrations.refresh import settle_snapshot
from gitmem.integrations.review import find_item
from gitmem.integrations.review_items import Item
from gitmem.integrations.saving import save_all
from gitmem.integrations.saying import withdraw_proposal
from gitmem.integrations.sharing import after_merge
from gitmem.share import inbox as inbox_branches
from gitmem.share.acceptance import accept_inbox
from gitmem.share.held import Held, agree_to
from gitmem.share.inbox import ACCEPTED, Inbox
from gitmem.share.leaving import right_place
from gitmem.share.snapshots import How, Standing
from gitmem.store.commits import Written
from gitmem.store.parked import Suggestion
from gitmem.store.remote import MEMORY_BRANCH, find_remote
from gitmem.store.repository import short_name
from gitmem.store.workspace import Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class Decided:
    """What a decision did.

    Attributes:
        line: it, for the person.
        commits: what an undo would take back, oldest first.
        notes: what else the person should know, a line each.
    """

    line: str
    commits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def accept(
    workspace: Workspace,
    edges: Edges,
    id: str,
    numbers: tuple[int, ...],
    ask: Callable[[str], None],
    how: How = "merge",
    *,
    allowed: bool = False,
) -> Decided:
    """Accepts an item, or some of its changes.

    Args:
        allowed: of a suggestion: what may be a secret may go into the project scope.
        ask: asks the person for consent to what would be public, and raises where there is none.
        numbers: which changes of a dream, or which claim of a dispute; empty for all.
        how: for a snapshot, `merge` or `replace`.
    """
    item = find_item(workspace, edges, id)
    match item.subject:
        case Suggestion() as one:
            _no_numbers(item, numbers)
            from gitmem.integrations.suggestions import accept_suggestion  # a look decides nothing

            written = accept_suggestion(workspace, edges, one, allowed=allowed)
            return Decided(
                f"stored {item.title}" if written else f"known already: {item.title}", _named(written)
            )
        case Dispute() as one:
            if not numbers:
                raise UsageError(
                    f"Say which claims of {one.id} stand (all of them, if each is true)",
                    f"See them: git mem review show {one.id}",
                )
            keep = numbers
            written = settle(workspace, edges, one, keep)
            return Decided(_settlement(one, keep), _named(written))
        case Standing() as one:
            _no_numbers(item, numbers)
            return Decided(settle_snapshot(workspace, edges, one, how))
        case Inbox() as one:
            return _accept_inbox(workspace, edges, one, numbers, id)
        case Held() as one:
            _no_numbers(item, numbers)
            if not one.leaves:
                raise UsageError("What is about a person is never shared", right_place(one.personal))
            agree_to(workspace, one)
            return Decided(f"{counted(len(one.leaves), 'memory')} may leave with the next git mem sync")
        case Waiting() as one:
            from gitmem.integrations.docs.review import refuse_accept

            raise refuse_accept(one)
        case Offered() as one:
            _no_numbers(item, numbers)
            return Decided(promotions.accept(workspace, edges, one, ask))
    save_all(workspace, edges)
    allow, who = allowed_fingerprints(workspace), workspace.author(edges.now)
    asked = asked_before(item.subject.scope, allow) if item.subject else ()
    landed = dreams.accept(
        workspace, item.id, numbers or None, who, edges.now, allow, asked, lookup(workspace, edges), ask
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
            return Decided(_settlement(one, keep), _named(written))
        case Standing() as one:
            _no_numbers(item, numbers)
            return Decided(settle_snapshot(workspace, edges, one, "keep"))
        case Inbox() as one:
            return _reject_inbox(workspace, edges, one, numbers, why)
        case Held() as one:
            name = (*one.leaves, *one.personal)[0].name
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
    who = workspace.author(edges.now)
    landed = dreams.reject(workspace, item.id, numbers or None, why, who, edges.now)
    if landed.closed:
        withdraw_proposal(workspace.state, landed.dream.id)
    return _landed("rejected", landed)


def _accept_inbox(
    workspace: Workspace, edges: Edges, one: Inbox, numbers: tuple[int, ...], id: str
) -> Decided:
    short = short_name(one.branch)
    if id != one.id:
        raise UsageError(f"Name it as it was shown: {one.id}", f"See it: git mem review show {one.id}")
    if one.closed:
        if numbers:
            raise UsageError(f"{short} is asked for whole")
        inbox_branches.ask_again(workspace, one)
        return Decided(f"the next git mem sync asks for {short} again")
    save_all(workspace, edges)
    who, allow = workspace.author(edges.now), allowed_fingerprints(workspace)
    remote = find_remote(workspace.git, workspace.top)
    done = accept_inbox(workspace, remote, one, numbers, who, allow)
    what = ", ".join(map(str, sorted(set(numbers)))) + " of " if numbers else ""
    notes = [f"taken out: {claim.path}: {_first_words(claim.old.text)}" for claim in done.gone if claim.old]
    notes += [f"stays forgotten: {path}: {_first_words(text)}" for path, text in done.buried]
    if done.stones:
        notes.append(f"marks {counted(done.stones, 'text')} as forgotten: no merge brings it back")
    if done.refused and not done.whole:
        save_all(workspace, edges, fresh=True)
        notes.append(f"{remote.name} protects {short_name(MEMORY_BRANCH)} ({done.refused})")
        notes.append("your own inbox asks for it: git mem sync")
        return Decided(f"took in {what}{short} here", (), tuple(notes))
    if done.refused:
        notes += _ask_host(workspace, edges, one, done.refused)
        return Decided(
            f"accepted {what}{short}; {remote.name} lets its own reviewers decide", (), tuple(notes)
        )
    notes += after_merge(workspace, edges)
    if not done.commits:
        return Decided(f"{short} was taken in already")
    if not done.sent:
        notes.append(
            f"{remote.name} is out of reach: git mem sync sends it (undo: git update-ref -d {ACCEPTED})"
        )
        return Decided(f"accepted {what}{short}", (), tuple(notes))
    return Decided(f"took in {what}{short}, on {short_name(MEMORY_BRANCH)} now", done.commits, tuple(notes))


def _ask_host(workspace: Workspace, edges: Edges, one: Inbox, why: str) -> list[str]:
    """Opens a request for what was accepted, where nobody may push it, or says where a person does."""
    from gitmem.integrations.requests import open_for_inbox  # it asks a host; most remotes take the push

    made = open_for_inbox(workspace, edges, one)
    where = made.url or f"a request from {made.branch} into {made.base} at {made.remote}"
    said = {"created": "opened", "updated": "asked for already"}.get(made.outcome, "open it")
    return [f"{one.remote} protects {made.base} ({why})", f"{said}: {where}"]


def _first_words(text: str) -> str:
    return one_line(" ".join(text.split()), 100)


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
    written = inbox_branches.withdraw(workspace, one, workspace.author(edges.now), why)
    save_all(workspace, edges, everywhere=True)
    return Decided(f"withdrew what was asked for in {short}", _named(written))


def _named(written: Written | None) -> tuple[str, ...]:
    return (written.commit,) if written else ()


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
    return Decided(f"{verb} {changes} of {landed.dream.id}{left}", _named(landed.written))


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
