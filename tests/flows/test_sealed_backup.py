"""An encrypted backup: its host reads nothing, machines meet in it, what is wrong there loses nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from backup_ground import safe
from machines import Begin, Machine
from purge_ground import MakeMachine

from gitmem.ledger import sealed_backup

__all__ = ["safe"]
pyrage = pytest.importorskip("pyrage")

BRANCH = "refs/heads/main"


@pytest.fixture
def identity(place: Path) -> Path:
    """The person's identity, as age-keygen writes it; its recipient beside."""
    made = pyrage.x25519.Identity.generate()
    (place / "recipient").write_text(f"# mine\n{made.to_public()}\n")
    file = place / "identity"
    file.write_text(f"# created: today\n# public key: {made.to_public()}\n{made}\n")
    return file


@pytest.fixture
def desk(machine: MakeMachine, starting: Begin, safe: Path, identity: Path) -> Machine:
    """A machine with memory, backed up without the identity."""

    def make() -> list[Machine]:
        made = machine("desk")
        made.run("init", "-y")
        made.learn("ports", "Ports start at 4000.")
        made.learn("tea", "I drink tea.", scope="user", agent="helper")
        made.run("backup", safe, "--encrypt-to", identity.with_name("recipient"), "-y")
        return [made]

    return starting("sealed-desk", make)[0]


@pytest.fixture
def learned(desk: Machine, starting: Begin) -> Machine:
    """The same machine, which has learned something since, and backed that up."""

    def make() -> list[Machine]:
        desk.learn("coffee", "Coffee is at ten.")
        desk.run("backup")
        return [desk]

    return starting("sealed-desk-learned", make)[0]


@pytest.fixture
def laptop(machine: MakeMachine, starting: Begin, desk: Machine, safe: Path, identity: Path) -> Machine:
    """Another machine, started from the backup with the identity."""

    def make() -> list[Machine]:
        made = machine("laptop")
        made.run("init", "-y", "--backup", safe, "--identity", identity)
        return [made]

    return starting("sealed-desk-and-laptop", make)[0]


def at_host(safe: Path) -> str:
    return subprocess.check_output(["git", "--git-dir", str(safe), "rev-parse", BRANCH], text=True).strip()


def names(safe: Path, commit: str = BRANCH) -> list[str]:
    words = ["git", "--git-dir", str(safe), "ls-tree", "--name-only", commit]
    return subprocess.check_output(words, text=True).split()


def everything(safe: Path) -> bytes:
    """All that the host has: every object whole, and every ref."""
    git = ["git", "--git-dir", str(safe)]
    objects = subprocess.check_output([*git, "cat-file", "--batch-all-objects", "--batch"])
    return objects + subprocess.check_output([*git, "for-each-ref"])


def shows(one: Machine, name: str, scope: str = "local") -> str:
    return one.run("show", name, "--scope", scope).out


def given(words: list[str], data: bytes) -> str:
    return subprocess.run(words, input=data, capture_output=True, check=True).stdout.decode().strip()


def replace_file(safe: Path, name: str, data: bytes | None) -> None:
    """Has the host put other bytes in a file's place, in a commit on top; None takes the file away."""
    git = ["git", "--git-dir", str(safe)]
    rows = subprocess.check_output([*git, "ls-tree", BRANCH], text=True).splitlines()
    kept = [row for row in rows if not row.endswith(f"\t{name}")]
    if data is not None:
        blob = given([*git, "hash-object", "-w", "--stdin"], data)
        kept.append(f"100644 blob {blob}\t{name}")
    tree = given([*git, "mktree"], "".join(f"{row}\n" for row in kept).encode())
    who = ["-c", "user.name=Host", "-c", "user.email=host@example.com"]
    made = subprocess.check_output([*git, *who, "commit-tree", "-m", "x", "-p", BRANCH, tree], text=True)
    subprocess.run([*git, "update-ref", BRANCH, made.strip()], check=True)


def content(safe: Path, name: str) -> bytes:
    return subprocess.check_output(["git", "--git-dir", str(safe), "cat-file", "blob", f"{BRANCH}:{name}"])


