"""No writing path stores a secret, no message names one, and what others pushed is hidden from readers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from memory_files import learned
from once import Once
from planted_secrets import GITHUB
from purge_ground import objects
from ran import Ran

from gitmem.app.context import real_edges
from gitmem.flows.context import workspace_at
from gitmem.git.repository import Signature
from gitmem.ledger.taint import read_tainted

Git = Callable[..., str]
Gitmem = Callable[..., Ran]
REF = "refs/gitmem/project"
MEMORY = "---\nname: {0}\ndescription: About {0}\nmetadata:\n  type: project\n---\n\n{1}\n"
WHO = Signature("Ben", "ben@example.com", 1_795_000_000)


def _everything(git: Git, *repos: Path) -> str:
    """All blobs and commits of some repositories, as text."""
    found = []
    for repo in repos:
        git_dir = Path(git("-C", repo, "rev-parse", "--absolute-git-dir"))
        found += [data.decode() for kind, data in objects(git_dir).values() if kind in ("blob", "commit")]
    return "\n".join(found)


@pytest.fixture
def inited(gitmem: Gitmem, repo: Path, home: Path, once: Once[object]) -> Path:
    def make() -> None:
        (home / ".claude").mkdir()
        gitmem("init", "-y")

    once("inited", make)
    return repo


@pytest.fixture
def private(home: Path) -> Path:
    return home / ".local/share/gitmem/private.git"


@pytest.mark.parametrize("scope", ["local", "user", "project"])
def test_remember_refuses_a_secret_in_every_part_of_a_memory(
    gitmem: Gitmem, git: Git, inited: Path, private: Path, scope: str
) -> None:
    kind = "feedback" if scope != "user" else "user"
    for words in (
        [f"Use {GITHUB} for staging."],
        ["Use the staging token.", "--why", f"It is {GITHUB}"],
        ["Use the staging token.", "--description", f"Token {GITHUB}"],
        ["Use the staging token.", "--name", GITHUB],
    ):
        ran = gitmem("remember", *words, "--scope", scope, "--type", kind, ok=False)
        assert ran.code == 1
        assert "holds a secret" in ran.err
        assert GITHUB.lower() not in (ran.out + ran.err).lower().replace("-", "_")
    assert GITHUB not in _everything(git, inited, private)


@pytest.mark.parametrize("scope", ["agent-memory", "agent-memory-local", "user"])
def test_a_save_leaves_the_claim_live_and_uncommitted_and_review_says_so(
    gitmem: Gitmem, git: Git, inited: Path, private: Path, home: Path, scope: str
) -> None:
    parent = home / ".claude/agent-memory" if scope == "user" else inited / ".claude" / scope
    folder = parent / "reviewer"
    folder.mkdir(parents=True)
    note = folder / "staging.md"
    note.write_text(MEMORY.format("staging", f"Deploys need a token.\n\nIt is {GITHUB}."))
    saved = gitmem("save")
    assert "not stored" in saved.err
    assert "gitmem.allow" in saved.err
    assert GITHUB in note.read_text()
    review = gitmem("review")
    assert "holds a secret (github-pat): It is [github-pat]" in review.out
    assert GITHUB not in saved.out + saved.err + review.out + review.err
    stored = _everything(git, inited, private)
    assert "Deploys need a token." in stored
    assert GITHUB not in stored


def test_an_agent_named_like_a_secret_is_not_stored(gitmem: Gitmem, git: Git, inited: Path) -> None:
    """Capitals are escaped in a folder's name, which would hide the secret from the detector."""
    folder = inited / ".claude/agent-memory" / GITHUB
    folder.mkdir(parents=True)
    (folder / "a.md").write_text(MEMORY.format("a", "Plain."))
    saved = gitmem("save")
    assert "holds a secret" in saved.err and GITHUB not in saved.out + saved.err
    assert git("-C", inited, "for-each-ref", REF) == ""
    assert "Plain." not in _everything(git, inited)


def test_the_hint_is_a_command_that_lets_a_false_alarm_pass(gitmem: Gitmem, git: Git, inited: Path) -> None:
    refused = gitmem("remember", f"Use {GITHUB} here.", ok=False)
    (hint,) = [line for line in refused.err.splitlines() if "gitmem.allow" in line]
    words = hint[hint.index("git config") :].split()
    git("-C", inited, "config", "--local", *words[4:])
    assert gitmem("remember", f"Use {GITHUB} here.", ok=False).code == 1, "a repository cannot allow it"
    git("-C", inited, "config", "--local", "--unset-all", "gitmem.allow")
    git(*words[1:])
    assert gitmem("remember", f"Use {GITHUB} here.").code == 0


def test_credentials_in_urls_and_prose_are_stored_and_shown(gitmem: Gitmem, inited: Path) -> None:
    for text in ("The staging password is hunter2.", "It is postgres://app:hunter2x@db.internal/app now."):
        ran = gitmem("remember", text)
        assert "stored, but look" in ran.err
        (line,) = [line for line in ran.err.splitlines() if "stored, but look" in line]
        assert "[password-in-" in line or "[generic-credential-uri]" in line
    folder = inited / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    (folder / "db.md").write_text(MEMORY.format("db", "The wifi password is swordfish9."))
    # What the team would see takes a word more.
    first, second, third = gitmem("save"), gitmem("save", "--allow"), gitmem("save")
    assert "not stored" in first.err and "may hold a secret" in first.err and "--allow" in first.err
    assert "stored, but look" in second.err and "gitmem.allow" in second.err
    assert "stored, but look" not in third.err and "not stored" not in third.err
    value = json.loads(gitmem("remember", "The other password is hunter3.", "--json").out)
    assert [one["rule"] for one in value["warnings"]] == ["password-in-prose"]


