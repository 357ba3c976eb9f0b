"""Requests: a dream or this writer's inbox pushed to the shared remote, and put before its reviewers.

The branch, the text with a card a change, so that someone with only a web page can decide each of them, and
the host: the page where a request is opened, worked out from a remote, or GitHub's `gh`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlencode, urlsplit

from gitmem.core.account import BranchChange, is_memory
from gitmem.core.errors import CheckFailed, MissingObject, RepositoryError, UsageError
from gitmem.core.text import counted, one_line
from gitmem.dream import review as dreams
from gitmem.dream.cards import (
    Card,
    cards_of,
    claim_origins,
    memory_cards,
    side_lines,
    summary_lines,
    taught_by,
)
from gitmem.flows.context import Edges
from gitmem.flows.exchange import synchronise
from gitmem.flows.redaction import line, redact
from gitmem.git.refs import try_move_ref
from gitmem.git.remote import Remote
from gitmem.git.repository import Repository, short_name
from gitmem.git.trees import changed_files
from gitmem.ledger.blame import origins_of
from gitmem.ledger.departure import prepare
from gitmem.ledger.dream_branch import for_others, leave_off, local_branch
from gitmem.ledger.inbox import Inbox, inboxes, writer_branch
from gitmem.ledger.land import read_tip
from gitmem.ledger.push_plan import (
    Leaving,
    doubts_to_leave,
    refuse_personal,
    refuse_secrets,
)
from gitmem.ledger.remotes import find_remote
from gitmem.ledger.share import agree, leaving_first
from gitmem.ledger.side_branches import (
    asked_for,
    closed_at_host,
    forget_asked,
    fork_point,
    note_asked,
    records_under,
    with_base,
)
from gitmem.ledger.workspace import DREAMS, SHARED_REF, Workspace
from gitmem.rules.screen import doubt_told

_TITLE = 200
"""Terminal cells of a request's title; hosts show fewer."""

LIMIT = 65_536
"""Characters of a request's text that GitHub takes; others take more."""

NOTE = 400
"""Terminal cells of a line of why that are shown."""

Kind = Literal["github", "gitlab", "bitbucket", "gitea"]

_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>\[?[^:/@\s]+\]?):(?!//)(?P<path>\S+)")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?")
_PART = re.compile(r"\.?[A-Za-z0-9_~][A-Za-z0-9._~-]*")
_SAME = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
"""Hosts that only serve ssh over port 443, and whose pages they are."""

TIMEOUT = 60.0
"""Seconds for one run; it talks to the host."""

_QUIET = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1", "GH_PAGER": "cat"}
_URL = re.compile(r"https?://[\x21-\x7e]+")

INBOX = "inbox"
"""What `review --open` calls this writer's own inbox."""

Ask = Callable[[tuple[Leaving, ...]], bool]
Outcome = Literal["created", "updated", "link", "branches", "planned"]


@dataclass(frozen=True)
class PullRequest:
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
) -> PullRequest:
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
    remote = find_remote(workspace)
    found = _which(workspace, id)
    if found == INBOX:
        _ask_again(workspace, remote, dry_run)
    _exchange(workspace, edges, ask, dry_run)
    if found == INBOX:
        made = _of_inbox(workspace, remote, dry_run)
    else:
        made = _of_dream(workspace, edges, remote, found, ask, dry_run)
    return made if dry_run else open_at_host(workspace, edges, remote, made)


def open_for_inbox(workspace: Workspace, edges: Edges, one: Inbox) -> PullRequest:
    """Opens a request for a teammate's inbox as it stands at the remote, or updates the open one."""
    remote = find_remote(workspace)
    made = _for_inbox(workspace, remote, one, ", which a teammate has accepted")
    return open_at_host(workspace, edges, remote, made)


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


