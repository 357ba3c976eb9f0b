"""A password in a sentence makes no name, waits for a person, and is the team's only where one says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from once import Once
from partial_engine import PartialEngine
from planted_secrets import Maker
from ran import Ran

from gitmem.app.context import real_edges
from gitmem.core.change import Change, ChangeOrigin
from gitmem.core.errors import CheckFailed
from gitmem.core.trailers import Provenance
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.flows.agent_writes import carry_out
from gitmem.flows.context import workspace_at
from gitmem.flows.edit import Wanted, composed, remember
from gitmem.flows.extract.plan import Rules, plan_extraction
from gitmem.flows.review import queue
from gitmem.flows.save import save_all
from gitmem.ledger.apply import Placed
from gitmem.ledger.edits import nameless
from gitmem.ledger.knowledge import KnownMemory
from gitmem.transcripts.model import Message, Session

Git = Callable[..., str]
Gitmem = Callable[..., Ran]
MAKE = Maker(20261125)
PASSWORD = MAKE.some(6, "bcdfghjk") + MAKE.some(3, "23456789")
STATED = f"The staging password is {PASSWORD}."
MEMORY = "---\nname: {0}\ndescription: {1}\nmetadata:\n  type: project\n---\n\n{2}\n"


@pytest.fixture
def inited(
    gitmem: Gitmem, repo: Path, home: Path, once: Once[Ran], monkeypatch: pytest.MonkeyPatch
) -> Path:
    def make() -> Ran:
        (home / ".claude").mkdir()
        return gitmem("init", "-y")

    once("inited", make)
    monkeypatch.delenv("GITMEM_DISABLE")  # tools write here, and nothing starts a hook
    return repo


@pytest.fixture
def private(home: Path) -> Path:
    return home / ".local/share/gitmem/private.git"


def _messages_and_paths(git: Git, repo: Path) -> str:
    return git("-C", repo, "log", "--all", "--format=%B", "--name-only")


def _stored(git: Git, repo: Path) -> str:
    return git("-C", repo, "log", "--all", "--format=", "-p")


def _change(text: str, **more: str) -> Change:
    given = {"name": f"staging-password-is-{PASSWORD}", "description": text, "body": text} | more
    return Change(
        op="add",
        type="project",
        reason=f"the user said: {text}",
        confidence=1.0,
        asked=True,
        origin=ChangeOrigin(session="s", first="u1"),
        agent="main",
        **given,  # type: ignore[arg-type]
    )


def test_a_persons_remember_stores_it_under_a_name_without_it(gitmem, git: Git, inited, private) -> None:
    """It became the file name, the description, the index line and the commit's subject."""
    ran = gitmem("remember", STATED)
    assert "stored, but look" in ran.err
    assert PASSWORD not in ran.out + ran.err
    assert PASSWORD not in _messages_and_paths(git, private)
    stored = _stored(git, private)
    assert [line for line in stored.splitlines() if PASSWORD in line] == [f"+{STATED}"]


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(STATED),
        Wanted(STATED, name=f"staging-{PASSWORD}", description=f"Staging: {PASSWORD}"),
        Wanted("How staging is reached.", why=f"the password is {PASSWORD}", name=f"with-{PASSWORD}"),
        Wanted(f"password is {PASSWORD}"),
    ],
)
def test_no_name_and_no_description_is_made_of_it(wanted: Wanted) -> None:
    name, description, body = composed(wanted, 1_795_000_000, frozenset())
    assert name and description
    assert PASSWORD not in name + description
    assert PASSWORD in body


def test_the_teams_memory_takes_it_where_a_person_says_so(gitmem: Gitmem, git: Git, inited: Path) -> None:
    words = ["remember", STATED, "--scope", "project", "--type", "project"]
    refused = gitmem(*words, ok=False)
    assert refused.code == 1
    assert "may hold a secret" in refused.err and "--allow" in refused.err
    assert PASSWORD not in refused.out + refused.err
    assert PASSWORD not in _stored(git, inited)
    allowed = gitmem(*words, "--allow")
    assert "stored, but look" in allowed.err and "gitmem.allow" in allowed.err
    assert PASSWORD in _stored(git, inited)
    again = gitmem("remember", f"{STATED} Since May.", "--scope", "project", "--type", "project", ok=False)
    assert again.code == 1, "it was allowed for that one write"


def test_a_move_to_the_team_takes_a_word_more(gitmem: Gitmem, git: Git, inited: Path) -> None:
    name = json.loads(gitmem("remember", STATED, "--type", "project", "--json").out)["name"]
    refused = gitmem("move", name, "--to", "project", ok=False)
    assert refused.code == 1 and "may hold a secret" in refused.err
    assert "stored, but look" in gitmem("move", name, "--to", "project", "--allow").err
    assert PASSWORD in _stored(git, inited)


@pytest.mark.parametrize("scope", ["agent-memory", "agent-memory-local", "user"])
def test_a_live_edit_waits_and_review_says_so(gitmem, git: Git, inited, private, home, scope: str) -> None:
    """Hooks save what agents wrote; nobody looked at it."""
    parent = home / ".claude/agent-memory" if scope == "user" else inited / ".claude" / scope
    folder = parent / "reviewer"
    folder.mkdir(parents=True)
    note = folder / "staging.md"
    note.write_text(MEMORY.format("staging", "How it is reached", f"Ask Ann first.\n\n{STATED}"))
    workspace, edges = workspace_at(real_edges(inited)), real_edges(inited)
    save_all(workspace, edges)
    stored = _stored(git, inited) + _stored(git, private)
    assert "Ask Ann first." in stored and PASSWORD not in stored
    assert PASSWORD in note.read_text()
    (item,) = [item for item in queue(workspace, edges) if item.kind == "refused"]
    assert "may hold a secret (password-in-prose)" in item.title
    assert "git mem save --allow" in item.title and PASSWORD not in item.title
    save_all(workspace, edges, asked=True, allowed=True)
    assert PASSWORD in _stored(git, inited) + _stored(git, private)
    assert PASSWORD in note.read_text()


