"""A text leaves all history of memory: here, at the remote, and in every clone after its next sync."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from machines import Begin, Machine
from memory_files import proposed
from purge_ground import (
    PROJECT,
    SECRET,
    MakeMachine,
    files_holding,
    holding,
    is_gone,
    live,
    memory,
    messages,
    objects,
    tip,
)
from ran import Ran

from gitmem.flows import purge as purging
from gitmem.ledger.epochs import OtherEpoch, epoch_of
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.state import Space
from gitmem.ledger.suggestions import open_suggestions, propose, settle, suggest

KEPT = Space("any", 9)


@dataclass(frozen=True)
class Before:
    """What stood before the purge of `purged`, and what that said."""

    messages: list[str]
    commits: list[str]
    dangling: tuple[str, str]
    said: Ran


BEFORE: list[Before] = []


@pytest.fixture
def purged(ann: Machine, starting: Begin, git) -> Machine:
    """Ann, who has purged the secret from all that may hold it; made once, and looked at from each side."""

    def make() -> list[Machine]:
        ann.learn("mine", f"My own note says {SECRET} too.")
        ann.run("save")
        assert holding(ann.code / ".git") and holding(ann.private)
        ann.run("recall", "the password")
        assert holding_a_word(ann)
        for folder in states(ann):
            assert KEPT.put(folder, "why", f"refused: {SECRET}") and KEPT.put(folder, SECRET, [1])
            assert SECRET.encode() in (folder / "state.db").read_bytes()
        thought = "a thought that was never committed"
        blob = git("-C", ann.code, "hash-object", "-w", "--stdin", input=thought)
        commit = ann.git("commit-tree", "-m", "dropped", ann.git("write-tree"))
        first = ann.git("rev-list", "--reverse", PROJECT).splitlines()
        ann.git("branch", "gitmem/dream/d-1", PROJECT)
        ann.git("push", "-q", "--no-verify", "origin", "gitmem/dream/d-1:gitmem/inbox/cem-example-com")
        ann.git("update-ref", "refs/gitmem/rejected/r-1", PROJECT)
        side = ann.git("commit-tree", "-p", first[2], "-m", "A dream", f"{first[2]}^{{tree}}")
        ann.git("update-ref", "refs/heads/gitmem/dream/d-2", side)
        told = messages(ann)
        BEFORE[:] = [Before(told, first, (blob, commit), ann.run("purge", SECRET, "-y"))]
        return [ann]

    return starting("ann-purged", make)[0]


def states(machine: Machine) -> tuple[Path, Path]:
    """Where its bookkeeping is."""
    return machine.code / ".git/gitmem", machine.private.parent / "state"


def holding_a_word(machine: Machine) -> list[Path]:
    """Search indexes that hold a word of the secret: the text as a whole is never in one."""
    files = [path for path in machine.home.rglob("catalog.sqlite*") if path.is_file()]
    return [path for path in files if b"zanzibar" in path.read_bytes()]


def test_the_text_is_in_no_object_and_no_file_afterwards(purged: Machine, team: Path, git) -> None:
    ann, ran = purged, BEFORE[0].said
    assert "rotate the secret first" in ran.err and "the text is in none" in ran.out
    assert is_gone(ann)
    assert "The password is [purged]." in ann.memories("project")["reviewer/login.md"]
    assert "Ask Ben for access." in ann.memories("project")["reviewer/login.md"]
    assert "[purged]" in ann.memories()["main/mine.md"]
    assert "[purged]" in live(ann, "login").read_text()
    git("-C", ann.code, "fsck", "--strict")
    git("--git-dir", ann.private, "fsck", "--strict")
    reachable = git("--git-dir", team, "rev-list", "--objects", "--all").splitlines()
    theirs = objects(team)
    assert not any(SECRET.encode() in theirs[line.split()[0]][1] for line in reachable)
    # What dangles in the code repository survives.
    blob, commit = BEFORE[0].dangling
    assert ann.git("cat-file", "-p", blob) == "a thought that was never committed"
    assert ann.git("cat-file", "-t", commit) == "commit"


def test_no_index_and_no_bookkeeping_holds_the_text_afterwards(purged: Machine) -> None:
    """Each is one file of SQLite: as bytes it cannot be edited, and it keeps what was deleted."""
    for folder in states(purged):
        assert SECRET.encode() not in (folder / "state.db").read_bytes()
        assert KEPT.all(folder) == {"why": "refused: [purged]", "[purged]": [1]}
    assert holding_a_word(purged) == []
    purged.run("recall", "the password")
    assert holding_a_word(purged) == [] and list(purged.home.rglob("catalog.sqlite*"))


def test_history_stays_the_same_but_for_the_text(purged: Machine) -> None:
    first, after = BEFORE[0].commits, messages(purged)
    assert after[1:] == BEFORE[0].messages and after[0].endswith("Purge a text from history")
    assert "Gitmem-Op: purge" in purged.git("log", "-1", "--format=%B", PROJECT)
    now = purged.git("rev-list", "--reverse", PROJECT).splitlines()
    # The root, what tells git how to merge, and the first memory came before the secret.
    assert now[:3] == first[:3] and now[3] != first[3]
    assert not set(first[3:]) & set(now)
    text = purged.git("log", "--format=%B", PROJECT)
    assert not any(old in text for old in first[3:])
    assert str(epoch_of(purged.workspace.code, tip(purged))).startswith("1 ")


def test_side_branches_are_rewritten_here_and_at_the_remote(purged: Machine, team: Path, git) -> None:
    listed = git("--git-dir", team, "for-each-ref", "--format=%(refname)", "refs/heads/gitmem")
    assert "refs/heads/gitmem/inbox/cem-example-com" in listed
    for ref in listed.splitlines():
        assert SECRET not in git("--git-dir", team, "log", "-p", ref)
    repo = purged.workspace.code
    assert {"refs/heads/gitmem/dream/d-1", "refs/gitmem/rejected/r-1"} <= repo.refs("refs/").keys()
    # One without the text goes along into the new epoch.
    dream = repo.ref("refs/heads/gitmem/dream/d-2") or ""
    assert epoch_of(repo, dream) == epoch_of(repo, tip(purged))
    assert merge_commits(repo, tip(purged), dream).commit


def test_it_reaches_into_what_waits_and_what_was_decided(ann: Machine) -> None:
    who = ann.workspace.author(1_795_000_000)
    waits = set()
    for scope, names in (("local", ("hosts", "ports")), ("project", ("racks", "lamps"))):
        changes = [
            proposed(name, description=f"{name}: {SECRET}", body=f"Say {SECRET} to {name}.", reason=SECRET)
            for name in names
        ]
        both = propose(ann.workspace, [suggest(one, scope, "2026-11-20T10:00:00Z") for one in changes], who)
        settle(ann.workspace, [both[0].id], "accepted")
        waits.add(both[1].id)
    ann.run("purge", SECRET, "-y")
    assert is_gone(ann)
    left = {one.id: one.change.body for one in open_suggestions(ann.workspace)}
    assert left.keys() == waits
    assert {*left.values()} == {"Say [purged] to ports.", "Say [purged] to lamps."}
    ann.run("review", "accept", *waits)
    assert "Say [purged] to ports." in str(ann.memories("local"))
    assert "Say [purged] to lamps." in str(ann.memories("project"))


def test_what_waits_about_a_memory_goes_with_it(ann: Machine) -> None:
    who = ann.workspace.author(1_795_000_000)
    scopes = ("local", "project")
    for number, scope in enumerate(scopes, 1):
        ann.learn(scope, f"Mellon opens {scope}.", scope=scope, agent="reviewer")
        ann.run("save")
        new, other = (
            proposed(scope, op="update", body=text, agent="reviewer", file=file)
            for text, file in (
                (f"Never say shibboleth {scope}.", f"{scope}.md"),
                (f"Ask Ben in {scope}.", "login.md"),
            )
        )
        propose(ann.workspace, [suggest(one, scope, "2026-11-20T10:00:00Z") for one in (new, other)], who)
        ann.run("purge", scope, "--memory", "--scope", scope, "-y")
        assert is_gone(ann, f"Mellon opens {scope}.") and is_gone(ann, f"Never say shibboleth {scope}.")
        left = [(one.scope, one.change.file) for one in open_suggestions(ann.workspace)]
        assert sorted(left) == [(each, "login.md") for each in scopes[:number]]


def test_nothing_is_purged_by_a_dry_run_without_an_answer_or_of_a_text_that_may_not_be_meant(ann) -> None:
    before = (tip(ann), sorted(objects(ann.code / ".git")))
    value = ann.run("purge", SECRET, "-n", "--json").json
    assert value["holding"] == 2 and value["commits"] == 2
    assert {"ref": PROJECT, "private": False} in value["refs"] and "reviewer/login.md" in value["paths"]
    assert "would be rewritten" in ann.run("purge", SECRET, code=1).out
    for words, why in (
        (["a b"], ["fewer than"]),
        (["description"], ["gitmem writes it"]),
        (["login"], ["--memory", "--text"]),
        ([SECRET, "--scope", "project"], ["from all scopes"]),
        ([SECRET, "--agent", "reviewer"], ["from all scopes"]),
    ):
        said = ann.run("purge", *words, "-y", code=2).err
        assert all(part in said for part in why), words
    assert (tip(ann), sorted(objects(ann.code / ".git"))) == before


def test_unsaved_edits_and_a_name_made_of_the_text_are_kept_without_it(ann: Machine) -> None:
    ann.run(
        "remember", f"{SECRET} opens it.", "--scope", "project", "--type", "project", "--agent", "reviewer"
    )
    live(ann, "hosts").write_text(memory("hosts", f"Hosts have names.\n\nUnsaved, with {SECRET} in it."))
    # From standard input, so that the secret is in no shell history.
    ann.patch.setattr(sys, "stdin", io.StringIO(f"{SECRET}\n"))
    ann.run("purge", "-", "-y")
    assert is_gone(ann)
    assert "Unsaved, with [purged] in it." in live(ann, "hosts").read_text()
    assert any("[purged]" in path for path in ann.memories("project"))


def test_a_whole_memory_goes_with_its_index_lines_and_all_that_was_said_of_it(ann: Machine) -> None:
    """Also one that was renamed and forgotten since."""
    ann.run("remember", "The vault is behind the old mill.", "--name", "vault-place", "--scope", "project",
            "--type", "project", "--agent", "reviewer")  # fmt: skip
    assert "vault-place" in ann.memories("project")["reviewer/MEMORY.md"]
    live(ann, "login").rename(live(ann, "signing-in"))
    ann.run("save", "--delete")
    ann.run("forget", "signing-in")
    for name in ("vault-place", "signing-in"):
        ann.run("purge", name, "--memory", "-y")
    assert "reviewer/vault-place.md" not in ann.memories("project")
    assert "vault-place" not in ann.memories("project")["reviewer/MEMORY.md"]
    assert not live(ann, "vault-place").exists()
    assert holding(ann.code / ".git", "old mill") == holding(ann.code / ".git") == []
    assert "Ports start at 4000." in ann.memories("project")["reviewer/ports.md"]
    ann.git("fsck", "--strict")


def test_a_text_that_is_wrapped_or_cut_short_is_found(ann: Machine) -> None:
    text = "the garden gate opens with the rusty key"
    wrapped = text.replace("opens with", "opens\n  with").replace(" key", "\nkey")
    ann.learn("gate", f"Note: {wrapped}.", scope="project", agent="reviewer")
    words = ("--name", "key-gate", "--scope", "project", "--type", "project", "--agent", "reviewer")
    ann.run("remember", f"{text}.", *words, "--description", "the garden gate opens with…")
    assert "forks, and clones" in ann.run("purge", text, "-y").err
    for part in ("garden gate opens", "rusty"):
        assert holding(ann.code / ".git", part) == []


def test_what_was_forgotten_moved_or_undone_does_not_come_back(ann: Machine) -> None:
    """Files that layouts moved aside hold the text, too; less it, they are no edit of anybody's."""
    (ann.code / ".claude/agent-memory/main").mkdir(parents=True)
    said = ["--type", "project", "--scope", "project"]
    ann.run("remember", "ZEBRAKEY salary talk plus pineapple here.", "--name", "mv", *said)
    ann.run("move", "mv", "--to", "local")
    ann.run("remember", "Forgotten thing plus pineapple there.", "--name", "fg", *said)
    ann.run("forget", "fg")
    ann.run("remember", "Undone thing plus pineapple elsewhere.", "--name", "un", *said)
    ann.run("undo")
    ann.run("sync", "-y")
    ann.run("purge", "pineapple", "-y")
    ann.run("save")
    shared = ann.memories("project")
    assert not {"main/mv.md", "main/fg.md", "main/un.md"} & shared.keys()
    assert "salary talk plus [purged]" in ann.memories()["main/mv.md"]
    ann.run("sync", "-y")
    tree = set(ann.git("ls-tree", "-r", "--name-only", PROJECT).splitlines())
    assert not {"main/mv.md", "main/fg.md", "main/un.md"} & tree
    assert is_gone(ann, "pineapple")