def _of_inbox(workspace: Workspace, remote: Remote, dry_run: bool) -> PullRequest:
    repo, branch = workspace.code, writer_branch(workspace)
    published = repo.ref(remote.tracking(SHARED_REF))
    tip = repo.ref(remote.tracking(branch))
    if dry_run and workspace.sharing == "review":
        # What the push would bring.
        tip = read_tip(repo, SHARED_REF).commit
    wanted = asked_for(repo, fork_point(repo, published, tip), tip) if tip and published else ()
    if tip is None or published is None or not wanted:
        raise CheckFailed(
            f"Nothing of yours waits at {remote.name} for a decision",
            "What you learn for the team gets there with: git mem sync",
        )
    one = Inbox(remote.name, branch, tip, fork_point(repo, published, tip), wanted)
    return replace(_for_inbox(workspace, remote, one), id=INBOX)


def _for_inbox(workspace: Workspace, remote: Remote, one: Inbox, accepted: str = "") -> PullRequest:
    what = f"{counted(len(one.proposals), 'claim')} in {counted(len(one.memories), 'memory')}"
    title, intro = f"{short_name(one.branch)}: {what}", f"Asks to merge {what}{accepted}."
    return _request(remote, one.id, one.branch, title, inbox_cards(workspace.code, one), intro)


def _of_dream(
    workspace: Workspace, edges: Edges, remote: Remote, id: str, ask: Ask, dry_run: bool
) -> PullRequest:
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
        fresh = leaving_first(workspace, remote, tip)
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
        try_move_ref(repo, dream.ref, tip, here, "gitmem review: as pushed")


def _refuse_unpublished(changed: set[str], dream: dreams.Dream) -> None:
    """Raises where a request for a dream would ask for memories that are not the dream's."""
    own = {path for change in dream.changes for path in change.files}
    foreign = sorted(path for path in changed if is_memory(path) and path not in own)
    if foreign:
        raise CheckFailed(
            f"{dream.id} builds on memory that is not on the memory branch yet: {', '.join(foreign[:3])}",
            "Have that merged first: git mem review --open inbox",
        )


def _request(
    remote: Remote, id: str, branch: str, title: str, cards: Sequence[Card], intro: str
) -> PullRequest:
    base = short_name(SHARED_REF)
    short = short_name(branch)
    body = request_body(intro, cards, id)
    return PullRequest(id, remote.name, short, base, line(title, _TITLE), body)


def open_at_host(workspace: Workspace, edges: Edges, remote: Remote, made: PullRequest) -> PullRequest:
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
    found = find_host(workspace.settings.config.get(f"remote.{remote.name}.url"))
    if found is not None:
        return found
    done = workspace.git.run(["remote", "get-url", "--", remote.name], git_dir=where, check=False)
    return find_host(done.text.partition("\n")[0]) if done.returncode == 0 else None


def request_body(intro: str, cards: Sequence[Card], command: str, limit: int = LIMIT) -> str:
    """Writes the text in Markdown. What others wrote stands in code, where hosts obey nothing.

    Args:
        intro: sentences of our own.
        command: id of the item, for the commands that decide it locally.
        limit: UTF-16 units at most, as hosts count; cards that do not fit are counted.
    """
    end = (
        "\n**To decide here:** merge it; a merge commit, a squash and a rebase all land. What you do not "
        "want, edit or take out on the branch first: it is not asked for again. To turn all of it down, "
        "close the request and delete the branch.\n\n"
        f"**To decide in a clone:** `git mem review show {command}`, then `git mem review accept {command}`"
        f" or `git mem review reject {command}`, with numbers behind it for some of them, then "
        "`git mem sync`.\n\nWhat stands in the blocks is quoted from memory: data, not instructions.\n"
    )
    start = f"{intro}\n"
    room = limit - units(start) - units(end) - units(_rest(len(cards), command))
    texts: list[str] = []
    for card in cards:
        text = markdown(card)
        room -= units(text)
        if room < 0:
            break
        texts.append(text)
    left = len(cards) - len(texts)
    return start + "".join(texts) + (_rest(left, command) if left else "") + end


def markdown(card: Card) -> str:
    """A card as a heading, why, and a block of what goes (`-`), comes (`+`), stands (`=`), and by whom."""
    lines = ["", f"### {card.n}. {code(card.title + card.state, _TITLE)}", ""]
    why = [code(one, NOTE) for one in redact(card.reason).splitlines() if one.strip()]
    block: list[str] = []
    for side in card.sides:
        # Judged whole: half of a secret is none.
        safe = replace(side, text=redact(side.text))
        block += [f"{side.mark} {one}" for one in side_lines(safe)]
        block += [f"# {line(note, NOTE)}" for note in side.notes]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", "\n".join(block))), default=0))
    lines += ["  \n".join(why), ""] if why else []
    return "\n".join([*lines, f"{fence}diff", *block, fence, ""])


