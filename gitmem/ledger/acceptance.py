"""Accepting a teammate's inbox: a person's decision, merged into the memory branch and pushed there.

What this clone learned and nobody has accepted yet stays out of it, so it is made beside the memory ref,
and comes to memory here as all that the memory branch holds does. Where the remote cannot be reached it
waits for the next sync.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from gitmem.core import attributes, tombstone
from gitmem.core.account import BranchChange, claims_at, is_memory, proposals, speaks
from gitmem.core.daily_log import line_keys, split, stones_of, with_every_line
from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.merge import merge_trees
from gitmem.core.names import agent_folder, is_agent_folder, is_log
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.git.locks import writer_lock
from gitmem.git.refs import move_ref, try_move_ref
from gitmem.git.remote import IN_THE_WAY, Pushed, Remote
from gitmem.git.repository import Repository, Signature, own, short_name
from gitmem.git.trees import changed_files, list_files, read_paths, write_tree
from gitmem.ledger.arrival import check_arrival, take_in
from gitmem.ledger.consent import Peer
from gitmem.ledger.epochs import epoch_of, refuse_other
from gitmem.ledger.inbox import ACCEPTED, AWAITED, MESSAGE, Inbox, decided, end_accepted, note_of
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import Ref, Tip, Write, land, signer
from gitmem.ledger.merge import merge_commits, set_aside
from gitmem.ledger.save_plan import describe
from gitmem.ledger.side_branches import adds_nothing, merge_side
from gitmem.ledger.workspace import SHARED_REF, Workspace
from gitmem.rules.profiles import judge
from gitmem.rules.rule import PLAIN, File, Revision, RuleContext, side_of
from gitmem.values import dataclass

TRIES = 16
"""Lost races after which what was accepted waits for the next sync."""

_ASIDE_HINT = "Have whoever wrote it mend that, or leave it: git mem review reject ID -m WHY"

BARRED = ("secret", "path", "scope")
"""Rules that no acceptance answers for; what else a request is told of, the person has read and decided."""


@dataclass(frozen=True)
class Accepted:
    """What was accepted.

    Attributes:
        commit: the merge on the memory branch; empty where it has all of it already.
        gone: claims that it takes out.
        buried: (path, text) of claims that go because the teammate forgot what they were made of.
        stones: number of texts that it marks as forgotten.
        whole: whether it is all that the inbox asked for.
        sent: whether it is on the memory branch at the remote.
        refused: why the remote lets nobody push that branch; hostile text, empty where it does.
        aside: path to why a file of it has no place in memory, and stays in the inbox.
    """

    commit: str
    gone: tuple[BranchChange, ...] = ()
    buried: tuple[tuple[str, str], ...] = ()
    stones: int = 0
    whole: bool = True
    sent: bool = False
    refused: str = ""
    aside: Mapping[str, str] = field(default_factory=dict)


def accept_inbox(
    workspace: Workspace,
    remote: Remote,
    inbox: Inbox,
    numbers: tuple[int, ...],
    author: Signature,
    allow: frozenset[str] = frozenset(),
) -> Accepted:
    """Merges an inbox branch, or some of its memories, into the memory branch, and pushes that.

    Args:
        inbox: as it was shown.
        numbers: which memories; empty for all.
        author: the person, at the present.
        allow: fingerprints of accepted secrets.

    Raises:
        UsageError: there is no memory with such a number.
        CheckFailed: it is gone at the remote, or brings a secret or a memory about a person.
        RepositoryError: a newer format, a history that was rewritten, or a remote that refuses for another
            reason than that the branch is protected.
    """
    repo = workspace.code
    asked = frozenset(inbox.chosen(numbers))
    check_arrival(repo, inbox.tip, inbox.branch)
    aside = set_aside(repo, [repo.commit(inbox.tip).tree], asked)
    paths = asked - aside.keys()
    if aside and not paths:
        path, why = min(aside.items())
        raise RepositoryError(f"{path!a} may not be in a memory tree: {why}", _ASIDE_HINT)
    # What has no place in memory is left in the inbox: its writer gives it one.
    whole = inbox.whole and paths == frozenset(inbox.memories)
    with writer_lock(workspace.state, "sync", timeout=120.0):
        reachable = _fetched(repo, remote, inbox)
        onto = decided(repo, remote)
        refuse_other(repo, onto, inbox.tip)
        if repo.is_ancestor(inbox.tip, onto):
            return Accepted("")
        plan = _Plan(repo, inbox, onto, paths, whole)
        plan.judge(allow)
        commit = plan.commit(author)
        if whole:
            note = note_of(inbox.branch)
            try_move_ref(repo, note, inbox.tip, repo.ref(note), MESSAGE)
        made = Accepted(commit, plan.gone, plan.buried, plan.stones, whole, aside=aside)
        if not reachable:
            return made
        pushed = publish(workspace, remote, allow, author.time)
        refused = pushed.words if pushed is not None and pushed.outcome == "refused" else ""
        return replace(made, sent=not refused, refused=refused)


def publish(workspace: Workspace, remote: Remote, allow: frozenset[str], now: float) -> Pushed | None:
    """Pushes what was accepted here onto the memory branch as it was fetched; a lost race is run again.

    Where the branch is protected, whole inboxes are left to the host's reviewers, as they stand there. What
    was chosen of one goes into the memory here, and is asked for as what this clone learned is.

    Args:
        now: seconds since the epoch.

    Returns:
        What became of it; None where nothing waited.

    Raises:
        RepositoryError: the remote cannot be reached, or refuses for another reason.
    """
    repo = workspace.code
    for _ in range(TRIES):
        accepted, theirs = repo.ref(ACCEPTED), repo.ref(remote.tracking(SHARED_REF))
        if accepted is None:
            return None
        if theirs is not None and epoch_of(repo, theirs) != epoch_of(repo, accepted):
            # Its writer brings it over the purge, and it is decided on again.
            end_accepted(repo, accepted)
            return None
        tip = merge_commits(repo, accepted, theirs).commit if theirs else accepted
        pushed = Pushed("pushed") if tip == theirs else remote.push(tip, SHARED_REF)
        if pushed.outcome == "pushed":
            remote.note(repo, SHARED_REF, tip)
            end_accepted(repo, accepted)
            return pushed
        if pushed.outcome == "refused":
            if not pushed.protected or IN_THE_WAY in pushed.words:
                end_accepted(repo, accepted)
                raise RepositoryError(
                    f"{remote.name} refused {short_name(SHARED_REF)}: {pushed.words}",
                    "Nothing was merged: it waits in git mem review as before.",
                )
            _leave_to_host(repo, remote, accepted, theirs, allow, now)
            return pushed
        remote.fetch()
    raise RepositoryError(f"{remote.name} kept moving under {TRIES} pushes", "Run: git mem sync")


class _Plan:
    """What one acceptance makes of the memory branch.

    Attributes:
        before, after: the files that it changes, as far as they hold claims; path to content.
        gone: claims that it takes out.
        stones: number of texts that it marks as forgotten, once it was committed.
    """

    stones = 0

    def __init__(
        self, repo: Repository, inbox: Inbox, onto: str, chosen: frozenset[str], whole: bool
    ) -> None:
        self.repo, self.inbox, self.onto, self.whole = repo, inbox, onto, whole
        self.tree = repo.commit(onto).tree
        merged = merge_side(repo, onto, inbox.tip)
        self.merged = merged.tree
        self.paths = set(filter(speaks, changed_files(repo, self.tree, merged.tree)))
        if not whole:
            # A memory that a rename or an archive moves has its other place, too.
            self.paths &= chosen | {one.source for one in inbox.proposals if one.path in chosen}
        self.before = read_paths(repo, self.tree, self.paths)
        after = read_paths(repo, merged.tree, self.paths)
        stones = set(map(stones_of, filter(is_log, self.paths)))
        self.after = with_every_line(self.before, after, read_paths(repo, merged.tree, stones))
        self.gone = tuple(one for one in proposals(self.before, self.after) if one.kind == "deleted")
        self.buried = tuple(one for one in merged.buried if one[0] in self.paths)

    def judge(self, allow: frozenset[str]) -> None:
        """Raises where a request would bring what nobody's acceptance lets in (see `BARRED`)."""
        context = RuleContext(allow, revisions=tuple(self._revisions()))
        for found in judge("request", side_of(self.before), side_of(self.after), context):
            # An index may be over its limit: it is mended here, not there.
            large = found.rule == "limit" and is_memory(found.path)
            if found.level == "error" and (large or found.rule in BARRED):
                raise CheckFailed(
                    f"{short_name(self.inbox.branch)} is refused ({found.rule}): {found}",
                    f"Reject it (git mem review reject {self.inbox.id}), and tell its sender.",
                )

    def _revisions(self) -> Iterator[Revision]:
        """The teammate's commits, as far as they are about what was chosen."""
        for step in self.repo.steps(self.inbox.tip, without=(self.onto,)):
            chosen = [[row for row in side if self.whole or row[0] in self.paths] for side in step.before]
            parents, files = own(chosen)
            one = step.commit
            people = tuple(f"{who.name} <{who.email}>" for who in (one.author, one.committer))
            former = tuple(map(self._files, parents[: len(one.parents)]))
            yield Revision(one.oid, people, one.message, former, self._files(files))

    def _files(self, blobs: Mapping[str, str]) -> dict[str, File]:
        read = {path: (oid, self.repo.blob(oid)) for path, oid in blobs.items()}
        return {path: File(PLAIN, oid, len(data), data) for path, (oid, data) in read.items()}

    def commit(self, author: Signature) -> str:
        """Merges the inbox, or its commits as far as they are about what was chosen, and moves `ACCEPTED`.

        Returns:
            The merge, which an undo takes back as a whole.

        Raises:
            RefMoved: another process accepted something meanwhile.
        """
        repo, known = self.repo, self.repo.ref(ACCEPTED)
        side = self.inbox.tip if self.whole else self._picked(author)
        if known != self.onto:
            move_ref(repo, ACCEPTED, self.onto, known, MESSAGE)
        what = "" if self.whole else f": {', '.join(sorted(self.paths))}"

        def plan(tip: Tip) -> Write:
            return Write(
                self._edits(tip.tree),
                f"Accept {short_name(self.inbox.branch)}{what}",
                Provenance(op="update", writer="human", reviewed=self.inbox.id),
                parents=(side,) if side != self.onto else (),
            )

        written = land(Ref(repo, ACCEPTED, shared=True), plan, author)
        return written.commit if written else ""

    def _edits(self, tree: str) -> dict[str, bytes | None]:
        now = read_paths(self.repo, tree, self.paths)
        wanted = {path: self.after.get(path) for path in sorted(self.paths)}
        edits = with_indexes(self.repo, tree, wanted, known=self.before)
        edits = {path: data for path, data in edits.items() if path not in wanted or now.get(path) != data}
        edits |= self._buried()
        if attributes.FILE not in self.repo.tree(tree):
            edits[attributes.FILE] = attributes.BRANCH_TEXT.encode()
        return edits

    def _picked(self, committer: Signature) -> str:
        """The last of the branch's commits made anew on the memory branch, as far as about what was chosen.

        With the branch itself as a parent, what was not chosen would read as deleted from there on. The
        author, the date and the message of each stay, but for a subject that names what was not chosen.
        """
        repo, made, tree = self.repo, self.onto, self.tree
        commit = signer(repo) or repo.add_commit
        for step in repo.steps(self.inbox.tip, without=(self.onto,)):
            one = step.commit
            if len(one.parents) != 1:
                continue
            trees = (repo.commit(one.parents[0]).tree, tree, one.tree)
            base, ours, theirs = (read_paths(repo, oid, self.paths) for oid in trees)
            merged = merge_trees(base, ours, theirs).files
            edits = {path: merged.get(path) for path in self.paths if path in ours or path in merged}
            with repo.together():
                changed = write_tree(repo, tree, edits)
            if changed != tree:
                message = one.message
                if set(filter(speaks, changed_files(repo, trees[0], one.tree))) - self.paths:
                    taken = {path: data for path, data in edits.items() if ours.get(path) != data}
                    message = "\n".join((describe(taken, ours)[1], *message.split("\n")[1:]))
                made = commit(changed, (made,), one.author, committer, message)
                tree = changed
        return made

    def _buried(self) -> dict[str, bytes | None]:
        """Tombstones that come along: none that takes, with the next merge, what stands after this.

        Of a part only those of what it takes out: the others come with the rest.
        """
        repo, edits = self.repo, dict[str, bytes | None]()
        self.stones = 0
        changed = changed_files(repo, self.tree, self.merged)
        wanted = {path for path in changed if path.endswith(f"/{tombstone.FILE}")}
        known, come = (read_paths(repo, tree, wanted) for tree in (self.tree, self.merged))
        for path in sorted(wanted):
            folder = agent_folder(path)
            if not is_agent_folder(folder):
                continue
            text, merged = (decode(files.get(path, b"")) for files in (known, come))
            fresh = tombstone.parse(merged) - tombstone.parse(text)
            if self.whole:
                standing = self._keys(folder)
                kept = {one for one in fresh if one.kind != "forgot" or not _takes(one, standing)}
                left = set(merged.splitlines())
                text = "".join(line for line in text.splitlines(keepends=True) if line.rstrip("\n") in left)
            else:
                gone = {one.old.key for one in self.gone if one.old and agent_folder(one.path) == folder}
                kept = {one for one in fresh if _takes(one, gone)}
            self.stones += sum(one.kind == "forgot" for one in kept)
            edits[path] = encode(tombstone.with_stones(text, kept))
        return edits

    def _keys(self, folder: str) -> set[str]:
        """Normal forms of all that an agent's memories and logs say after this."""
        paths = set(filter(speaks, list_files(self.repo, self.merged, folder)))
        files = read_paths(self.repo, self.merged, paths)
        return {key for path, data in files.items() for key in _said(path, data)}


