"""Requests: a dream or this writer's inbox pushed to the shared remote, and put before its reviewers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gitmem.core.account import is_memory
from gitmem.core.errors import CheckFailed, RepositoryError, UsageError
from gitmem.core.text import counted
from gitmem.dream import review as dreams
from gitmem.dream.cards import Card, cards_of, claim_origins, summary_lines
from gitmem.flows.context import Edges
from gitmem.flows.exchange import synchronise
from gitmem.flows.exit import line
from gitmem.flows.pull_request_body import inbox_cards, request_body
from gitmem.flows.pull_request_host import GhFailed, Host, find_gh, find_host
from gitmem.git.command import config_get
from gitmem.git.refs import move_ref
from gitmem.git.remote import Remote
from gitmem.git.repository import RefMoved, short_name
from gitmem.git.trees import changed_files
from gitmem.ledger.decide import for_others, leave_off, local_branch
from gitmem.ledger.departure import prepare
from gitmem.ledger.inbox import Inbox, closed_at_host, inboxes, left, writer_branch
from gitmem.ledger.land import read_tip
from gitmem.ledger.push_plan import (
    Leaving,
    doubts_to_leave,
    leaving,
    refuse_personal,
    refuse_secrets,
)
from gitmem.ledger.remotes import find_remote
from gitmem.ledger.share import agree, agreed
from gitmem.ledger.side_branches import asked_for, forget_asked, note_asked, records_under, with_base
from gitmem.ledger.workspace import DREAMS, SHARED_REF, Workspace
from gitmem.rules.screen import doubt_told

_TITLE = 200
"""Terminal cells of a request's title; hosts show fewer."""

INBOX = "inbox"
"""What `review --open` calls this writer's own inbox."""

Ask = Callable[[tuple[Leaving, ...]], bool]
Outcome = Literal["created", "updated", "link", "branches", "planned"]


@dataclass(frozen=True)
class Request:
    """A request, and what became of it.

    Attributes:
        id: what review calls it: `inbox`, or a dream's id.
        branch, base: short names of the branch that asks, and of the one that it asks into.
        outcome: `link` where a person opens it at `url`, `branches` where not even a page is known.
        url: the request's address, or the page on which to open it; empty where none is known.
    """

    id: str
    remote: str
    branch: str
    base: str
    title: str
    body: str
    outcome: Outcome = "planned"
    url: str = ""


def open_request(
    workspace: Workspace, edges: Edges, id: str, ask: Ask, *, dry_run: bool = False
) -> Request:
    """Pushes what waits for a decision by others, and opens a request for it or updates the open one.

    Args:
        id: a dream's id or its beginning, or `inbox`; empty for the inbox, or the only dream.
        ask: whether memories that leave for the first time may.
        dry_run: fetch only, and return what would be asked.

    Raises:
        UsageError: it is not clear what to ask for.
        CheckFailed: sharing is off, nothing waits, or something may not leave.
        RepositoryError: the remote refuses.
    """
    if workspace.sharing == "off":
        raise CheckFailed("Sharing is off here: nothing leaves this machine", "Turn it on: git mem share")
    top = workspace.top
    remote = find_remote(workspace.git, top)
    found = _which(workspace, id)
    if found == INBOX:
        _ask_again(workspace, remote, dry_run)
    _exchange(workspace, edges, ask, dry_run)
    if found == INBOX:
        made = _of_inbox(workspace, remote, dry_run)
    else:
        made = _of_dream(workspace, edges, remote, found, ask, dry_run)
    return made if dry_run else opened(workspace, edges, remote, made)


def open_for_inbox(workspace: Workspace, edges: Edges, one: Inbox) -> Request:
    """Opens a request for a teammate's inbox as it stands at the remote, or updates the open one."""
    remote = find_remote(workspace.git, workspace.top)
    cards = inbox_cards(workspace.code, one.base, one.tip, one.proposals)
    short = short_name(one.branch)
    what = f"{counted(len(one.proposals), 'claim')} in {counted(len(one.memories), 'memory')}"
    intro = f"Asks to take in {what}, which a teammate has accepted."
    made = _request(remote, one.id, one.branch, f"{short}: {what}", cards, intro)
    return opened(workspace, edges, remote, made)