def test_a_late_edit_of_a_file_that_a_layout_moved_aside_is_kept_without_the_text(ann: Machine) -> None:
    """Of what stood there only the writer's own line comes, on top of what the memory says by now."""
    path = live(ann, "login")
    was = path.read_bytes()
    ann.run("remember", "Ask Cem, too.", "--name", "login", "--scope", "project", "--agent", "reviewer")
    asides = [
        one for one in (ann.workspace.state / "displaced").glob("*/*/login.md") if one.read_bytes() == was
    ]
    assert asides

    def late(*_: object) -> None:
        asides[0].write_bytes(was + f"\nWritten late about {SECRET}.\n".encode())

    ann.patch.setattr(purging, "keep_up", late)
    ann.run("purge", SECRET, "-y")
    found = ann.memories("project")["reviewer/login.md"]
    assert "Written late about [purged]." in found and "The password is" not in found
    assert is_gone(ann)


@pytest.mark.parametrize("how", [("repack", "-adq"), ("gc", "--quiet")], ids=["kept", "by gc"])
def test_packed_objects_are_erased_and_the_rest_of_the_pack_stays(ann: Machine, git, how) -> None:
    blob = git("-C", ann.code, "hash-object", "-w", "--stdin", input="dangling")
    ann.git(*how)
    packs = ann.code / ".git/objects/pack"
    if how[0] == "repack":
        (pack,) = packs.glob("*.pack")
        pack.with_suffix(".keep").write_text("mine\n")
    ann.git("multi-pack-index", "write")
    ann.git("commit-graph", "write", "--reachable", "--changed-paths")
    ann.run("purge", SECRET, "-y")
    assert is_gone(ann)
    assert [path.read_text() for path in packs.glob("*.keep")] == ["mine\n"] * (how[0] == "repack")
    assert git("-C", ann.code, "cat-file", "-p", blob) == "dangling"
    ann.git("fsck", "--strict", "--no-dangling")
    ann.git("commit-graph", "verify")
    assert ann.git("log", "--format=%s", "main") == "first"