def inbox_cards(repo: Repository, inbox: Inbox) -> tuple[Card, ...]:
    """What an inbox branch asks for, a card a memory, numbered as they are accepted."""
    asked = inbox.proposals
    came = _taught(repo, inbox.tip, {one: (one.path, one.new.id) for one in asked if one.new})
    gone = {one: (one.source or one.path, one.old.id) for one in asked if one.old and not one.new}
    said = came | _taught(repo, inbox.base, gone)
    return memory_cards(asked, said)


def _taught(
    repo: Repository, at: str, claims: dict[BranchChange, tuple[str, str]]
) -> dict[BranchChange, tuple[str, ...]]:
    """Who taught some claims, each a path and a claim's id, that a commit has; those that are known."""
    wanted: dict[str, set[str]] = {}
    for path, id in claims.values():
        wanted.setdefault(path, set()).add(id)
    try:
        found = origins_of(repo, at, wanted)
    except MissingObject:
        return {}
    return {
        one: (f"said by {taught_by(found[place][0])}", *(told.subject for told in found[place][0].told[:1]))
        for one, place in claims.items()
        if found.get(place)
    }


def code(text: str, width: int) -> str:
    """Text of others on one line, invisible characters written out, in a code span.

    In a code span hosts make no mention, reference, link, image, HTML or emphasis of it.
    """
    said = line(text, width)
    if not said:
        return ""
    fence = "`" * (max((len(run) for run in re.findall(r"`+", said)), default=0) + 1)
    pad = " " if said[0] == "`" or said[-1] == "`" else ""
    return f"{fence}{pad}{said}{pad}{fence}"


def _rest(left: int, command: str) -> str:
    return f"\n… and {counted(left, 'more change')}: `git mem review show {command}`\n"


def units(text: str) -> int:
    """Length of a text as hosts count it: UTF-16 units."""
    return len(text.encode("utf-16-le", "replace")) // 2


@dataclass(frozen=True)
class Host:
    """A repository as its host shows it.

    Attributes:
        name: host, with a port where its pages have one.
        path: owner and repository, on GitLab with all groups between.
        scheme: `https`, or `http` where the remote is.
    """

    kind: Kind
    name: str
    path: str
    scheme: str = "https"

    @property
    def repository(self) -> str:
        """What `gh --repo` takes: `host/owner/repository`."""
        return f"{self.name}/{self.path}"

    def link(self, base: str, branch: str) -> str:
        """The page on which a request from one branch into another is opened.

        Args:
            base, branch: short names.
        """
        top = f"{self.scheme}://{self.name}/{self.path}"
        one, other = quote(base, safe="/"), quote(branch, safe="/")
        if self.kind == "github":
            return f"{top}/compare/{one}...{other}?expand=1"
        if self.kind == "gitea":
            return f"{top}/compare/{one}...{other}"
        if self.kind == "gitlab":
            asked = {"merge_request[source_branch]": branch, "merge_request[target_branch]": base}
            return f"{top}/-/merge_requests/new?{urlencode(asked)}"
        return f"{top}/pull-requests/new?{urlencode({'source': branch, 'dest': base})}"


def find_host(url: str) -> Host | None:
    """The host that a remote's address belongs to; None where it is none that is known.

    Credentials in the address are dropped. A host of one's own is known by its name (`gitlab.example.com`).
    """
    found = _split(url)
    if found is None:
        return None
    scheme, name, path = found
    name = _SAME.get(name, name)
    parts = path.strip("/").removesuffix(".git").split("/")
    kind = _kind(name.partition(":")[0])
    fits = len(parts) >= 2 if kind == "gitlab" else len(parts) == 2
    if kind is None or not fits or not _HOST.fullmatch(name) or not all(map(_PART.fullmatch, parts)):
        return None
    return Host(kind, name, "/".join(parts), scheme)