def _which(workspace: Workspace, id: str) -> str:
    """`inbox`, or the id of an open dream of the project."""
    known = [one.id for one in dreams.open_dreams(workspace) if one.scope.name == "project"]
    if id == INBOX:
        return INBOX
    if id:
        matches = [one for one in known if one == id] or [one for one in known if one.startswith(id)]
        if len(matches) == 1:
            return matches[0]
        own = next((one for one in inboxes(workspace) if one.closed and one.id.startswith(id)), None)
        if own is not None:
            return INBOX
        listed = ", ".join([INBOX, "docs", *known])
        raise UsageError(f"No request can be opened for {id!r}", f"It can for: {listed}.")
    if workspace.sharing == "review" or not known:
        return INBOX
    if len(known) == 1:
        return known[0]
    raise UsageError("Several dreams wait", f"Name one: {', '.join(known)}.")


def _ask_again(workspace: Workspace, remote: Remote, dry_run: bool) -> None:
    """A person who opens a request that was closed at the host asks anew."""
    mine = writer_branch(workspace)
    if not dry_run and closed_at_host(workspace.code, remote, mine) is not None:
        forget_asked(workspace.code, mine)


def _exchange(workspace: Workspace, edges: Edges, ask: Ask, dry_run: bool) -> None:
    done = synchronise(workspace, edges, ask, dry_run=dry_run)
    if done.held:
        held = ", ".join(map(str, done.held))
        raise CheckFailed(f"Held back: {held}", "Look at them, and say yes: git mem review --open -y")


def _of_inbox(workspace: Workspace, remote: Remote, dry_run: bool) -> Request:
    repo, branch = workspace.code, writer_branch(workspace)
    published = repo.ref(remote.tracking(SHARED_REF))
    tip = repo.ref(remote.tracking(branch))
    if dry_run and workspace.sharing == "review":
        # What the push would bring.
        tip = read_tip(repo, SHARED_REF).commit
    wanted = asked_for(repo, left(repo, published, tip), tip) if tip and published else ()
    if tip is None or published is None or not wanted:
        raise CheckFailed(
            f"Nothing of yours waits at {remote.name} for a decision",
            "What you learn for the team gets there with: git mem sync",
        )
    cards = inbox_cards(repo, left(repo, published, tip), tip, wanted)
    memories = len({one.path for one in wanted})
    short = short_name(branch)
    what = f"{counted(len(wanted), 'claim')} in {counted(memories, 'memory')}"
    id = Inbox(remote.name, branch, tip, published, wanted).id
    return replace(
        _request(remote, id, branch, f"{short}: {what}", cards, f"Asks to take in {what}."), id=INBOX
    )


