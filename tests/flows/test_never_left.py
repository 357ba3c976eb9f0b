"""What never left does not leave in history: a raw scan of the remote, however it came about."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import Machine
from sync_ground import PROJECT, Team

from gitmem.core.trailers import Fate, Provenance
from gitmem.store.commits import Tip, Write, commit
from gitmem.store.repository import Signature

FOLDER = ".claude/agent-memory/reviewer"

NAME, WORDS, HOOK = "acme-layoff", "ostrich lantern", "walrus trumpet"
"""What is planted: the name of a memory, what it says, and how it is described."""

MARKS = (NAME, *WORDS.split(), *HOOK.split())


def write(
    one: Machine, name: str, text: str, description: str = "", type: str = "project", index: bool = True
) -> None:
    """Lets an agent write a memory, with its line in the index."""
    folder = one.code / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    told = description or f"About {name}"
    (folder / f"{name}.md").write_text(
        f"---\nname: {name}\ndescription: {told}\ntype: {type}\n---\n\n{text}\n"
    )
    listed = folder / "MEMORY.md"
    lines = listed.read_text().splitlines() if listed.exists() else []
    kept = [line for line in lines if f"]({name}.md)" not in line]
    listed.write_text(
        "".join(f"{line}\n" for line in [*kept, *([f"- [{name}]({name}.md) — {told}"] * index)])
    )


def drop(one: Machine, name: str) -> None:
    """Lets an agent delete a memory, and its line."""
    folder = one.code / FOLDER
    (folder / f"{name}.md").unlink()
    listed = folder / "MEMORY.md"
    lines = listed.read_text().splitlines()
    listed.write_text("".join(f"{line}\n" for line in lines if f"]({name}.md)" not in line))


def plant(one: Machine, type: str = "project") -> None:
    write(one, NAME, f"It is about the {WORDS}.", HOOK, type)
    one.run("save")


def put(one: Machine, subject: str, edits: dict[str, bytes | None], told: Provenance | None = None) -> str:
    """Commits to the memory ref, as a flow would."""
    one.now += 60
    scope = one.workspace.scope("project")
    who = Signature("Ann", "ann@example.com", one.now)

    def plan(_: Tip) -> Write:
        return Write(edits, subject, told or Provenance(op="update", writer="agent", session="s-1"))

    done = commit(scope.repo, scope.ref, plan, who)
    assert done is not None
    return done.commit


def seen(bare: Path) -> bytes:
    """All that a repository holds: every object as it is, every file of it, names of refs and messages."""
    listed = subprocess.run(
        ["git", "-C", bare, "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        capture_output=True,
        check=True,
    ).stdout
    files = b"".join(str(path).encode() + path.read_bytes() for path in bare.rglob("*") if path.is_file())
    return listed + files


def found(bare: Path, marks: tuple[str, ...] = MARKS) -> list[str]:
    data = seen(bare).lower()
    return [mark for mark in marks if mark.encode() in data]


def moved(one: Machine) -> None:
    plant(one)
    one.run("move", NAME, "--to", "local")


def moved_to_user(one: Machine) -> None:
    plant(one)
    one.run("move", NAME, "--to", "user")


def forgotten(one: Machine) -> None:
    plant(one)
    one.run("forget", NAME)


def forgotten_claim(one: Machine) -> None:
    write(one, "other", f"A fact of its own.\n\nAnd of the {WORDS} another.")
    one.run("save")
    one.run("forget", "--claim", f"And of the {WORDS} another.")


def deleted_by_the_agent(one: Machine) -> None:
    plant(one)
    drop(one, NAME)
    one.run("save")


def edited_away(one: Machine) -> None:
    write(one, "other", f"It is about the {WORDS}.")
    one.run("save")
    write(one, "other", "It is about something else.")
    one.run("save")


def described_otherwise(one: Machine) -> None:
    write(one, "other", "A fact of its own.", HOOK)
    one.run("save")
    write(one, "other", "A fact of its own.", "About other")
    one.run("save")


def in_the_index_alone(one: Machine) -> None:
    folder = one.code / FOLDER
    write(one, "other", "A fact of its own.")
    text = (folder / "MEMORY.md").read_text()
    (folder / "MEMORY.md").write_text(f"# On the {WORDS}\n\n{text}")
    one.run("save")
    (folder / "MEMORY.md").write_text(text)
    one.run("save")


def undone(one: Machine) -> None:
    one.run(
        "remember", f"It is about the {WORDS}", "--type", "project", "--scope", "project", "--name", NAME
    )
    one.run("undo")


def restored_over(one: Machine) -> None:
    before = (
        one.git("rev-parse", "refs/gitmem/project")
        if one.git("for-each-ref", "refs/gitmem/project")
        else ""
    )
    plant(one)
    at = before or one.git("rev-parse", f"{PROJECT}~1")
    one.run("restore", "--all", "--scope", "project", "--at", at)


def renamed(one: Machine) -> None:
    write(one, NAME, "A fact of its own.\n\nAnother fact.", "About other")
    one.run("save")
    drop(one, NAME)
    write(one, "plain", "A fact of its own.\n\nAnother fact.", "About other")
    one.run("save")


def retyped(one: Machine) -> None:
    plant(one, "user")
    write(one, NAME, "A plain fact.", type="project")
    one.run("save")
    drop(one, NAME)
    one.run("save")


def dropped_by_a_dream(one: Machine) -> None:
    body = f"---\nname: other\ndescription: About other\ntype: project\n---\n\nA fact.\n\nOf the {WORDS}.\n"
    put(one, f"Learn of the {WORDS}", {"reviewer/other.md": body.encode()})
    from gitmem.core.account import claims_at, reference

    gone = claims_at("reviewer/other.md", body.encode())[1]
    fate = Fate("dropped", reference("reviewer/other.md", gone), "", f"the {WORDS} is no more")
    left = body.replace(f"\n\nOf the {WORDS}.", "").encode()
    told = Provenance(op="dream", writer="dream", claims=(fate,))
    put(one, f"Drop the {WORDS}", {"reviewer/other.md": left}, told)


def line_of_a_log(one: Machine) -> None:
    day = "reviewer/logs/2026/11/2026-11-20.md"
    lines = ["- 10:00:00Z [project s1] A plain line.\n", f"- 11:00:00Z [project s1] Of the {WORDS}.\n"]
    put(one, f"Note the {WORDS}", {day: "".join(lines).encode()})
    one.run("forget", "--claim", f"Of the {WORDS}.")


def archived_then_forgotten(one: Machine) -> None:
    plant(one)
    from gitmem.core.names import archive_path

    data = one.memories("project")[f"reviewer/{NAME}.md"].encode()
    place = f"reviewer/{archive_path(f'{NAME}.md')}"
    put(one, f"Page {NAME} out", {f"reviewer/{NAME}.md": None, place: data}, Provenance(op="page"))
    one.run("save")
    one.run("forget", NAME)


def told_by_a_subject(one: Machine) -> None:
    """Of a commit that changes something else, and of trailers."""
    plant(one)
    body = b"---\nname: plain\ndescription: About plain\ntype: project\n---\n\nA plain fact.\n"
    put(one, f"Remember plain: unlike {NAME}", {"reviewer/plain.md": body})
    one.run("forget", NAME)


def with_a_tombstone_taken_back(one: Machine) -> None:
    """Forgotten, restored, and moved away in the end."""
    plant(one)
    one.run("forget", NAME)
    one.run("restore", NAME)
    one.run("move", NAME, "--to", "local")


WAYS: tuple[Callable[[Machine], None], ...] = (
    moved,
    moved_to_user,
    forgotten,
    forgotten_claim,
    deleted_by_the_agent,
    edited_away,
    described_otherwise,
    in_the_index_alone,
    undone,
    restored_over,
    renamed,
    retyped,
    dropped_by_a_dream,
    line_of_a_log,
    archived_then_forgotten,
    told_by_a_subject,
    with_a_tombstone_taken_back,
)

ways = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


@pytest.fixture
def team(tmp_path: Path, git, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    return Team(tmp_path, git, monkeypatch, capsys)


@pytest.fixture
def ann(team: Team) -> Machine:
    """Somebody who keeps memory for herself so far."""
    one = team.person("ann", mode="")
    write(one, "ports", "Ports start at 4000.\n\nHosts have names.")
    one.run("save")
    return one


def there(team: Team) -> set[str]:
    return {path for path in team.files() if path.endswith(".md") and "MEMORY" not in path}


@ways
def test_before_anything_was_shared(team: Team, ann: Machine, way: Callable[[Machine], None]) -> None:
    way(ann)
    write(ann, "hosts", "Hosts are in racks.")
    ann.run("save")
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    assert found(team.bare) == []
    assert {"reviewer/ports.md", "reviewer/hosts.md"} <= there(team)


@ways
def test_in_a_clone_that_shares_already(team: Team, ann: Machine, way: Callable[[Machine], None]) -> None:
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    published = team.refs()[PROJECT]
    way(ann)
    write(ann, "hosts", "Hosts are in racks.")
    ann.run("save")
    ann.run("sync", "-y")
    assert found(team.bare) == []
    assert {"reviewer/ports.md", "reviewer/hosts.md"} <= there(team)
    assert team.git("-C", team.bare, "merge-base", published, PROJECT) == published


def test_a_scan_finds_what_is_planted(team: Team, ann: Machine) -> None:
    """Else the tests above would say nothing."""
    plant(ann)
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    assert found(team.bare) == list(MARKS)


@ways
def test_what_stands_is_blamed_as_before(team: Team, ann: Machine, way: Callable[[Machine], None]) -> None:
    put(ann, "Learn of racks", {"reviewer/racks.md": RACKS})
    way(ann)
    stands = sorted(path for path in ann.memories("project") if "MEMORY" not in path)
    before = {path: blamed(ann, path) for path in stands}
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    after = {path: blamed(ann, path) for path in stands}
    assert after == before
    assert "s-1" in str(after["reviewer/racks.md"])


@ways
def test_what_was_gone_is_found_again_here(ann: Machine, way: Callable[[Machine], None]) -> None:
    before = {path for path in ann.memories("project") if NAME in path}
    way(ann)
    gone = any(NAME in path for path in stood(ann)) and not any(NAME in p for p in ann.memories("project"))
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    assert before == set()
    if gone:
        ann.run("restore", NAME, "--scope", "project")
        assert any(NAME in path for path in ann.memories("project"))


def test_an_undo_takes_back_what_was_forgotten_before_it_was_shared(team: Team, ann: Machine) -> None:
    forgotten(ann)
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    ann.run("undo")
    ann.run("undo")
    assert WORDS in ann.memories("project")[f"reviewer/{NAME}.md"]


def test_a_date_before_it_was_shared_shows_what_stood_then(ann: Machine) -> None:
    plant(ann)
    then = ann.now
    ann.run("forget", NAME)
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(then, UTC).isoformat()
    assert WORDS in ann.run("show", NAME, "--at", at).out


RACKS = (
    b"---\nname: racks\ndescription: About racks\ntype: project\n---\n\nRacks are tall.\n\nAnd narrow.\n"
)


def blamed(one: Machine, path: str) -> object:
    import json

    rows = json.loads(one.run("blame", path.removesuffix(".md").rpartition("/")[2], "--json").out)
    return without_commits(rows)


def without_commits(value: object) -> object:
    """What blame says, but for the names of commits, and of files as they once were."""
    if isinstance(value, dict):
        left_out = ("commit", "subject", "path")
        return {key: without_commits(one) for key, one in value.items() if key not in left_out}
    return [without_commits(one) for one in value] if isinstance(value, list) else value


def stood(one: Machine) -> set[str]:
    """Every path that project memory ever had here."""
    listed = one.git("log", "--all", "--format=", "--name-only", "refs/gitmem/project")
    return {line for line in listed.splitlines() if line.startswith("reviewer/")}