def test_what_the_code_holds_is_listed_and_left_alone(ann: Machine) -> None:
    old = tip(ann)
    ann.git("branch", "keep", old)
    (ann.code / "config.txt").write_text(f"password = {SECRET}\n")
    ann.git("add", "config.txt")
    ann.git("add", "-f", ".claude/agent-memory/reviewer/login.md")
    ann.git("commit", "-qm", "Configure")
    ran = ann.run("purge", SECRET, "-y", code=1)
    assert "config.txt in the code repository" in ran.out
    assert "a ref, index or log that is not gitmem's refers to it" in ran.out
    assert ann.git("show", "HEAD:config.txt") == f"password = {SECRET}"
    assert f"{live(ann, 'login')}: the code branch tracks it" in ran.out
    assert SECRET in live(ann, "login").read_text()
    assert SECRET not in "".join(ann.memories("project").values())
    with pytest.raises(OtherEpoch):
        merge_commits(ann.workspace.code, old, tip(ann))


def test_a_writer_in_between_is_taken_along(ann: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    from gitmem.ledger import purge as flow

    moved, once = flow.move_refs, []

    def slow(repo, moves, message):
        if not once:
            once.append(1)
            ann.learn("quick", f"Quicker, with {SECRET}.", scope="project", agent="reviewer")
        moved(repo, moves, message)

    monkeypatch.setattr(flow, "move_refs", slow)
    ann.run("purge", SECRET, "-y")
    assert "Quicker, with [purged]." in ann.memories("project")["reviewer/quick.md"]
    assert is_gone(ann)


@pytest.mark.parametrize("words", [(), ("--no-push",)], ids=["refused", "not pushed"])
def test_a_remote_without_it_is_told_and_moved_by_a_sync(ann, team, git, words: tuple[str, ...]) -> None:
    git("--git-dir", team, "config", "receive.denyNonFastForwards", "true")
    ran = ann.run("purge", SECRET, "-y", *words)
    assert ("refused gitmem/project" in ran.err) is not bool(words)
    assert is_gone(ann)
    git("--git-dir", team, "config", "receive.denyNonFastForwards", "false")
    ann.run("sync", "-y")
    assert git("--git-dir", team, "rev-parse", PROJECT) == tip(ann)
    assert SECRET not in git("--git-dir", team, "log", "-p", PROJECT)
    assert is_gone(ann)


@pytest.mark.long
def test_the_backup_is_rewritten_too(ann: Machine, machine: MakeMachine, tmp_path: Path, git) -> None:
    safe = tmp_path / "safe.git"
    git("init", "-q", "--bare", safe)
    ann.learn("mine", f"Mine: {SECRET}.")
    ann.run("backup", safe, "-y")
    laptop = machine("laptop")
    laptop.run("init", "-y", "--backup", safe)
    laptop.learn("more", "Learned on the laptop.")
    ann.run("purge", SECRET, "-y")
    assert is_gone(ann)
    assert SECRET not in git("--git-dir", safe, "log", "-p", "--all")
    laptop.run("backup")
    assert holding(laptop.private) == []
    assert "Learned on the laptop." in laptop.memories()["main/more.md"]
    ann.run("backup")
    assert ann.memories() == laptop.memories()


KILLED = """
import json, os, signal, sys
from pathlib import Path
import gitmem.cli.app, gitmem.cli.purge
from gitmem.entry import main
from gitmem.ledger import erase
from gitmem.ledger import purge as flow
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
for line in sys.stdin:
    step, folder, environ, words = json.loads(line)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    where, name = {
        "before-push": (flow.Purging, "_moves"),
        "before-move": (flow, "move_refs"),
        "after-move": (flow.Purging, "scrub"),
        "before-erase": (erase, "erase_old"),
        "in-erase": (erase.Path, "unlink"),
    }[step]
    setattr(where, name, die)
    sys.argv, sys.stdout = ["gitmem", *words], sys.stderr
    os._exit(main())
"""


@pytest.fixture(scope="module")
def killed() -> Iterator[Callable[[Machine, str], int]]:
    """Purges in a process that dies at a step, and gives its exit code; gitmem is loaded once for all."""
    words = [sys.executable, "-c", KILLED]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, env=environ, text=True, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as process:
        to, back = process.stdin, process.stdout
        assert to is not None
        assert back is not None

        def run(machine: Machine, step: str) -> int:
            machine.enter()
            around = {**os.environ, "GITMEM_NOW": str(machine.now + 60)}
            asked = [step, str(machine.code), around, ["purge", SECRET, "-y"]]
            to.write(json.dumps(asked) + "\n")
            to.flush()
            return int(back.readline())

        yield run
        to.close()


@pytest.mark.parametrize("step", ["before-push", "before-move", "after-move", "before-erase", "in-erase"])
def test_a_purge_that_was_killed_is_finished_by_running_it_again(ann, killed, step: str) -> None:
    assert killed(ann, step) == -signal.SIGKILL
    ann.git("fsck", "--no-dangling")
    assert "Ports start at 4000." in ann.memories("project")["reviewer/ports.md"]
    ann.run("purge", SECRET, "-y")
    assert is_gone(ann)
    assert "Hosts have names." in ann.memories("project")["reviewer/hosts.md"]
    ann.git("fsck", "--strict", "--no-dangling")


def test_unshared_nothing_is_pushed_and_sha256_is_no_other(tmp_path, git, monkeypatch, capsys) -> None:
    made = Machine(tmp_path / "sha", monkeypatch, capsys)
    for words in (["--bare", tmp_path / "team.git"], [made.code]):
        git("init", "-q", "--object-format=sha256", *words)
    made.git("commit", "-q", "--allow-empty", "-m", "first")
    made.git("remote", "add", "origin", tmp_path / "team.git")
    made.git("push", "-q", "origin", "main")
    made.run("init", "-y")
    made.learn("login", f"The password is {SECRET}.", scope="project", agent="reviewer")
    made.learn("mine", f"And {SECRET}.", scope="user", agent="helper")
    made.run("save")
    made.run("purge", SECRET, "-y")
    assert is_gone(made)
    assert "gitmem" not in git("--git-dir", tmp_path / "team.git", "for-each-ref")


def test_a_short_text_goes_from_the_name_of_the_memory_that_says_it(ann: Machine) -> None:
    ann.run("remember", "The pin is Durian for deploys.")
    assert any("durian" in path for path in ann.memories())
    ran = ann.run("purge", "Durian", "-y")
    assert "the text is in none" in ran.out
    for path, text in ann.memories().items():
        assert "durian" not in f"{path}\n{text}".lower()
    for _, data in objects(ann.private).values():
        assert b"durian" not in data.lower()


def test_a_memory_in_a_sub_folder_goes_whole(ann: Machine) -> None:
    """Text, live file, the record of that, index lines, and what the search index knows of it."""
    where = live(ann, "topics/vault")
    where.parent.mkdir()
    where.write_text(memory("vault", "The vault is behind the quondam mill."))
    ann.run("save")
    ann.run("recall", "where is the vault")
    assert "reviewer/topics/vault.md" in ann.memories("project")
    assert "topics/vault.md" in ann.memories("project")["reviewer/MEMORY.md"]
    state = ann.workspace.state
    assert files_holding(state, "topics/vault.md") and files_holding(ann.code / ".git", "quondam")
    ann.run("purge", "topics/vault", "--memory", "-y")
    assert is_gone(ann, "quondam mill") and not where.exists()
    assert files_holding(ann.home, "quondam") == [], "nor does the search index hold a word of it"
    assert files_holding(state, "topics/vault.md") == [], "nor the record of the folder its name"
    kept = ann.memories("project")
    assert "reviewer/topics/vault.md" not in kept and "vault" not in kept["reviewer/MEMORY.md"]
    assert "Ports start at 4000." in kept["reviewer/ports.md"]
    ann.git("fsck", "--strict")
    ann.run("save")
    assert not where.exists() and "vault" not in str(ann.memories("project"))