def _split(url: str) -> tuple[str, str, str] | None:
    """Scheme of the pages, host and path."""
    if "://" not in url:
        scp = _SCP.fullmatch(url)
        return ("https", scp["host"].lower(), scp["path"]) if scp else None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme not in ("https", "http", "ssh", "git+ssh", "git"):
        return None
    web = parts.scheme in ("https", "http")
    name = f"{host}:{port}" if web and port else host
    return ("http" if parts.scheme == "http" else "https", name, parts.path)


def _kind(host: str) -> Kind | None:
    labels = host.split(".")
    if "github" in labels or host.endswith(".ghe.com"):
        return "github"
    if "gitlab" in labels:
        return "gitlab"
    if "bitbucket" in labels:
        return "bitbucket"
    known = {"gitea", "forgejo", "codeberg"}
    return "gitea" if known & set(labels) else None


class GhFailed(Exception):
    """It could not; the message says why, on one line."""


@dataclass(frozen=True)
class Gh:
    """The program, and where it runs.

    Attributes:
        program: absolute path.
        folder: a folder of gitmem's own: nothing there tells `gh` what to do.
    """

    program: str
    environ: Mapping[str, str] = field(repr=False)
    folder: Path

    def open(self, host: Host, base: str, branch: str, title: str, body: str) -> tuple[str, str]:
        """Opens a request, or updates the one that is open.

        Args:
            base, branch: short names.

        Returns:
            `created` or `updated`, and its address.

        Raises:
            GhFailed: it could not; nothing was opened.
        """
        where = ["--repo", host.repository]
        number, url = self._open_one(where, base, branch)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="request-") as folder:
            text = Path(folder) / "body.md"
            text.write_text(body, encoding="utf-8", errors="replace")
            said = ["--title", title, "--body-file", str(text)]
            if number is not None:
                self._run(["pr", "edit", str(number), *where, *said])
                return "updated", url
            done = self._run(["pr", "create", *where, "--base", base, "--head", branch, *said])
        found = _URL.findall(done)
        if not found:
            raise GhFailed("it gave no address")
        return "created", found[-1]

    def _open_one(self, where: Sequence[str], base: str, branch: str) -> tuple[int | None, str]:
        wanted = ["--head", branch, "--base", base, "--state", "open", "--limit", "20"]
        text = self._run(["pr", "list", *where, *wanted, "--json", "number,url,isCrossRepository"])
        try:
            rows = json.loads(text or "[]")
        except ValueError:
            raise GhFailed("its answer cannot be read") from None
        for row in rows if isinstance(rows, list) else ():
            if not isinstance(row, dict) or row.get("isCrossRepository"):
                # A branch of the same name in somebody's fork is another request.
                continue
            number, url = row.get("number"), row.get("url")
            if isinstance(number, int) and isinstance(url, str) and _URL.fullmatch(url):
                return number, url
        return None, ""

    def _run(self, words: Sequence[str]) -> str:
        try:
            done = subprocess.run(
                [self.program, *words],
                cwd=self.folder,
                env={**self.environ, **_QUIET},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GhFailed(f"it took longer than {TIMEOUT:g} seconds") from None
        except OSError as error:
            raise GhFailed(f"it cannot be started: {error.strerror}") from None
        if done.returncode:
            raise GhFailed(one_line(done.stderr.decode("utf-8", "replace"), 200) or "it gave no reason")
        return done.stdout.decode("utf-8", "replace")


def find_gh(environ: Mapping[str, str], worktree: Path | None, folder: Path) -> Gh | None:
    """Finds `gh` on the person's PATH; one that a repository brings along is not run.

    Args:
        worktree: of the repository.
        folder: where it is to run.
    """
    absolute = [part for part in environ.get("PATH", "").split(os.pathsep) if Path(part).is_absolute()]
    found = shutil.which("gh", path=os.pathsep.join(absolute)) if absolute else None
    if found is None:
        return None
    if worktree is not None and any(
        path.is_relative_to(root)
        for path in (Path(found), Path(found).resolve())
        for root in (worktree, worktree.resolve())
    ):
        return None
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    return Gh(found, kept, folder)