def test_a_secret_in_a_past_state_does_not_come_back(gitmem: Gitmem, git: Git, inited: Path) -> None:
    """It may have come from another's push, or been allowed then."""
    _pushed(inited, f"Fine.\n\nUse {GITHUB}.")
    then = git("-C", inited, "rev-parse", "refs/gitmem/project")
    gitmem("forget", "project/main/staging")
    for words in (["restore", "staging", "--at", then], ["undo"]):
        ran = gitmem(*words, ok=False)
        assert ran.code == 1, words
        assert "holds a secret" in ran.err
        assert GITHUB not in ran.out + ran.err


def _pushed(repo: Path, text: str, name: str = "staging") -> None:
    """Puts a memory into the project ref as git's own fetch and merge would: nobody screened it."""
    scope = workspace_at(real_edges(repo)).scope("project")
    learned(scope, {f"main/{name}.md": MEMORY.format(name, text)}, WHO.time, f"Add {name}", who="Ben")


@pytest.fixture
def shared(gitmem: Gitmem, git: Git, inited: Path, tmp_path: Path) -> Path:
    bare = tmp_path / "team.git"
    git("init", "-q", "--bare", bare)
    git("-C", inited, "remote", "add", "origin", bare)
    git("-C", inited, "push", "-q", "origin", "HEAD")
    gitmem("share", "-y")
    return inited


def test_what_came_with_a_secret_is_reported_and_hidden_from_readers(gitmem, git, shared: Path) -> None:
    _pushed(shared, f"Staging deploys on Tuesdays.\n\nStaging token {GITHUB}.")
    _pushed(shared, "Staging has no backups.", "backups")
    saved = gitmem("save")
    assert "main/staging.md came from others, holds a secret" in saved.err
    assert "came from others" not in gitmem("save").err
    recalled = gitmem("recall", "staging", "token", "deploys")
    assert "Tuesdays" in recalled.out
    listed = gitmem("list")
    assert "came with a secret" in listed.out
    shown = gitmem("show", "staging")
    assert "is not shown" in shown.err
    assert "Tuesdays" in shown.out
    value = json.loads(gitmem("show", "staging", "--json").out)
    assert value["secret"] is True
    assert json.loads(gitmem("show", "backups", "--json").out)["secret"] is False
    for ran in (saved, recalled, listed, shown):
        assert GITHUB not in ran.out + ran.err
    assert GITHUB not in json.dumps(value)


def test_a_file_that_is_too_large_to_be_taken_apart_is_hidden_as_a_whole(gitmem, shared: Path) -> None:
    _pushed(shared, f"Staging token {GITHUB}.\n\n{'word ' * 30_000}")
    saved, shown = gitmem("save"), gitmem("show", "staging")
    assert "main/staging.md came from others, holds a secret" in saved.err
    assert "is not shown" in shown.err and "word" not in shown.out
    assert GITHUB not in saved.out + saved.err + shown.out + shown.err


def test_a_note_of_secrets_holds_none_and_can_be_lost(gitmem: Gitmem, shared: Path) -> None:
    _pushed(shared, f"Staging token {GITHUB}.")
    gitmem("save")
    state = workspace_at(real_edges(shared)).scope("project").state
    note = state / "tainted.json"
    assert GITHUB not in note.read_text()
    before = read_tainted(state)
    note.unlink()
    gitmem("save")
    assert read_tainted(state) == before
    note.write_text("[]")
    assert read_tainted(state).blobs == {}


def test_what_the_person_allowed_is_shown_again(gitmem: Gitmem, git: Git, shared: Path) -> None:
    _pushed(shared, f"Staging token {GITHUB}.")
    gitmem("save")
    state = workspace_at(real_edges(shared)).scope("project").state
    ((prints,),) = [texts.values() for texts in read_tainted(state).blobs.values()]
    git("config", "--global", "--add", "gitmem.allow", " ".join(prints))
    assert GITHUB in gitmem("show", "staging").out


READERS = (
    ["list"], ["show", "backups"], ["recall", "staging"], ["log"], ["blame", "backups"], ["diff"],
    ["log", "backups"], ["list", "--json"],
)  # fmt: skip


def test_who_reads_never_loads_the_detector(gitmem: Gitmem, shared: Path) -> None:
    """It costs 0.1 s and 30 MB, for which a prompt has no time, also where memory is shared."""
    _pushed(shared, f"Staging token {GITHUB}.")
    _pushed(shared, "Staging has no backups.", "backups")
    gitmem("save")
    code = (
        "import sys, json\nfrom gitmem.entry import main\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    sys.argv = ['gitmem', *words]\n"
        "    assert main() == 0 and 'betterleaks' not in sys.modules, words\n"
    )
    words = [sys.executable, "-c", code, json.dumps(READERS)]
    done = subprocess.run(words, cwd=shared, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "backups" in done.stdout and GITHUB not in done.stdout