def _of_dream(
    workspace: Workspace, edges: Edges, remote: Remote, id: str, ask: Ask, dry_run: bool
) -> Request:
    repo, allow = workspace.code, workspace.allowed
    dream = dreams.find_dream(workspace, id)
    questions = sum(
        change.asks
        for one in dreams.open_dreams(workspace)
        if one.scope == dream.scope and not one.incoming
        for change in one.open
    )
    published = repo.ref(remote.tracking(SHARED_REF))
    if published is None:
        raise CheckFailed(f"{remote.name} has no memory branch yet", "Send what is known: git mem sync")
    whole, dream = dream, for_others(dream)
    side = dream.tip
    for record in records_under(repo, repo.ref(SHARED_REF) or published, published, side):
        side = with_base(repo, side, record)
    asking = with_base(repo, side, published)
    prepared = prepare(repo, remote, asking)
    refuse_personal(prepared.held)
    tip = prepared.tip
    before, after = (repo.commit(oid).tree for oid in (published, tip))
    changed = changed_files(repo, before, after)
    _refuse_unpublished(changed, dream)
    cards = cards_of(dream.open, claim_origins(dream))
    what = counted(len(dream.open), "change")
    counts = "\n".join(f"- {line.strip()}" for line in summary_lines(dream.open))
    intro = f"A dream went through the memory and proposes {what}. Nothing else changes.\n\n{counts}"
    if questions:
        asks = "question is" if questions == 1 else "questions are"
        intro += f"\n\n{questions} {asks} asked on the machine that dreamt, and no part of this."
    branch = DREAMS + id
    made = _request(remote, id, branch, f"Dream {id}: {what}", cards, intro)
    if dry_run:
        return made
    there = repo.ref(remote.tracking(branch))
    if there != tip:
        consented = agreed(workspace)
        fresh = leaving(repo, tip, [published, *([consented] if consented else [])])
        refuse_secrets(repo, remote, [tip], allow)
        for one in doubts_to_leave(repo, before, after, changed, allow):
            edges.say(doubt_told(one, "leaves"))
        if fresh and not ask(fresh):
            raise CheckFailed(
                f"Held back: {', '.join(map(str, fresh))}",
                f"Look at them, and say yes: git mem review --open {id} -y",
            )
        if whole.tip != dream.tip:
            local_branch(whole)
        # What was pushed with more than others are asked about is replaced, but for what is not known here.
        known = there is not None and whole.tip != dream.tip and repo.is_ancestor(there, whole.tip)
        pushed = remote.push(tip, branch, there if known else None)
        if pushed.outcome != "pushed":
            short = short_name(branch)
            hint = "Ask whoever looks after the remote to allow branches named gitmem/dream/*."
            if pushed.outcome == "race":
                hint = "Somebody edited it meanwhile. Run it again."
            raise RepositoryError(f"{remote.name} refused {short}: {pushed.words}", hint)
        remote.note(repo, branch, tip)
    # A push that failed can be tried again: all is still here as it was.
    if whole.tip != dream.tip:
        leave_off(whole, dream.tip)
    if there != tip and fresh:
        agree(workspace, repo.ref(SHARED_REF) or tip)
    if not dream.incoming:
        note_asked(repo, branch, tip, published)
        _bring_up(workspace, dream, asking, tip)
    return made


def _bring_up(workspace: Workspace, dream: dreams.Dream, asking: str, tip: str) -> None:
    """Moves the branch here to what was pushed, unless it went elsewhere meanwhile.

    Args:
        asking: what was to be pushed, of which `tip` was prepared.
    """
    repo = workspace.code
    here = repo.ref(dream.ref)
    if here is not None and here != tip and repo.is_ancestor(here, asking):
        try:
            move_ref(repo, dream.ref, tip, here, "gitmem review: as pushed")
        except RefMoved:
            return


def _refuse_unpublished(changed: set[str], dream: dreams.Dream) -> None:
    """Raises where a request for a dream would ask for memories that are not the dream's."""
    own = {path for change in dream.changes for path in change.files}
    foreign = sorted(path for path in changed if is_memory(path) and path not in own)
    if foreign:
        raise CheckFailed(
            f"{dream.id} builds on memory that is not on the memory branch yet: {', '.join(foreign[:3])}",
            "Have that taken in first: git mem review --open inbox",
        )


def _request(
    remote: Remote, id: str, branch: str, title: str, cards: Sequence[Card], intro: str
) -> Request:
    base = short_name(SHARED_REF)
    short = short_name(branch)
    body = request_body(intro, cards, id)
    return Request(id, remote.name, short, base, line(title, _TITLE), body)


def opened(workspace: Workspace, edges: Edges, remote: Remote, made: Request) -> Request:
    """Opens a request for what was pushed, or finds the page on which a person does."""
    host = _host(workspace, remote)
    if host is None:
        return replace(made, outcome="branches")
    if host.kind == "github":
        gh = find_gh(edges.environ, workspace.layout.worktree, workspace.state)
        if gh is not None:
            try:
                outcome, url = gh.open(host, made.base, made.branch, made.title, made.body)
            except GhFailed as failure:
                edges.say(f"gh opened no request: {failure}")
            else:
                return replace(made, outcome="created" if outcome == "created" else "updated", url=url)
    return replace(made, outcome="link", url=host.link(made.base, made.branch))


def _host(workspace: Workspace, remote: Remote) -> Host | None:
    """The host, by the address as the person gave it, else as git makes it out."""
    where = workspace.layout.common_dir
    given = config_get(workspace.git, None, f"remote.{remote.name}.url", git_dir=where) or ""
    found = find_host(given)
    if found is not None:
        return found
    done = workspace.git.run(["remote", "get-url", "--", remote.name], git_dir=where, check=False)
    return find_host(done.text.partition("\n")[0]) if done.returncode == 0 else None