def test_a_persons_save_stores_it_in_a_private_scope(gitmem, git: Git, inited: Path, private: Path) -> None:
    folder = inited / ".claude/agent-memory-local/reviewer"
    folder.mkdir(parents=True)
    (folder / "staging.md").write_text(MEMORY.format("staging", "How it is reached", STATED))
    assert "stored, but look" in gitmem("save").err
    assert PASSWORD in _stored(git, private)


class _Says(PartialEngine):
    """An engine that proposes one change."""

    name = "says"
    reads_history = False

    def __init__(self, change: Change) -> None:
        self.change = change

    def extract(self, given: ExtractInput) -> Extraction:
        return Extraction((self.change,))


@pytest.mark.parametrize("log", [False, True])
def test_extraction_leaves_it_to_a_person_and_names_nothing_after_it(log: bool) -> None:
    """Also where it was plainly asked for: the session is no command."""
    session = Session(
        "s",
        "claude-code",
        Path("s.jsonl"),
        "/work",
        (Message("u1", "person", f"Remember: {STATED}", None, "prompt"),),
        0,
    )
    plan = plan_extraction(
        session,
        (),
        KnownMemory(),
        _Says(_change(STATED)),
        Rules(sharing="off", log=log),  # type: ignore[arg-type]
    )
    assert plan.stored == ()
    (placed,) = plan.suggested
    change = placed.change
    assert PASSWORD not in change.name + change.description + change.reason + placed.file
    assert "may hold a secret" in change.reason and not change.asked
    assert PASSWORD in change.body


def test_a_tools_write_waits_in_every_scope(gitmem: Gitmem, git: Git, inited: Path, private: Path) -> None:
    workspace, edges = workspace_at(real_edges(inited)), real_edges(inited)
    for scope in ("local", "project"):
        text = STATED if scope == "local" else f"{STATED} Ask Ann."
        outcome = carry_out(workspace, edges, Placed(scope, _change(text)), Provenance(writer="agent"))  # type: ignore[arg-type]
        assert outcome.written is None and outcome.waiting
    assert PASSWORD not in _messages_and_paths(git, inited) + _messages_and_paths(git, private)
    titles = [item.title for item in queue(workspace, edges) if item.kind == "suggestion"]
    assert len(titles) == 2 and PASSWORD not in "".join(titles)


def test_what_waits_enters_the_teams_memory_where_a_person_says_so(gitmem, git: Git, inited: Path) -> None:
    workspace, edges = workspace_at(real_edges(inited)), real_edges(inited)
    waiting = carry_out(
        workspace, edges, Placed("project", _change(STATED)), Provenance(writer="agent")
    ).waiting
    refused = gitmem("review", "accept", waiting, ok=False)
    assert refused.code == 1 and "may hold a secret" in refused.err
    gitmem("review", "accept", waiting, "--allow")
    assert PASSWORD in git("-C", inited, "show", "refs/gitmem/project:main/staging-password-is.md")


def test_an_allowed_fingerprint_is_no_doubt(inited: Path) -> None:
    workspace, edges = workspace_at(real_edges(inited)), real_edges(inited)
    with pytest.raises(CheckFailed) as caught:
        remember(workspace, edges, Wanted(STATED, type="project", scope="project"))
    print_ = caught.value.hint.split()[-1]
    assert nameless(_change(STATED), [], frozenset({print_})).description == STATED


def test_what_stands_keeps_its_name_and_what_is_new_gets_one_without_it() -> None:
    new, stands = _change(STATED), replace(_change(STATED), op="update")
    assert nameless(stands, [], frozenset()).name == stands.name
    assert nameless(new, [], frozenset()).name == "staging-password-is"


def test_the_warning_is_repeated_where_it_leaves(gitmem: Gitmem, git, inited: Path, tmp_path: Path) -> None:
    """It left with `sync -y`, and nothing was said."""
    remote = tmp_path / "remote.git"
    git("init", "-q", "--bare", remote)
    git("-C", inited, "remote", "add", "origin", remote)
    git("-C", inited, "push", "-q", "origin", "HEAD:refs/heads/main")
    gitmem("remember", STATED, "--scope", "project", "--type", "project", "--allow")
    gitmem("share", "--mode", "direct", "-y")
    looked = gitmem("sync", "-n")
    assert "leaves, but look" in looked.err
    sent = gitmem("sync", "-y")
    assert "leaves, but look" in sent.err and "password-in-prose" in sent.err
    assert PASSWORD not in looked.out + looked.err + sent.out + sent.err
    assert "leaves, but look" not in gitmem("sync", "-y").err


def test_a_backup_and_a_snapshot_say_it_again(gitmem: Gitmem, git, inited: Path, tmp_path: Path) -> None:
    gitmem("remember", STATED)
    git("init", "-q", "--bare", tmp_path / "own.git")
    sent = gitmem("backup", tmp_path / "own.git", "-y", "--json")
    assert (
        "leaves, but look" in sent.err and "password-in-prose" in json.loads(sent.out)["doubts"][0]["rule"]
    )
    assert "leaves, but look" not in gitmem("backup").err, "it is there by now"
    gitmem("remember", STATED, "--scope", "project", "--type", "project", "--allow")
    made = gitmem("snapshot", "create")
    assert "leaves, but look" in made.err and PASSWORD not in made.out + made.err
    assert "leaves, but look" not in gitmem("snapshot", "create").err
