"""A person's decision on something that waits: what it does, whichever kind of thing it is."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from typing import Any, Literal

from gitmem.core.change import Change
from gitmem.core.errors import CheckFailed, Declined, GitmemError, UsageError
from gitmem.core.text import counted, one_line
from gitmem.core.trailers import BATCH_JOB
from gitmem.dream import review as dreams
from gitmem.dream.review import Answer
from gitmem.flows import promotions
from gitmem.flows.context import Edges
from gitmem.flows.disputes import Dispute, settle
from gitmem.flows.document_branch import WaitingDocument
from gitmem.flows.dream_sources import evidence
from gitmem.flows.exchange import after_merge
from gitmem.flows.json_values import sound
from gitmem.flows.notices import withdraw_proposal
from gitmem.flows.promotions import OfferedPromotion
from gitmem.flows.review import pick, queue
from gitmem.flows.review_items import ReviewItem
from gitmem.flows.save import copies_of, save_all
from gitmem.flows.snapshots import settle_snapshot
from gitmem.flows.suggestions import TurnedDown, accept_suggestions, bury, reject_suggestions
from gitmem.flows.undo import note_decided
from gitmem.git.repository import Signature, short_name
from gitmem.ledger import imports
from gitmem.ledger import inbox as inbox_branches
from gitmem.ledger.acceptance import accept_inbox
from gitmem.ledger.consent import ForeignPurge
from gitmem.ledger.dreams import Dream
from gitmem.ledger.epochs import FORMER_DAYS
from gitmem.ledger.imports import Import
from gitmem.ledger.inbox import ACCEPTED, Inbox
from gitmem.ledger.land import Written
from gitmem.ledger.push_plan import right_place
from gitmem.ledger.remotes import find_remote
from gitmem.ledger.share import HeldBack, agree_to
from gitmem.ledger.side_branches import forget_asked
from gitmem.ledger.snapshot_intake import How, SnapshotState
from gitmem.ledger.suggestions import Suggestion
from gitmem.ledger.workspace import SHARED_REF, Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class Decided:
    """What a decision did.

    Attributes:
        line: it, for the person.
        commits: what an undo would take back, oldest first.
        notes: what else the person should know, a line each.
        undo: the commands that take back what no commit tells.
    """

    line: str
    commits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()

    def as_value(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "done": sound(self.line),
            "commit": self.commits[-1] if self.commits else None,
            "notes": list(map(sound, self.notes)),
            "undo": list(map(sound, self.undo)),
        }


Verdict = Literal["accept", "reject"]

DIFFERENT = "They are different things."
"""Why a question on two claims is rejected: it is not asked again."""


@dataclass(frozen=True)
class ItemChoice:
    """What a person says about one item.

    Attributes:
        numbers: of a dream's changes, an inbox's memories or a dispute's claims; empty for all.
        why: of a rejection, kept with it.
        at: a dream's newest commit as it was shown, or the beginning of its name; empty for any.
        answer: to these questions of a dream; None to accept them as they stand.
    """

    id: str
    verdict: Verdict = "accept"
    numbers: tuple[int, ...] = ()
    why: str = ""
    at: str = ""
    answer: Answer | None = None

    @property
    def answers(self) -> dict[int, Answer]:
        """Number of a question to what was said of it."""
        return dict.fromkeys(self.numbers, self.answer) if self.answer else {}


@dataclass(frozen=True)
class Batch:
    """What several decisions did, each on its own.

    Attributes:
        line: all of it, for the person.
        done: what was decided, and what came of it.
        failed: ids that go on waiting, and why.
        undo: commits to be named to `git mem undo`: the first takes back all that share its batch.
    """

    line: str
    done: tuple[tuple[ItemChoice, ReviewItem, Decided], ...]
    failed: tuple[tuple[str, GitmemError], ...]
    undo: tuple[str, ...]

    def as_value(self, left: Iterable[ReviewItem] = ()) -> dict[str, Any]:
        """The JSON form.

        Args:
            left: what was to be decided by name, and so was not.
        """
        return {
            "done": sound(self.line),
            "decided": [
                {"id": item.id, "verdict": choice.verdict} | made.as_value()
                for choice, item, made in self.done
            ],
            "failed": [
                {
                    "id": sound(id),
                    "kind": error.kind,
                    "message": sound(error.message),
                    "hint": sound(error.hint),
                }
                for id, error in self.failed
            ],
            "left": [item.id for item in left],
            "undo": list(self.undo),
        }


@dataclass(frozen=True)
class DecidingSession:
    """What a person decides with.

    Attributes:
        ask: asks them for consent to what would be public, and raises where there is none.
        how: the way in which a snapshot is taken in.
        allowed: whether they said that what may be a secret may go into the project scope.
        edited: what they made of a suggestion, by its id; that is stored instead.
    """

    workspace: Workspace
    edges: Edges
    ask: Callable[[str], None]
    how: How = "merge"
    allowed: bool = False
    edited: Mapping[str, Change] = field(default_factory=dict)


@dataclass(frozen=True)
class ItemDecision:
    """One choice to be carried out.

    Attributes:
        job: what is undone together; empty for none.
    """

    session: DecidingSession
    choice: ItemChoice
    job: str = ""

    @property
    def place(self) -> tuple[Workspace, Edges]:
        """Where it is decided, and with what effects."""
        return self.session.workspace, self.session.edges

    def of(self, name: str) -> str:
        """What is decided of something: its numbers, or all of it."""
        return f"{', '.join(_runs({*self.choice.numbers}))} of {name}" if self.choice.numbers else name

    @property
    def author(self) -> Signature:
        """The person, at the present."""
        return self.session.workspace.author(self.session.edges.now)


Decision = Callable[[Any, ItemDecision], Decided]
"""What a kind does with one of its things."""


@dataclass(frozen=True)
class Kind:
    """How one kind of what waits is decided.

    Attributes:
        accept, reject: None where those of a batch are decided together (`_decide_suggestions`), or never
            so (`chosen`).
        numbered: whether a part of one can be decided, by its number.
        in_bulk: whether it may be decided without being named: a yes or no says it all, and what comes
            of it stays here. A dispute asks which claims stand, and an inbox or what is about to leave
            concerns others.
        undone_together: whether a decision is a commit of memory alone, which takes the batch's name along.
    """

    accept: Decision | None = None
    reject: Decision | None = None
    numbered: bool = False
    in_bulk: bool = False
    undone_together: bool = False


def unite_choices(choices: Iterable[ItemChoice]) -> tuple[ItemChoice, ...]:
    """Choices as they are carried out: what is said alike of parts of one item is said once, in order."""
    numbers: dict[ItemChoice, set[int]] = {}
    for one in choices:
        numbers.setdefault(replace(one, numbers=()), set()).update(one.numbers)
    return tuple(replace(one, numbers=tuple(sorted(some))) for one, some in numbers.items())


def decide(session: DecidingSession, items: Iterable[ReviewItem], choices: Sequence[ItemChoice]) -> Batch:
    """Decides on items, one undo for all; one that cannot be decided holds up no other.

    Suggestions of one scope are landed together, the rest in the order given. Changes of a dream land
    together; where they cannot, each by itself, and what is left is named with its number.

    Args:
        items: what waits now.
    """
    items = list(items)
    job = _job(choices, session.edges.now) if len(choices) > 1 else ""
    failed: list[tuple[str, GitmemError]] = []
    found: list[tuple[ItemChoice, ReviewItem]] = []
    for choice in dict.fromkeys(choices):
        try:
            found.append((choice, chosen(items, choice)))
        except UsageError as error:
            failed.append((choice.id, error))
    done = _decide_suggestions(session, found, failed, job)
    number = 0
    for choice, item in found:
        kind = KINDS[item.kind]
        verb = kind.accept if choice.verdict == "accept" else kind.reject
        if verb is None:
            continue
        number += 1
        try:
            part = f"{job}.{item.kind}{number}" if job else ""
            done.append((choice, item, verb(item.subject, ItemDecision(session, choice, part))))
        except CheckFailed as error:
            # Elsewhere than in a dream a number means another thing once some are decided.
            if item.kind != "dream" or isinstance(error, Declined):
                failed.append((choice.id, error))
                continue
            job = job or _job(choices, session.edges.now)
            landed, left = _each(verb, item, ItemDecision(session, choice, f"{job}.{item.kind}{number}"))
            done += landed
            failed += left if landed else [(choice.id, error)]
        except GitmemError as error:
            failed.append((choice.id, error))
    undos = [word for _, _, made in done for word in made.undo]
    note_decided(session.workspace.state, session.edges.now, undos)
    return Batch(_told(done), tuple(done), tuple(failed), _undo(done))


def chosen(items: Iterable[ReviewItem], choice: ItemChoice) -> ReviewItem:
    """The item that a choice names.

    Args:
        items: what waits now.

    Raises:
        UsageError: there is none, or it is decided otherwise.
    """
    item = pick(items, choice.id)
    if choice.numbers and not KINDS[item.kind].numbered:
        raise UsageError(f"{item.id} is one thing and has no numbers")
    if choice.answer and (item.kind != "dream" or not choice.numbers):
        raise UsageError(f"--{choice.answer} answers questions of a dream", "Name them: ID N")
    if choice.at and item.kind != "dream":
        raise UsageError(f"{item.id} is no dream: --at names the commit of one that was shown")
    if isinstance(item.subject, WaitingDocument) and choice.verdict == "accept":
        from gitmem.flows.document_branch import refuse_accept  # it compares texts: seldom

        raise refuse_accept(item.subject)
    whole = item.kind == "purge" or (item.kind == "inbox" and choice.verdict == "accept")
    if whole and choice.id != item.id:
        raise UsageError(f"Name it as it was shown: {item.id}", f"See it: git mem review show {item.id}")
    if item.kind == "dispute" and not choice.numbers:
        which = "claims of {} stand (all of them, if each is true)"
        if choice.verdict == "reject":
            which = "claim of {} is wrong"
        numbers = f"by their numbers in: git mem review show {item.id}"
        raise UsageError(
            f"Say which {which.format(item.id)}",
            f"git mem review {choice.verdict} {item.id} N..., {numbers}",
        )
    return item


def _each(
    verb: Decision, item: ReviewItem, asked: ItemDecision
) -> tuple[list[tuple[ItemChoice, ReviewItem, Decided]], list[tuple[str, GitmemError]]]:
    """Decides on parts of an item one by one: what lands, and what does not."""
    done: list[tuple[ItemChoice, ReviewItem, Decided]] = []
    failed: list[tuple[str, GitmemError]] = []
    for n in asked.choice.numbers if len(asked.choice.numbers) > 1 else ():
        one = replace(asked.choice, numbers=(n,))
        try:
            done.append((one, item, verb(item.subject, replace(asked, choice=one, job=f"{asked.job}.{n}"))))
        except GitmemError as error:
            failed.append((f"{item.id} {n}", error))
    return done, failed


def decide_one(session: DecidingSession, choice: ItemChoice) -> Decided:
    """Decides on one item, or on some of its changes.

    Raises:
        GitmemError: it cannot be decided so.
    """
    batch = decide(session, queue(session.workspace, session.edges), [choice])
    for _, error in batch.failed:
        raise error
    return batch.done[0][2]


def bulk(
    items: Iterable[ReviewItem], kind: str = "", who: str = ""
) -> tuple[list[ReviewItem], list[ReviewItem]]:
    """What of a queue may be decided without being named, and what of it is to be named.

    Args:
        kind: empty for all that may be decided so.
        who: one of `ReviewItem.by`, in full, up to its first colon, or by the first 8 or more letters.
    """
    wanted = [
        item
        for item in items
        if item.id and kind in ("", item.kind) and (not who or any(_is(who, one) for one in item.by))
    ]
    plain = [item for item in wanted if KINDS[item.kind].in_bulk]
    return plain, [item for item in wanted if not KINDS[item.kind].in_bulk]


def _is(who: str, one: str) -> bool:
    given, known = who.casefold(), one.casefold()
    return given in (known, known.partition(":")[0]) or (len(given) >= 8 and known.startswith(given))


def _job(choices: Sequence[ItemChoice], now: float) -> str:
    said = "\0".join(f"{one.verdict} {one.id} {one.numbers}" for one in choices)
    return f"{BATCH_JOB}{hashlib.sha256(said.encode('utf-8', 'replace')).hexdigest()[:8]}-{int(now)}"


def _decide_suggestions(
    session: DecidingSession,
    found: Sequence[tuple[ItemChoice, ReviewItem]],
    failed: list[tuple[str, GitmemError]],
    job: str,
) -> list[tuple[ItemChoice, ReviewItem, Decided]]:
    workspace, edges = session.workspace, session.edges
    done: list[tuple[ItemChoice, ReviewItem, Decided]] = []
    mine = [each for each in found if isinstance(each[1].subject, Suggestion)]
    for (verdict, why), group in groupby(sorted(mine, key=_said), _said):
        by_id = {item.id: (choice, item) for choice, item in group}
        many = [item.subject for _, item in by_id.values() if isinstance(item.subject, Suggestion)]
        if verdict == "accept":
            settled = accept_suggestions(
                workspace, edges, many, allowed=session.allowed, job=job, edited=session.edited
            )
        else:
            part = f"{job}.{len(done)}" if job else ""
            settled = reject_suggestions(workspace, edges, many, why, job=part)
        for each in settled:
            choice, item = by_id[each.one.id]
            if each.error is not None:
                failed.append((item.id, each.error))
            else:
                said = "rejected" if verdict == "reject" else "stored" if each.written else "known already:"
                made = Decided(f"{said} {item.title}", _named(each.written))
                done.append((choice, item, made))
    return done


def _said(pair: tuple[ItemChoice, ReviewItem]) -> tuple[Verdict, str]:
    return pair[0].verdict, pair[0].why


def _told(done: Sequence[tuple[ItemChoice, ReviewItem, Decided]]) -> str:
    """How many of each kind, in the order in which they were decided; of a dream, how many changes."""
    verbs = {"accept": "accepted", "reject": "rejected"}
    parts = []
    for verdict, verb in verbs.items():
        kinds: Counter[str] = Counter()
        for choice, item, _ in done:
            if choice.verdict == verdict and item.kind == "dream" and choice.numbers:
                kinds["change"] += len(choice.numbers)
            elif choice.verdict == verdict:
                kinds[item.kind] += 1
        if kinds:
            parts.append(f"{verb} {', '.join(counted(number, kind) for kind, number in kinds.items())}")
    known = sum(made.line.startswith("known already") for _, _, made in done)
    if known:
        parts.append(f"{known} known already")
    return "; ".join(parts) or "nothing was decided"


def _undo(done: Sequence[tuple[ItemChoice, ReviewItem, Decided]]) -> tuple[str, ...]:
    together: list[str] = []
    alone: list[str] = []
    for _, item, made in done:
        (together if KINDS[item.kind].undone_together else alone).extend(made.commits)
    return (*together[-1:], *reversed(alone))


def _accept_dream(one: Dream, asked: ItemDecision) -> Decided:
    workspace, edges = asked.place
    landed = dreams.accept(
        workspace,
        one.id,
        asked.choice.numbers or None,
        asked.author,
        edges.now,
        evidence(workspace, edges, one.scope),
        asked.session.ask,
        asked.job,
        copies_of(workspace, edges),
        asked.choice.at,
        asked.choice.answers,
    )
    if landed.written:
        withdraw_proposal(workspace.state, landed.dream.id)
    return _landed("accepted", landed)


def _reject_dream(one: Dream, asked: ItemDecision) -> Decided:
    (workspace, edges), choice = asked.place, asked.choice
    landed = dreams.reject(
        workspace,
        one.id,
        choice.numbers or None,
        choice.why,
        asked.author,
        edges.now,
        asked.job,
        choice.at,
    )
    if landed.closed:
        withdraw_proposal(workspace.state, landed.dream.id)
    done = _landed("rejected", landed)
    if one.remote and not one.incoming and not landed.closed:
        told = (
            f"{one.remote} still asks others about it; to take it out there: git mem review open {one.id}"
        )
        return replace(done, notes=(told,))
    return done


def _landed(verb: str, landed: dreams.Landed) -> Decided:
    changes = ", ".join(_runs(landed.numbers))
    left = "" if landed.closed else "; the others still wait"
    return Decided(f"{verb} {changes} of {landed.dream.id}{left}", _named(landed.written))


def _accept_promotion(one: OfferedPromotion, asked: ItemDecision) -> Decided:
    line = promotions.accept(*asked.place, one, asked.session.ask)
    return Decided(line, undo=(f"git mem demote {shlex.quote(one.at.address)}",))


def _reject_promotion(one: OfferedPromotion, asked: ItemDecision) -> Decided:
    written = promotions.reject(*asked.place, one, asked.choice.why, asked.job)
    return Decided(f"{one.at.address} stays a memory; it is not proposed again", _named(written))


def _accept_dispute(one: Dispute, asked: ItemDecision) -> Decided:
    return _settled(one, asked.choice.numbers, asked)


def _reject_dispute(one: Dispute, asked: ItemDecision) -> Decided:
    keep = tuple(n for n in range(1, len(one.claims) + 1) if n not in asked.choice.numbers)
    return _settled(one, keep, asked)


def _accept_snapshot(one: SnapshotState, asked: ItemDecision) -> Decided:
    line, written = settle_snapshot(*asked.place, one, asked.session.how)
    return Decided(line, _named(written) if asked.session.how != "keep" else ())


def _reject_snapshot(one: SnapshotState, asked: ItemDecision) -> Decided:
    return Decided(settle_snapshot(*asked.place, one, "keep")[0])


def _accept_leaving(one: HeldBack, asked: ItemDecision) -> Decided:
    if not one.leaves:
        raise UsageError("What is about a person is never shared", right_place(one.personal))
    agree_to(asked.session.workspace, one)
    return Decided(f"{counted(len(one.leaves), 'memory')} may leave with the next git mem sync")


def _reject_leaving(one: HeldBack, _: ItemDecision) -> Decided:
    name = (*one.leaves, *one.personal)[0].name
    raise UsageError(
        "What is to stay here belongs in another scope", f"Move it: git mem move {name} --to local"
    )


def _reject_document(one: WaitingDocument, asked: ItemDecision) -> Decided:
    from gitmem.flows.document_branch import reject  # as above

    return Decided(reject(*asked.place, one))


def _accept_purge(one: ForeignPurge, asked: ItemDecision) -> Decided:
    from gitmem.flows.purge import IN_PRIVATE, take_purge  # a purge is seldom

    taken, in_private = take_purge(*asked.place, one)
    notes = [f"{counted(taken.carried.replayed, 'commit')} of yours carried over"] if taken.carried else []
    notes += [f"not carried over, as it was purged: {path}" for path in taken.lost]
    if in_private:
        notes.append(IN_PRIVATE)
    if taken.carried and taken.carried.former:
        notes.append(f"what was replaced stays here for {FORMER_DAYS} days: git mem undo {one.id}")
    notes.append("what is yours: git mem sync")
    return Decided(f"took the purge at {one.remote}", (), tuple(notes))


def _reject_purge(one: ForeignPurge, asked: ItemDecision) -> Decided:
    from gitmem.flows.purge import turn_down_purge  # a purge is seldom

    turn_down_purge(*asked.place, one)
    return Decided(f"put the history back at {one.remote}", notes=("what is yours: git mem sync",))


def _accept_inbox(one: Inbox, asked: ItemDecision) -> Decided:
    (workspace, edges), numbers = asked.place, asked.choice.numbers
    short = short_name(one.branch)
    if one.closed:
        if numbers:
            raise UsageError(f"{short} was closed whole")
        forget_asked(workspace.code, one.branch)
        return Decided(f"the next git mem sync asks for {short} again")
    save_all(workspace, edges)
    remote = find_remote(workspace)
    done = accept_inbox(workspace, remote, one, numbers, asked.author, workspace.allowed)
    what, made = asked.of(short), (done.commit,) if done.commit else ()
    notes = [f"taken out: {claim.path}: {_first_words(claim.old.text)}" for claim in done.gone if claim.old]
    notes += [f"stays forgotten: {path}: {_first_words(text)}" for path, text in done.buried]
    notes += [f"left in the inbox: {path!a}: {why}" for path, why in sorted(done.aside.items())]
    if done.stones:
        notes.append(f"marks {counted(done.stones, 'text')} as forgotten: no merge brings it back")
    if done.refused and not done.whole:
        save_all(workspace, edges, fresh=True)
        notes.append(f"{remote.name} protects {short_name(SHARED_REF)} ({done.refused})")
        notes.append("your own inbox asks for it: git mem sync")
        return Decided(f"took in {what} here", made, tuple(notes))
    if done.refused:
        notes += _ask_host(workspace, edges, one, done.refused)
        line = f"accepted {what}; {remote.name} lets its own reviewers decide"
        return Decided(line, (), tuple(notes), (f"git mem undo {one.id}",))
    notes += after_merge(workspace, edges)
    if not made:
        return Decided(f"{short} was merged already")
    if not done.sent:
        kept = workspace.code.ref(ACCEPTED) or ""
        notes.append(f"{remote.name} is out of reach: git mem sync sends it")
        return Decided(f"accepted {what}", (), tuple(notes), (f"git mem undo {kept[:12]}",))
    return Decided(f"took in {what}, on {short_name(SHARED_REF)} now", made, tuple(notes))


def _ask_host(workspace: Workspace, edges: Edges, one: Inbox, why: str) -> list[str]:
    """Opens a request for what was accepted, where nobody may push it, or says where a person does."""
    from gitmem.flows.pull_request import open_for_inbox  # it asks a host; most remotes take the push

    made = open_for_inbox(workspace, edges, one)
    where = made.url or f"a request from {made.branch} into {made.base} at {made.remote}"
    said = {"created": "opened", "updated": "asked for already"}.get(made.outcome, "open it")
    return [f"{one.remote} protects {made.base} ({why})", f"{said}: {where}"]


def _accept_import(one: Import, asked: ItemDecision) -> Decided:
    (workspace, edges), numbers = asked.place, asked.choice.numbers
    hold = one.scope == "project" and not asked.session.allowed
    allow, copies = workspace.allowed, copies_of(workspace, edges)
    written, buried = imports.accept(
        workspace, one, numbers, asked.author, copies, allow, hold=hold, job=asked.job
    )
    notes = tuple(f"stays forgotten: {path}: {_first_words(text)}" for path, text in buried)
    what = asked.of(one.id)
    return Decided(f"accepted {what}" if written else f"known already: {what}", _named(written), notes)


def _reject_import(one: Import, asked: ItemDecision) -> Decided:
    rows, rest = imports.chosen(one, asked.choice.numbers)
    turned = [TurnedDown(one.id, row.name, row.agent, row.keys()) for row in rows]
    written = bury(*asked.place, one.scope, turned, asked.choice.why, asked.job, "imported memory")
    imports.settle(one, rest, "rejected")
    return Decided(f"rejected {asked.of(one.id)}; no later import brings it", _named(written))


def _first_words(text: str) -> str:
    return one_line(" ".join(text.split()), 100)


def _reject_inbox(one: Inbox, asked: ItemDecision) -> Decided:
    (workspace, edges), numbers = asked.place, asked.choice.numbers
    short = short_name(one.branch)
    if not one.closed:
        id = inbox_branches.reject_inbox(workspace, one, numbers, asked.author)
        line = (
            f"rejected {asked.of(short)} as it stands; gitmem does not tell its writer: say so at the host"
        )
        return Decided(line, undo=(f"git mem undo {id}",))
    if numbers:
        raise UsageError(f"{short} was closed whole")
    copies = copies_of(workspace, edges)
    written = inbox_branches.withdraw(workspace, one, asked.author, asked.choice.why, copies)
    return Decided(f"withdrew what was asked for in {short}", _named(written))


def _named(written: Written | None) -> tuple[str, ...]:
    return (written.commit,) if written else ()


def _settled(one: Dispute, keep: tuple[int, ...], asked: ItemDecision) -> Decided:
    written = settle(*asked.place, one, keep, asked.job)
    gone = [number for number in range(1, len(one.claims) + 1) if number not in keep]
    words = [
        f"{verb} version{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
        for verb, numbers in (("kept", keep), ("dropped", gone))
        if numbers
    ]
    return Decided(f"settled {one.id}: {', '.join(words)}", _named(written))


def _runs(numbers: Iterable[int]) -> Iterator[str]:
    """Numbers as a person writes them: three and more in a row as `1-3`."""
    for _, run in groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        if len(found) > 2:
            yield f"{found[0]}-{found[-1]}"
        else:
            yield from map(str, found)


KINDS: Mapping[str, Kind] = {
    "suggestion": Kind(in_bulk=True, undone_together=True),
    "dream": Kind(_accept_dream, _reject_dream, numbered=True, in_bulk=True, undone_together=True),
    "import": Kind(_accept_import, _reject_import, numbered=True, in_bulk=True, undone_together=True),
    "promotion": Kind(_accept_promotion, _reject_promotion, in_bulk=True, undone_together=True),
    "snapshot": Kind(_accept_snapshot, _reject_snapshot, in_bulk=True),
    "dispute": Kind(_accept_dispute, _reject_dispute, numbered=True, undone_together=True),
    "inbox": Kind(_accept_inbox, _reject_inbox, numbered=True),
    "leaving": Kind(_accept_leaving, _reject_leaving),
    "document": Kind(None, _reject_document),
    "purge": Kind(_accept_purge, _reject_purge),
}
"""All that has an id in the queue."""
