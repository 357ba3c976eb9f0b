"""What never left does not leave in history: a raw scan of the remote, however it came about."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from machines import MEMORY, Begin, Machine
from once import home_folder, place, tmp_path
from sync_ground import PROJECT, Team, team

from gitmem.core.account import claims_at, reference
from gitmem.core.names import archive_path
from gitmem.core.trailers import Fate, Provenance
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository, Signature
from gitmem.ledger.blame import blame_memory
from gitmem.ledger.land import Ref, Tip, Write, land
from gitmem.ledger.workspace import SHARED_REF, Workspace

__all__ = ["home_folder", "place", "team", "tmp_path"]


FOLDER = ".claude/agent-memory/reviewer"


class Planted(NamedTuple):
    """The name of a memory, what it says, how it is described; and the name of one that stays."""

    name: str
    words: str
    hook: str
    other: str

    @property
    def marks(self) -> tuple[str, ...]:
        return (self.name, *self.words.split(), *self.hook.split())


FIRST = Planted("acme-layoff", "ostrich lantern", "walrus trumpet", "other")
NAME, WORDS, HOOK, _ = FIRST
MARKS = FIRST.marks


def another(number: int) -> Planted:
    """What shares no word with any other."""
    letters = random.Random(number)
    a, b, c, d, e, f = ("".join(letters.choices("bcdfgklmnprstvz", k=9)) for _ in range(6))
    return Planted(f"{a}-{b}", f"{c} {d}", f"{e} {f}", f"other{number}")


def write(one: Machine, name: str, text: str, description: str = "", type: str = "project") -> None:
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
    listed.write_text("".join(f"{line}\n" for line in [*kept, f"- [{name}]({name}.md) — {told}"]))


def drop(one: Machine, name: str) -> None:
    """Lets an agent delete a memory, and its line."""
    folder = one.code / FOLDER
    (folder / f"{name}.md").unlink()
    listed = folder / "MEMORY.md"
    lines = listed.read_text().splitlines()
    listed.write_text("".join(f"{line}\n" for line in lines if f"]({name}.md)" not in line))


def save(one: Machine, name: str, text: str, description: str = "", type: str = "project") -> None:
    write(one, name, text, description, type)
    one.run("save")


def share(one: Machine) -> None:
    one.run("share", "--mode", "direct", "-y")
    one.run("sync", "-y")


def plant(one: Machine, type: str = "project", it: Planted = FIRST) -> None:
    save(one, it.name, f"It is about the {it.words}.", it.hook, type)


def put(
    one: Machine,
    subject: str,
    edits: dict[str, bytes | None],
    told: Provenance | None = None,
    workspace: Workspace | None = None,
) -> str:
    """Commits to the memory ref, as a flow would."""
    one.now += 60
    scope = (workspace or one.workspace).scope("project")
    who = Signature("Ann", "ann@example.com", one.now)

    def plan(_: Tip) -> Write:
        return Write(edits, subject, told or Provenance(op="update", writer="agent", session="s-1"))

    done = land(scope, plan, who)
    return done.commit if done else ""


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


def moved(one: Machine, it: Planted = FIRST) -> None:
    plant(one, it=it)
    one.run("move", it.name, "--to", "local")


def moved_to_user(one: Machine, it: Planted = FIRST) -> None:
    plant(one, it=it)
    one.run("move", it.name, "--to", "user")


def forgotten(one: Machine, it: Planted = FIRST) -> None:
    plant(one, it=it)
    one.run("forget", it.name)


def forgotten_claim(one: Machine, it: Planted = FIRST) -> None:
    save(one, it.other, f"A fact of its own.\n\nAnd of the {it.words} another.")
    one.run("forget", "--claim", f"And of the {it.words} another.")


def deleted_by_the_agent(one: Machine, it: Planted = FIRST) -> None:
    plant(one, it=it)
    drop(one, it.name)
    one.run("save")


def edited_away(one: Machine, it: Planted = FIRST) -> None:
    save(one, it.other, f"It is about the {it.words}.")
    save(one, it.other, "It is about something else.")


def described_otherwise(one: Machine, it: Planted = FIRST) -> None:
    save(one, it.other, "A fact of its own.", it.hook)
    save(one, it.other, "A fact of its own.", f"About {it.other}")


def in_the_index_alone(one: Machine, it: Planted = FIRST) -> None:
    folder = one.code / FOLDER
    write(one, it.other, "A fact of its own.")
    text = (folder / "MEMORY.md").read_text()
    (folder / "MEMORY.md").write_text(f"# On the {it.words}\n\n{text}")
    one.run("save")
    (folder / "MEMORY.md").write_text(text)
    one.run("save")


def undone(one: Machine, it: Planted = FIRST) -> None:
    words = ("--type", "project", "--scope", "project", "--name", it.name)
    one.run("remember", f"It is about the {it.words}", *words)
    one.run("undo")


def restored_over(one: Machine, it: Planted = FIRST) -> None:
    before = (
        one.git("rev-parse", "refs/gitmem/project")
        if one.git("for-each-ref", "refs/gitmem/project")
        else ""
    )
    plant(one, it=it)
    at = before or one.git("rev-parse", f"{PROJECT}~1")
    one.run("restore", "--all", "--scope", "project", "--at", at)


def renamed(one: Machine, it: Planted = FIRST) -> None:
    save(one, it.name, "A fact of its own.\n\nAnother fact.", f"About {it.other}")
    drop(one, it.name)
    save(one, f"plain-{it.other}", "A fact of its own.\n\nAnother fact.", f"About {it.other}")


def retyped(one: Machine, it: Planted = FIRST) -> None:
    plant(one, "user", it)
    save(one, it.name, "A plain fact.", type="project")
    drop(one, it.name)
    one.run("save")


def dropped_by_a_dream(one: Machine, it: Planted = FIRST) -> None:
    body = MEMORY.format(it.other, f"A fact.\n\nOf the {it.words}.")
    put(one, f"Learn of the {it.words}", {f"reviewer/{it.other}.md": body.encode()})
    gone = claims_at(f"reviewer/{it.other}.md", body.encode())[1]
    fate = Fate("dropped", reference(f"reviewer/{it.other}.md", gone), "", f"the {it.words} is no more")
    left = body.replace(f"\n\nOf the {it.words}.", "").encode()
    told = Provenance(op="dream", writer="dream", claims=(fate,))
    put(one, f"Drop the {it.words}", {f"reviewer/{it.other}.md": left}, told)


def line_of_a_log(one: Machine, it: Planted = FIRST) -> None:
    day = "reviewer/logs/2026/11/2026-11-20.md"
    lines = ["- 10:00:00Z [project s1] A plain line.\n", f"- 11:00:00Z [project s1] Of the {it.words}.\n"]
    put(one, f"Note the {it.words}", {day: "".join(lines).encode()})
    one.run("forget", "--claim", f"Of the {it.words}.")


def archived_then_forgotten(one: Machine, it: Planted = FIRST) -> None:
    plant(one, it=it)
    data = one.memories("project")[f"reviewer/{it.name}.md"].encode()
    place = f"reviewer/{archive_path(f'{it.name}.md')}"
    put(one, f"Page {it.name} out", {f"reviewer/{it.name}.md": None, place: data}, Provenance(op="page"))
    one.run("save")
    one.run("forget", it.name)


def told_by_a_subject(one: Machine, it: Planted = FIRST) -> None:
    """Of a commit that changes something else, and of trailers."""
    plant(one, it=it)
    body = b"---\nname: plain\ndescription: About plain\ntype: project\n---\n\nA plain fact.\n"
    put(one, f"Remember plain: unlike {it.name}", {"reviewer/plain.md": body})
    one.run("forget", it.name)


def with_a_tombstone_taken_back(one: Machine, it: Planted = FIRST) -> None:
    """Forgotten, restored, and moved away in the end."""
    plant(one, it=it)
    one.run("forget", it.name)
    one.run("restore", it.name)
    one.run("move", it.name, "--to", "local")


Way = Callable[[Machine, Planted], None]
WAYS: tuple[Way, ...] = (
    moved, moved_to_user, forgotten, forgotten_claim, deleted_by_the_agent, edited_away,
    described_otherwise, in_the_index_alone, undone, restored_over, renamed, retyped,
    dropped_by_a_dream, line_of_a_log, archived_then_forgotten, told_by_a_subject,
    with_a_tombstone_taken_back,
)  # fmt: skip

MANY = (
    moved, forgotten, line_of_a_log, forgotten_claim, edited_away, in_the_index_alone, undone,
    renamed, dropped_by_a_dream,
)  # fmt: skip
FEW = (forgotten, line_of_a_log)


def ways(chosen: tuple[Way, ...]) -> pytest.MarkDecorator:
    """Some in one memory, with words of their own: what is found tells how it came. And each alone."""
    alone = [pytest.param((way,), id=way.__name__, marks=pytest.mark.long) for way in WAYS]
    return pytest.mark.parametrize("ways", [pytest.param(chosen, id="together"), *alone])


def go(one: Machine, ways: tuple[Way, ...]) -> dict[str, Planted]:
    """Goes some ways; gives what each of them planted."""
    planted = {way.__name__: another(number) for number, way in enumerate(ways)}
    for way in ways:
        way(one, planted[way.__name__])
    return planted


def left(bare: Path, planted: dict[str, Planted]) -> dict[str, list[str]]:
    """What is found of what was planted, by the way."""
    data = seen(bare).lower()
    return {
        way: some for way, it in planted.items() if (some := [m for m in it.marks if m.encode() in data])
    }


@pytest.fixture
def ann(team: Team, starting: Begin) -> Machine:
    """Somebody who keeps memory for herself so far."""

    def make() -> list[Machine]:
        one = team.person("ann", mode="")
        write(one, "ports", "Ports start at 4000.\n\nHosts have names.")
        one.run("save")
        return [one]

    return starting("ann-alone", make)[0]


def there(team: Team) -> set[str]:
    return {path for path in team.files() if path.endswith(".md") and "MEMORY" not in path}


@ways(MANY)
def test_before_anything_was_shared(team: Team, ann: Machine, ways: tuple[Way, ...]) -> None:
    """It does not leave; what stands is blamed as before, and what was forgotten is found again here."""
    put(ann, "Learn of racks", {"reviewer/racks.md": RACKS})
    planted = go(ann, ways)
    once = stood(ann)
    stands = sorted(
        path for path in ann.memories("project") if "MEMORY" not in path and "/logs/" not in path
    )
    before = told_by(ann.workspace.code, "refs/gitmem/project", stands)
    save(ann, "hosts", "Hosts are in racks.")
    share(ann)
    assert left(team.bare, planted) == {}
    assert {"reviewer/ports.md", "reviewer/hosts.md"} <= there(team)
    assert told_by(ann.workspace.code, SHARED_REF, stands) == before
    assert "s-1" in str(before["reviewer/racks.md"])
    now = ann.memories("project")
    for it in planted.values():
        if any(it.name in path for path in once) and not any(it.name in path for path in now):
            ann.run("restore", it.name, "--scope", "project")
            assert any(it.name in path for path in ann.memories("project"))


@ways(FEW)
def test_in_a_clone_that_shares_already(team: Team, ann: Machine, ways: tuple[Way, ...]) -> None:
    share(ann)
    published = team.refs()[PROJECT]
    planted = go(ann, ways)
    save(ann, "hosts", "Hosts are in racks.")
    ann.run("sync", "-y")
    assert left(team.bare, planted) == {}
    assert {"reviewer/ports.md", "reviewer/hosts.md"} <= there(team)
    assert team.git("-C", team.bare, "merge-base", published, PROJECT) == published


def test_a_scan_finds_what_is_planted(team: Team, ann: Machine) -> None:
    """Else the tests above would say nothing."""
    plant(ann)
    share(ann)
    assert found(team.bare) == list(MARKS)


def test_what_was_forgotten_before_is_in_no_branch_and_found_again_here(team: Team, ann: Machine) -> None:
    plant(ann)
    then = datetime.fromtimestamp(ann.now, UTC).isoformat()
    ann.run("forget", NAME)
    ann.run("share", "--mode", "direct", "-y")
    ann.git("push", "-q", "origin", PROJECT)
    assert found(team.bare) == [], "a branch is what an ordinary push sends"
    ann.run("sync", "-y")
    assert WORDS in ann.run("show", NAME, "--at", then).out, "a date from before shows what stood then"
    ann.run("undo")
    ann.run("undo")
    assert WORDS in ann.memories("project")[f"reviewer/{NAME}.md"]


RACKS = (
    b"---\nname: racks\ndescription: About racks\ntype: project\n---\n\nRacks are tall.\n\nAnd narrow.\n"
)


def stood(one: Machine) -> set[str]:
    """Every path that project memory ever had here."""
    listed = one.git("log", "--all", "--format=", "--name-only", "refs/gitmem/project")
    return {line for line in listed.splitlines() if line.startswith("reviewer/")}


@ways(FEW)
def test_what_waits_for_review_holds_none_of_it(team: Team, ann: Machine, ways: tuple[Way, ...]) -> None:
    planted = go(ann, ways)
    ann.run("share", "--mode", "review", "-y")
    ann.run("sync", "-y")
    assert any("/inbox/" in ref for ref in team.refs())
    write(ann, "hosts", "Hosts are in racks.")
    save(ann, "granite-kettle", "Of a bronze fiddle.", "On a velvet anchor")
    ann.run("move", "granite-kettle", "--to", "user")
    ann.run("sync", "-y")
    assert left(team.bare, planted) == {}
    assert found(team.bare, ("granite", "bronze", "velvet")) == []


def test_what_is_held_back_is_named_and_leaves_no_trace_when_it_is_moved(team: Team, ann: Machine) -> None:
    plant(ann, "user")
    shared = ann.run("share", "--mode", "direct", "-y")
    assert f"about a person: reviewer/{NAME}" in shared.err
    assert f"git mem move {NAME} --to local" in shared.err
    told = json.loads(ann.run("sync", "-n", "--json").out)
    assert [(one["name"], one["why"]) for one in told["held"]] == [(NAME, "about a person")]
    done = ann.run("sync", "-y")
    assert f"held back, since about a person: reviewer/{NAME}" in done.err
    assert found(team.bare) == []
    assert there(team) == {"reviewer/ports.md"}
    tip = ann.git("rev-parse", PROJECT)
    again = json.loads(ann.run("sync", "-y", "--json").out)
    assert (again["pushed"], again["branch"], len(again["held"])) == (0, None, 1)
    assert ann.git("rev-parse", PROJECT) == tip
    assert (ann.code / FOLDER / f"{NAME}.md").exists()
    save(ann, "hosts", "Hosts are in racks.")
    ann.run("sync", "-y")
    assert there(team) == {"reviewer/ports.md", "reviewer/hosts.md"}
    assert NAME in ann.run("review").out
    ann.run("move", NAME, "--to", "local")
    quiet = ann.run("sync", "-y")
    assert "held back" not in quiet.err
    assert found(team.bare) == []
    assert WORDS in ann.memories("local")[f"reviewer/{NAME}.md"]


def test_a_line_of_a_log_about_a_person_is_held_back(team: Team, ann: Machine) -> None:
    day = "reviewer/logs/2026/11/2026-11-20.md"
    lines = ["- 10:00:00Z [project s1] A plain line.\n", f"- 11:00:00Z [user s1] Of the {WORDS}.\n"]
    put(ann, f"Note the {WORDS}", {day: "".join(lines).encode()})
    ann.run("share", "--mode", "direct", "-y")
    assert WORDS in ann.run("sync", "-y").err
    assert found(team.bare) == []
    assert "A plain line." in team.git("-C", team.bare, "show", f"{PROJECT}:{day}")
    assert WORDS in ann.git("show", f"{PROJECT}:{day}")


@pytest.mark.long
def test_two_people_go_on_after_it(team: Team, ann: Machine) -> None:
    moved(ann)
    plant(ann, "user")
    share(ann)
    ben = team.person("ben")
    ben.run("sync", "-y")
    write(ben, "names", "Names are short.")
    write(ann, "hosts", "Hosts are in racks.")
    for one in (ben, ann, ben, ann):
        one.run("save")
        one.run("sync", "-y")
    known = {"reviewer/ports.md", "reviewer/hosts.md", "reviewer/names.md", "reviewer/MEMORY.md"}
    assert ben.memories("project").keys() == known
    assert ann.memories("project").keys() == {*known, f"reviewer/{NAME}.md"}
    assert found(team.bare) == []
    assert found(ben.code / ".git") == []


@pytest.mark.parametrize("mode", ["direct", "review"])
def test_what_one_edits_while_a_teammate_renames_it_stays_his(team: Team, mode: str) -> None:
    """The name is at the remote, in history: nothing of his commit has to be kept from it."""
    ann, ben = team.people(ann="direct", ben=mode)
    write(ann, "hosts", "There are two hosts.\n\nHosts have names of trees.")
    ann.run("sync", "-y")
    ben.run("sync", "-y")
    write(ben, "hosts", "There are three hosts.\n\nHosts have names of trees.")
    drop(ann, "hosts")
    write(ann, "machines", "There are two hosts.\n\nHosts have names of trees.", "About hosts")
    ann.run("sync", "-y")
    ben.run("sync", "-y")
    tip = ben.workspace.code.ref(SHARED_REF)
    said = {
        one.claim.text: one.origins[0].commit
        for one in blame_memory(ben.workspace.code, tip, "reviewer/machines.md")
    }
    assert ben.git("log", "-1", "--format=%an %s", said["There are three hosts."]) == "Ben Update hosts"


def test_clones_that_had_one_history_before_anything_was_shared_end_at_one_commit(team, ann) -> None:
    """What the second one rebuilds is there already: its branch, too, is set on that."""
    ann.run("share", "--mode", "direct", "-y")
    plant(ann)
    ben = team.person("ben", mode="")
    ben.git("fetch", "-q", ann.code, f"{PROJECT}:{PROJECT}")
    ben.run("share", "--mode", "direct", "-y")
    ben.now += 60
    for one in (ann, ben):
        put(one, "Drop it", {f"reviewer/{NAME}.md": None})
    for one in (ann, ben):
        one.run("sync", "-y")
        assert one.git("rev-parse", PROJECT) == team.refs()[PROJECT]


def test_a_dream_that_waits_stays_what_it_was(team: Team, ann: Machine) -> None:
    plant(ann)
    dreams = "refs/gitmem/dream/d-1234567890"
    repo = ann.workspace.code
    move_ref(repo, dreams, ann.git("rev-parse", "refs/gitmem/project"), None, "dream")
    body = ann.memories("project")["reviewer/ports.md"].replace("4000.", "4000 (2026-11-20).").encode()
    who = Signature("Ann", "ann@example.com", ann.now)
    told = Provenance(op="dream", writer="dream")
    land(Ref(repo, dreams), lambda _: Write({"reviewer/ports.md": body}, "Date it", told), who)
    ann.run("forget", NAME)
    share(ann)
    shared = "refs/heads/gitmem/dream/d-1234567890"
    at = shared if ann.git("for-each-ref", shared) else dreams
    assert ann.git("log", "--format=%s", f"{PROJECT}..{at}") == "Date it"
    assert ann.git("diff", "--name-only", f"{PROJECT}...{at}") == "reviewer/ports.md"
    ann.git("push", "-q", "--no-verify", "origin", at)
    assert found(team.bare) == []


def test_what_is_about_a_person_is_put_in_its_place_when_a_folder_is_adopted(team, tmp_path, git) -> None:
    one = Machine(tmp_path / "eve", team.patch, team.capture)
    git("clone", "-q", team.bare, one.code)
    write(one, NAME, f"It is about the {WORDS}.", HOOK, "user")
    write(one, "ports", "Ports start at 4000.")
    done = one.run("init", "-y")
    assert f"reviewer/{NAME} is about a person: it is in your local memory now" in done.err
    assert "reviewer/ports.md" in one.memories("project")
    assert not any(NAME in path for path in one.memories("project"))
    assert WORDS in one.memories("local")[f"reviewer/{NAME}.md"]
    assert not (one.code / FOLDER / f"{NAME}.md").exists()
    one.run("share", "--mode", "direct", "-y")
    assert "held back" not in one.run("sync", "-y").err
    assert found(team.bare) == []


def test_a_purge_reaches_what_is_kept_here(team: Team, ann: Machine) -> None:
    path = f"ops/{NAME}.md"
    body = f"---\nname: {NAME}\ndescription: {HOOK}\ntype: project\n---\n\nIt is about the {WORDS}.\n"
    put(ann, f"Learn of the {WORDS}", {path: body.encode()})
    put(ann, f"Unlearn the {WORDS}", {path: None})
    share(ann)
    assert found(ann.code / ".git", (WORDS,)) == [WORDS]
    ann.run("purge", WORDS, "-y")
    assert found(ann.code / ".git", (WORDS,)) == []
    ann.run("sync", "-y")
    assert found(team.bare) == []
    ann.run("restore", NAME, "--scope", "project")
    assert "[purged]" in ann.memories("project")[path]


class Story:
    """A made-up history in which every name, description and claim is a word of its own."""

    def __init__(self, one: Machine, seed: int) -> None:
        self.one, self.random, self.workspace = one, random.Random(seed), one.workspace
        self.words = 0
        self.files: dict[str, tuple[str, str, list[str]]] = {}
        self.lines: list[str] = []

    def word(self) -> str:
        self.words += 1
        return f"qx{self.words:04d}z"

    def step(self, number: int) -> None:
        pick, known = self.random, sorted(self.files)
        edits: dict[str, bytes | None] = {}
        told: list[str] = []
        for _ in range(pick.choice((1, 1, 2))):
            act = pick.choice(
                ("add", "add", "claim", "drop", "describe", "rename", "delete", "carry", "line")
            )
            path = pick.choice(known) if known else ""
            if act == "add" or not path or path not in self.files:
                name = self.word()
                path = f"reviewer/{name}.md"
                self.files[path] = (name, self.word(), [self.word() for _ in range(pick.randint(1, 3))])
            name, about, claims = self.files[path]
            told += [name, about, *claims]
            if act == "claim":
                claims.insert(pick.randint(0, len(claims)), self.word())
            elif act == "drop" and len(claims) > 1:
                claims.pop(pick.randrange(len(claims)))
            elif act == "describe":
                self.files[path] = (name, self.word(), claims)
            elif act == "rename":
                fresh = self.word()
                edits[path] = None
                del self.files[path]
                path = f"reviewer/{fresh}.md"
                self.files[path] = (fresh, about, claims)
            elif act == "delete":
                edits[path] = None
                del self.files[path]
            elif act == "carry" and len(claims) > 1 and len(self.files) > 1:
                other = pick.choice(sorted(self.files.keys() - {path}))
                self.files[other][2].append(claims.pop())
                edits[other] = self.body(other)
            elif act == "line":
                self.lines.append(f"- 10:{number:02d}:00Z [project s1] Line {self.word()}.")
                if len(self.lines) > 2:
                    self.lines.pop(pick.randrange(len(self.lines)))
            if path in self.files:
                edits[path] = self.body(path)
        edits["reviewer/MEMORY.md"] = self.index()
        edits["reviewer/logs/2026/11/2026-11-20.md"] = (
            "".join(f"{line}\n" for line in self.lines).encode() or None
        )
        told_by = Provenance(op="update", writer="agent", session=f"s-{number}")
        put(self.one, f"Learn {' '.join(told[:3])}", edits, told_by, self.workspace)

    def body(self, path: str) -> bytes:
        name, about, claims = self.files[path]
        text = "\n\n".join(f"It says {claim}." for claim in claims)
        return f"---\nname: {name}\ndescription: About {about}\ntype: project\n---\n\n{text}\n".encode()

    def index(self) -> bytes:
        rows = (f"- [{name}]({name}.md) — About {about}\n" for name, about, _ in self.files.values())
        return "".join(rows).encode()

    def stands(self) -> set[str]:
        words = {word for name, about, claims in self.files.values() for word in (name, about, *claims)}
        return words | {word for line in self.lines for word in re.findall(r"qx\d+z", line)}


@pytest.mark.parametrize(
    ("seed", "steps"), [(0, 12), *(pytest.param(seed, 25, marks=pytest.mark.long) for seed in range(4))]
)
def test_only_what_stands_leaves_and_is_blamed_as_before(team, ann, seed: int, steps: int) -> None:
    story = Story(ann, seed)
    for number in range(steps):
        story.step(number)
    paths = sorted(story.files)
    before = told_by(story.workspace.code, "refs/gitmem/project", paths)
    share(ann)
    story.workspace = ann.workspace
    for number in range(steps, steps + steps // 2):
        story.step(number)
    gone = set(re.findall(r"qx\d+z", seen(team.bare).decode(errors="replace")))
    paths = sorted(story.files)
    before |= told_by(story.workspace.code, SHARED_REF, paths)
    ann.run("sync", "-y")
    left = set(re.findall(r"qx\d+z", seen(team.bare).decode(errors="replace")))
    assert left - gone <= story.stands() and story.stands() <= left
    assert told_by(ann.workspace.code, SHARED_REF, paths) == {path: before[path] for path in paths}


def told_by(repo: Repository, ref: str, paths: list[str]) -> dict[str, dict[str, set[tuple[object, ...]]]]:
    """When each claim of some memories was taught, by whom, and in which session."""
    tip = repo.ref(ref) or ""
    return {
        path: {
            each.claim.key: {
                (origin.time, one.author, one.provenance.writer, one.provenance.op, one.provenance.session)
                for origin in each.origins
                for one in origin.told
            }
            for each in blame_memory(repo, tip, path)
        }
        for path in paths
    }


def test_no_branch_has_it_where_sharing_dies_on_the_way(team: Team, monkeypatch) -> None:
    """A push of the code may send every branch; the next try ends what was begun."""

    def dies(*_: object, **__: object) -> None:
        raise SystemExit(137)

    one = team.person("ann", mode="")
    forgotten(one)
    save(one, "other", "A fact of its own.")
    for step in ("set_mode", "move_memory"):
        with monkeypatch.context() as patch:
            patch.setattr(f"gitmem.ledger.share.{step}", dies)
            with pytest.raises(SystemExit):
                one.run("share", "-y")
        one.run("save")
        assert (one.code / FOLDER / "other.md").exists()
        one.git("push", "-q", "--no-verify", "--all", "origin")
        assert found(team.bare) == []
    one.run("share", "--mode", "direct", "-y")
    one.run("sync", "-y")
    assert found(team.bare) == [] and "reviewer/other.md" in team.files()
    with monkeypatch.context() as patch:
        patch.setattr("gitmem.ledger.share.set_mode", dies)
        with pytest.raises(SystemExit):
            one.run("share", "--off")
    one.run("save")
    assert (one.code / FOLDER / "other.md").exists()
    one.run("share", "--off")
    assert SHARED_REF not in team.refs(one.code) and "reviewer/other.md" in one.memories("project")