def _said(path: str, data: bytes) -> Iterable[str]:
    if is_memory(path):
        return (claim.key for claim in claims_at(path, data))
    return (key for line in split(decode(data)) for key in line_keys(line))


def _takes(stone: tombstone.Tombstone, keys: Iterable[str]) -> bool:
    return any(tombstone.matches([stone], key) for key in keys)


def _fetched(repo: Repository, remote: Remote, inbox: Inbox) -> bool:
    """Fetches, so that the merge is with the present; False where the remote cannot be reached.

    Raises:
        CheckFailed: the branch is gone there, and not because it was taken in.
    """
    try:
        remote.fetch()
    except RepositoryError:
        return False
    memory = repo.ref(remote.tracking(SHARED_REF))
    landed = memory is not None and repo.is_ancestor(inbox.tip, memory)
    if repo.ref(remote.tracking(inbox.branch)) is None and not landed:
        raise CheckFailed(
            f"{short_name(inbox.branch)} is gone at {remote.name}, so there is nothing to accept",
            "It was decided on there, or withdrawn: git mem sync",
        )
    return True


def _leave_to_host(
    repo: Repository, remote: Remote, accepted: str, theirs: str | None, allow: frozenset[str], now: float
) -> None:
    """Takes what was accepted back, but for notes of what the host's reviewers are waited for."""
    waits = theirs
    for tip in repo.refs(AWAITED).values():
        if repo.is_ancestor(tip, accepted):
            waits = merge_commits(repo, waits, tip).commit if waits else tip
    if waits is None or not adds_nothing(repo, accepted, waits):
        peer = Peer(remote.name, remote.tracking(SHARED_REF), now)
        take_in(repo, SHARED_REF, accepted, MESSAGE, allow, peer)
    try_move_ref(repo, ACCEPTED, None, accepted, MESSAGE)