def test_the_host_reads_nothing_of_it(learned: Machine, safe: Path) -> None:
    desk = learned
    held = everything(safe)
    assert names(safe) == ["00000001.age", "00000002.age", "key.age"]
    for word in (  # not of three letters: what is encrypted has those by chance
        b"Ports",
        b"4000",
        b"drink",
        b"helper",
        b"coffee",
        b"local/",
        b"ann@",
        b"Ann <",
        desk.workspace.project_id.encode(),
    ):
        assert word not in held
    assert held.count(b"age-encryption.org/v1") == 3
    assert desk.git("for-each-ref", "refs/remotes/backup", private=True)


def test_another_machine_starts_from_it_with_the_identity_alone(machine, desk, laptop, safe, place) -> None:
    assert "Ports start at 4000." in shows(laptop, "ports")
    assert "I drink tea." in shows(laptop, "tea", "user")
    wrong = place / "wrong"
    wrong.write_text(f"{pyrage.x25519.Identity.generate()}\n")
    other = machine("other")
    said = other.run("init", "-y", "--backup", safe, "--identity", wrong).err
    assert f"started without the backup: {wrong} does not open {safe}" in said
    refused = other.run("backup", safe, "-y", code=1).err
    assert "no private memory: main" in refused and "--identity FILE" in refused


