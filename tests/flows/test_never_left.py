"""What never left does not leave in history: a raw scan of the remote, however it came about."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import Begin, Machine
from slices import often
from sync_ground import PROJECT, Team

from gitmem.core.trailers import Fate, Provenance
from gitmem.git.refs import move_ref
from gitmem.git.repository import Signature
from gitmem.ledger.blame import blame_memory
from gitmem.ledger.land import Ref, Tip, Write, land

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

MANY = (moved, forgotten_claim, edited_away, in_the_index_alone, undone, renamed, dropped_by_a_dream)
FEW = (forgotten, line_of_a_log)
ways = pytest.mark.parametrize("way", often(WAYS, *MANY), ids=lambda way: way.__name__)
few = pytest.mark.parametrize("way", often(WAYS, *FEW), ids=lambda way: way.__name__)


@pytest.fixture
def team(place: Path, git, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    return Team(place, git, monkeypatch, capsys)


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


@ways
def test_before_anything_was_shared(team: Team, ann: Machine, way: Callable[[Machine], None]) -> None:
    way(ann)
    write(ann, "hosts", "Hosts are in racks.")
    ann.run("save")
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    assert found(team.bare) == []
    assert {"reviewer/ports.md", "reviewer/hosts.md"} <= there(team)


@few
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


@few
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


@few
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


@few
def test_what_waits_for_review_holds_none_of_it(
    team: Team, ann: Machine, way: Callable[[Machine], None]
) -> None:
    way(ann)
    ann.run("share", "--mode", "review", "-y")
    ann.run("sync", "-y")
    assert any("/inbox/" in ref for ref in team.refs())
    write(ann, "hosts", "Hosts are in racks.")
    write(ann, "granite-kettle", "Of a bronze fiddle.", "On a velvet anchor")
    ann.run("save")
    ann.run("move", "granite-kettle", "--to", "user")
    ann.run("sync", "-y")
    assert found(team.bare, (*MARKS, "granite", "bronze", "velvet")) == []


def test_the_branch_itself_holds_none_of_it_once_memory_is_shared(team: Team, ann: Machine) -> None:
    """A branch is what an ordinary push sends."""
    forgotten(ann)
    ann.run("share", "--mode", "direct", "-y")
    ann.git("push", "-q", "origin", PROJECT)
    assert found(team.bare) == []


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
    write(ann, "hosts", "Hosts are in racks.")
    ann.run("save")
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
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
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


def test_clones_that_had_one_history_before_anything_was_shared_end_at_one_commit(
    team: Team, ann: Machine
) -> None:
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
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    shared = "refs/heads/gitmem/dream/d-1234567890"
    at = shared if ann.git("for-each-ref", shared) else dreams
    assert ann.git("log", "--format=%s", f"{PROJECT}..{at}") == "Date it"
    assert ann.git("diff", "--name-only", f"{PROJECT}...{at}") == "reviewer/ports.md"
    ann.git("push", "-q", "--no-verify", "origin", at)
    assert found(team.bare) == []


def test_what_is_about_a_person_is_put_in_its_place_when_a_folder_is_adopted(
    team: Team, tmp_path: Path, git
) -> None:
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
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
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
        self.one, self.random = one, random.Random(seed)
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
        put(self.one, f"Learn {' '.join(told[:3])}", edits, told_by)

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


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 4))])
def test_of_any_history_only_what_stands_leaves_and_is_blamed_as_before(
    team: Team, ann: Machine, seed: int
) -> None:
    story = Story(ann, seed)
    for number in range(25):
        story.step(number)
    paths = sorted(story.files)
    before = {path: told_by(ann, "refs/gitmem/project", path) for path in paths}
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    for number in range(25, 40):
        story.step(number)
    gone = set(re.findall(r"qx\d+z", seen(team.bare).decode(errors="replace")))
    paths = sorted(story.files)
    before |= {path: told_by(ann, PROJECT, path) for path in paths}
    ann.run("sync", "-y")
    left = set(re.findall(r"qx\d+z", seen(team.bare).decode(errors="replace")))
    assert left - gone <= story.stands() and story.stands() <= left
    assert {path: told_by(ann, PROJECT, path) for path in paths} == {path: before[path] for path in paths}


def told_by(one: Machine, ref: str, path: str) -> dict[str, set[tuple[int, str]]]:
    """When, and in which session, each claim of a memory was taught."""
    repo = one.workspace.code
    found = blame_memory(repo, one.git("rev-parse", ref), path)
    return {
        each.claim.key: {
            (origin.time, one.provenance.session) for origin in each.origins for one in origin.told
        }
        for each in found
    }