def test_an_ssh_key_will_do(machine: MakeMachine, desk: Machine, safe: Path, place: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen here")
    key = place / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ann@host", "-f", key], check=True)
    desk.run("backup", "--encrypt-to", key.with_suffix(".pub"))
    assert "ann@host" not in desk.git("config", "--global", "gitmem.backupEncryptTo")
    other = machine("other")
    other.run("init", "-y", "--backup", safe, "--identity", key)
    assert "Ports start at 4000." in shows(other, "ports")


def test_what_two_machines_learn_meets_and_nothing_is_overwritten(desk, laptop, safe, monkeypatch) -> None:
    """The laptop sends while the desk is about to: the desk takes that in before it sends."""
    desk.learn("coffee", "Coffee is at ten.")
    laptop.learn("lunch", "Lunch is at noon.")
    send, raced = sealed_backup.SealedRemote.push_all, []

    def push_all(self: sealed_backup.SealedRemote, moves):
        if not raced:
            raced.append(at_host(safe))
            laptop.run("backup")
            desk.enter()
        return send(self, moves)

    monkeypatch.setattr(sealed_backup.SealedRemote, "push_all", push_all)
    desk.run("backup")
    assert raced[0] != at_host(safe) and len(names(safe)) == 4
    laptop.learn("dinner", "Dinner is at eight.")
    laptop.run("backup")
    desk.run("sync")
    for one in (desk, laptop):
        assert "Coffee is at ten." in shows(one, "coffee") and "Lunch is at noon." in shows(one, "lunch")
        assert "Dinner is at eight." in shows(one, "dinner")


def test_an_older_state_is_refused_and_nothing_is_lost(desk, laptop, safe, git) -> None:
    before = at_host(safe)
    laptop.learn("lunch", "Lunch is at noon.")
    laptop.run("backup")
    git("--git-dir", str(safe), "update-ref", BRANCH, before)
    refused = laptop.run("backup", code=1).err
    assert "is older than what this machine saw last" in refused and "git mem backup --off" in refused
    assert "Lunch is at noon." in shows(laptop, "lunch")
    assert at_host(safe) == before


def test_a_file_cut_short_or_changed_is_named_and_takes_nothing_along(laptop, desk, safe) -> None:
    desk.learn("coffee", "Coffee is at ten.")
    desk.run("backup")
    whole = content(safe, "00000002.age")
    for wrong in (b"", whole[:200], whole[:-1] + b"x"):
        replace_file(safe, "00000002.age", wrong)
        refused = laptop.run("backup", code=1).err
        assert "00000002.age" in refused and "damaged, cut short or not yours" in refused
        assert "Ports start at 4000." in shows(laptop, "ports")
    replace_file(safe, "00000002.age", whole)
    laptop.run("backup")
    assert "Coffee is at ten." in shows(laptop, "coffee")


def test_files_that_a_host_moves_or_drops_are_found(machine, learned, safe, identity) -> None:
    learned.learn("lunch")
    learned.run("backup")
    second, third = content(safe, "00000002.age"), content(safe, "00000003.age")
    other = machine("other")
    other.run("init", "-y")
    asked = ("backup", safe, "--identity", identity, "-y")
    replace_file(safe, "00000002.age", third)
    assert "stands in another's place" in other.run(*asked, code=1).err
    replace_file(safe, "00000002.age", None)
    assert "lacks 00000002.age" in other.run(*asked, code=1).err
    replace_file(safe, "00000002.age", second)
    first = content(safe, "00000001.age")
    replace_file(safe, "00000001.age", None)
    assert "stands in another's place" in other.run(*asked, code=1).err
    replace_file(safe, "00000001.age", first)
    other.run(*asked)
    assert "Coffee is at ten." in shows(other, "coffee")


def test_a_key_that_somebody_changed_is_not_believed(laptop: Machine, safe: Path, identity: Path) -> None:
    """A host that knows a public recipient may make a backup of its own; who has the old key is told."""
    public = identity.with_name("recipient").read_text().split()[-1]
    told = {"version": 1, "identity": str(pyrage.x25519.Identity.generate()), "recipients": [public]}
    forged = pyrage.encrypt(json.dumps(told).encode(), [pyrage.x25519.Recipient.from_str(public)])
    replace_file(safe, "key.age", forged)
    assert "is another than this machine knows" in laptop.run("backup", code=1).err


def test_new_recipients_make_a_new_key_no_old_file_stays(desk, laptop, safe, identity, place, git) -> None:
    new = pyrage.x25519.Identity.generate()
    (place / "new").write_text(f"{new}\n")
    desk.run("backup", "--encrypt-to", new.to_public())
    assert len(names(safe)) == 2
    assert git("--git-dir", str(safe), "rev-list", "--count", BRANCH) == "1"
    assert "git mem backup URL --identity FILE" in laptop.run("backup", code=1).err
    assert "does not open" in laptop.run("backup", "--identity", identity, code=1).err
    laptop.run("backup", "--identity", place / "new")
    laptop.learn("lunch", "Lunch is at noon.")
    laptop.run("backup")
    desk.run("backup")
    assert "Lunch is at noon." in shows(desk, "lunch")


def test_a_purge_begins_the_branch_anew_there_and_here(desk, laptop, safe, git) -> None:
    """The host could read none of it; but this machine has the key, so no file with the text stays here."""
    desk.learn("lunch", "Lunch is at noon.")
    desk.run("backup")
    desk.run("purge", "--text", "Lunch is at noon.", "-y")
    assert git("--git-dir", str(safe), "rev-list", "--count", BRANCH) == "1"
    laptop.run("backup")
    kept = desk.home / ".local/share/gitmem"
    for store in kept.rglob("backup.git"):
        held = git("--git-dir", store, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")
        assert held.split().count("blob") == len(names(safe))
    assert "Lunch" not in laptop.run("list").out


def test_many_files_become_one(desk: Machine, safe: Path, laptop: Machine) -> None:
    desk.patch.setattr(sealed_backup, "MOST_FILES", 2)
    for number in range(3):
        desk.learn(f"fact-{number}", f"Fact {number}.")
        desk.run("backup")
        assert len(names(safe)) <= 3
    laptop.run("backup")
    assert "Fact 2." in shows(laptop, "fact-2")


def test_what_a_machine_forgot_of_it_comes_back_with_the_identity(desk, safe, identity) -> None:
    """Working state can be deleted at no loss of memory."""
    (note,) = (desk.home / ".local/share/gitmem").rglob("backup-key.json")
    assert note.stat().st_mode & 0o777 == 0o600
    note.unlink()
    desk.learn("lunch", "Lunch is at noon.")
    assert "is not on this machine" in desk.run("backup", code=1).err
    desk.run("backup", "--identity", identity)
    assert len(names(safe)) == 3


def test_an_emptied_host_is_filled_again_a_plain_backup_is_none(desk, safe, place, git, identity) -> None:
    git("--git-dir", str(safe), "update-ref", "-d", BRANCH)
    desk.run("backup")
    assert len(names(safe)) == 2
    plain = place / "plain.git"
    git("init", "-q", "--bare", plain)
    git("--git-dir", desk.private, "push", "-q", plain, "refs/heads/user:refs/heads/user")
    refused = desk.run("backup", plain, "-y", code=1).err
    assert "so it is no encrypted backup" in refused


def test_a_setting_that_went_sends_nothing_in_plain(desk: Machine, safe: Path, place: Path, git) -> None:
    """The host may be empty by then, or another: memory stays here until the person says what to do."""
    desk.git("config", "--global", "--unset", "gitmem.backupEncryptTo")
    git("--git-dir", str(safe), "update-ref", "-d", BRANCH)
    desk.run("status")
    refused = desk.run("backup", code=1).err
    assert "is encrypted" in refused and "--encrypt-to" in refused and "--off" in refused
    other = place / "other.git"
    git("init", "-q", "--bare", other)
    desk.run("backup", other, "-y", code=1)
    desk.run("sync", "-y", code=None)
    for one in (safe, other):
        assert git("--git-dir", str(one), "for-each-ref") == ""
    desk.run("backup", "--off")
    assert not list((desk.home / ".local/share/gitmem").rglob("backup-key.json"))
    desk.run("backup", other, "-y")
    assert "refs/heads/user" in git("--git-dir", str(other), "for-each-ref")


def test_plain_git_sends_nothing_in_plain_once_it_is_encrypted(machine, safe, identity, place, git) -> None:
    desk, plain = machine("desk"), place / "plain.git"
    git("init", "-q", "--bare", plain)
    desk.run("init", "-y")
    desk.learn("ports", "Ports start at 4000.")
    desk.run("backup", plain, "-y")
    assert desk.git("config", "remote.backup.url", private=True)
    desk.run("backup", safe, "--encrypt-to", identity.with_name("recipient"), "-y")
    assert desk.git("config", "--get-regexp", "^remote[.]backup[.]", private=True, check=False) == ""


def test_mistakes_are_said_and_off_forgets_the_key(desk, identity, tmp_path, monkeypatch) -> None:
    desk.learn("lunch")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyrage", None)
        assert "gitmem-vcs[backup]" in desk.run("backup", code=3).err
    assert "is no recipient" in desk.run("backup", "--encrypt-to", "age1nonsense", code=2).err
    assert "no file of them" in desk.run("backup", "--encrypt-to", "nobody", code=2).err
    secret = identity.read_text().split()[-1]
    for mistaken in (identity, secret):
        said = desk.run("backup", "--encrypt-to", mistaken, code=2).err
        assert "is an identity, and no recipient" in said and secret[:20] not in said
    empty = tmp_path / "empty"
    empty.write_text("")
    assert "holds no identity" in desk.run("backup", "--identity", empty, code=2).err
    desk.git("config", "--global", "gitmem.backup", str(desk.code))
    assert "is this code repository" in desk.run("backup", "--identity", identity, code=2).err
    desk.run("backup", "--off")
    assert desk.git("config", "--global", "--get-regexp", "gitmem.backup", check=False) == ""
    assert not list((desk.home / ".local/share/gitmem").rglob("backup-key.json"))
    assert "No backup is named" in desk.run("backup", code=1).err


def test_age_and_plain_git_restore_it_without_gitmem(learned, safe, identity, tmp_path, git) -> None:
    """As docs/formats.md says."""
    desk = learned
    mine = pyrage.x25519.Identity.from_str(identity.read_text().split()[-1])
    told = json.loads(pyrage.decrypt(content(safe, "key.age"), [mine]))
    key = pyrage.x25519.Identity.from_str(told["identity"])
    restored = tmp_path / "restored.git"
    git("init", "-q", "--bare", restored)
    for name in names(safe)[:-1]:
        line, _, rest = pyrage.decrypt(content(safe, name), [key]).partition(b"\n")
        given(["git", "--git-dir", str(restored), "index-pack", "--stdin", "--fix-thin"], rest)
    refs = json.loads(line)["refs"]
    ref = f"refs/heads/local/{desk.workspace.project_id}"
    git("--git-dir", restored, "update-ref", ref, refs[ref])
    assert "Coffee is at ten." in git("--git-dir", restored, "show", f"{ref}:main/coffee.md")
    assert git("--git-dir", restored, "fsck", "--no-dangling") == ""
