"""Loose objects are read without a process of git, which says what becomes of all others."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.git import objects
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand, layout
from gitmem.git.packs import RawObjects
from gitmem.git.repository import Signature


class Counting(GitCommand):
    """The command, and which of its subcommands were run."""

    asked: list[str] = []  # noqa: RUF012 - one for all, emptied before each test

    def run(self, args, **more):  # type: ignore[no-untyped-def]
        self.asked.append(args[0])
        return super().run(args, **more)

    def start(self, args, **more):  # type: ignore[no-untyped-def]
        self.asked.append(args[0])
        return super().start(args, **more)


@pytest.fixture(params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GitRepository]:
    git = Counting(dict(os.environ))
    git.run(["init", "-q", f"--object-format={request.param}", str(tmp_path / "work")])
    store = GitRepository(git, layout(git, tmp_path / "work"))
    yield store
    store.close()


def loose(repo: GitRepository, oid: str) -> Path:
    return repo.git_dir / "objects" / oid[:2] / oid[2:]


def again(repo: GitRepository) -> GitRepository:
    """The repository as the next process opens it, without any question asked yet."""
    made = GitRepository(repo.git, layout(repo.git, repo.git_dir))
    Counting.asked.clear()
    return made


@pytest.mark.parametrize("text", [b"", b"x\n", os.urandom(40_000), b"same " * 20_000])
def test_a_loose_object_is_read_and_measured_without_git(repo: GitRepository, text: bytes) -> None:
    oids = [repo.add_blob(text), repo.add_blob(text + b"more")]
    fresh = again(repo)
    assert fresh.blob(oids[0]) == text
    assert dict(fresh.read_blobs(oids)) == {oids[0]: text, oids[1]: text + b"more"}
    assert fresh.sizes(oids) == {oids[0]: len(text), oids[1]: len(text) + 4}
    assert Counting.asked == []
    told = repo.git.run(["cat-file", "-s", oids[0]], git_dir=repo.git_dir).text
    assert fresh.sizes(oids)[oids[0]] == int(told)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("core.sharedRepository", ""),
        ("core.sharedRepository", "group"),
        ("core.sharedRepository", "0666"),
        ("core.sharedRepository", "umask"),
        ("core.fsync", "loose-object"),
        ("core.fsyncObjectFiles", "false"),
    ],
)
@pytest.mark.parametrize("late", [True, False])
def test_what_is_written_costs_no_process_and_lies_as_git_lays_it(
    repo: GitRepository, tmp_path: Path, setting: str, value: str, late: bool
) -> None:
    """One that is there is young again: else a `git gc` may take it for long unused."""
    begun = [f"--shared={value}"] if value and setting == "core.sharedRepository" and not late else []
    repo.git.run(["init", "-q", *begun, str(tmp_path / "team")])
    repo = GitRepository(repo.git, layout(repo.git, tmp_path / "team"))
    if value:
        repo.git.run(["config", setting, value], git_dir=repo.git_dir)
    fresh = again(repo)
    mask = os.umask(0o027)
    try:
        oid = fresh.add_blob(b"mine\n")
        assert Counting.asked == ([] if value in ("", "umask", "false") else ["hash-object"])
        words = ["hash-object", "-w", "--stdin"]
        told = repo.git.run(words, git_dir=repo.git_dir, input=b"git's\n").text
    finally:
        os.umask(mask)
    mine, its = loose(repo, oid), loose(repo, told)
    assert mine.stat().st_mode == its.stat().st_mode
    assert mine.parent.stat().st_mode == its.parent.stat().st_mode
    os.utime(mine, (0, 0))
    inode = mine.stat().st_ino
    assert fresh.add_blob(b"mine\n") == oid
    assert mine.stat().st_mtime > 0 and mine.stat().st_ino == inode
    assert list(mine.parent.iterdir()) == [mine]
    odd = b"040000 main\0" + bytes.fromhex("1" * repo.hex_length)
    raw = RawObjects(fresh)
    assert raw.read(raw.add("tree", odd)) == ("tree", odd), "a purge keeps what others made"
    raw.close()


def test_what_cannot_be_written_is_told_and_leaves_nothing(repo: GitRepository, monkeypatch) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(objects.os, "replace", full)
    with pytest.raises(RepositoryError, match="No space left") as caught:
        repo.add_blob(b"too much\n")
    assert "disk space" in caught.value.hint
    assert not [path for path in (repo.git_dir / "objects").rglob("*") if path.is_file()]
    shutil.rmtree(repo.git_dir / "objects")
    with pytest.raises(RepositoryError, match="objects"):
        repo.add_blob(b"nowhere\n")


def test_git_is_asked_for_those_alone_that_are_not_loose(repo: GitRepository) -> None:
    packed = repo.add_blob(b"packed\n")
    repo.git.run(["pack-objects", "-q", "objects/pack/pack"], git_dir=repo.git_dir, input=packed.encode())
    loose(repo, packed).unlink()
    other = repo.add_blob(b"loose\n")
    fresh = again(repo)
    assert dict(fresh.read_blobs([other, packed])) == {other: b"loose\n", packed: b"packed\n"}
    assert fresh.sizes([other, packed]) == {other: 6, packed: 7}
    assert Counting.asked == ["cat-file", "cat-file"]
    with pytest.raises(MissingObject):
        fresh.blob("1" * fresh.hex_length)
    with pytest.raises(MissingObject):
        fresh.sizes(["1" * fresh.hex_length])
    fresh.close()


def test_a_full_name_is_a_revision_where_it_is_a_commit(repo: GitRepository) -> None:
    who = Signature("Ann", "ann@example.com", 1763632800)
    tree = repo.add_tree({})
    one, two = (repo.add_commit(tree, (), who, who, text) for text in ("one", "two"))
    repo.git.run(["update-ref", f"refs/heads/{one}", two], git_dir=repo.git_dir)
    ann = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    repo.git.run([*ann, "tag", "-a", "-m", "x", "v1", two], git_dir=repo.git_dir)
    tag = repo.ref("refs/tags/v1")
    fresh = again(repo)
    assert fresh.resolve(one) == one
    assert Counting.asked == []
    assert tag
    assert [fresh.resolve(oid) for oid in (tag, tree, "1" * fresh.hex_length)] == [two, None, None]
    loose(repo, one).unlink()
    assert fresh.resolve(one) is None


def test_an_object_that_is_borrowed_is_found(repo: GitRepository, tmp_path: Path) -> None:
    oid = repo.add_blob(b"theirs\n")
    form = "sha256" if repo.hex_length == 64 else "sha1"
    repo.git.run(["init", "-q", f"--object-format={form}", str(tmp_path / "other")])
    borrows = tmp_path / "other/.git/objects/info/alternates"
    borrows.parent.mkdir(exist_ok=True)
    borrows.write_text(f"{repo.git_dir}/objects\n")
    other = GitRepository(repo.git, layout(repo.git, tmp_path / "other"))
    assert other.blob(oid) == b"theirs\n"
    assert other.sizes([oid]) == {oid: 7}
    other.close()


def damages(repo: GitRepository, oid: str, text: bytes) -> dict[str, bytes]:
    whole = loose(repo, oid).read_bytes()
    return {
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "garbage": b"?" * 40,
        "other": zlib.compress(b"blob 5\0other"),
        "longer": zlib.compress(b"blob 3\0" + text),
        "shorter": zlib.compress(b"blob 99999999999\0" + text),
        "kind": zlib.compress(b"thing %d\0" % len(text) + text),
        "no head": zlib.compress(b"x" * 100),
        "no size": zlib.compress(b"blob -1\0" + text),
    }


@pytest.mark.parametrize(
    "damage", ["empty", "cut", "garbage", "other", "longer", "shorter", "kind", "no head", "no size"]
)
def test_a_damaged_one_is_as_with_git_alone(repo: GitRepository, damage: str, monkeypatch) -> None:
    text = os.urandom(3000)
    good, oid = repo.add_blob(b"good\n"), repo.add_blob(text)
    data = damages(repo, oid, text)[damage]
    loose(repo, oid).chmod(0o644)
    loose(repo, oid).write_bytes(data)

    def all_of_it() -> list[object]:
        fresh = again(repo)
        said: list[object] = []
        for ask in (lambda: fresh.blob(oid), lambda: fresh.sizes([oid]), lambda: fresh.blob(good)):
            try:
                said.append(ask())
            except RepositoryError as error:
                said.append(error.message)
        said.append(dict(fresh.read_blobs([good, oid])))
        fresh.close()
        return said

    mine = all_of_it()
    assert oid in str(mine[0])
    assert mine[2:] == [b"good\n", {good: b"good\n"}]
    monkeypatch.setattr(objects, "_loose_file", lambda *_: None)
    assert mine == all_of_it()


def test_a_damaged_one_is_read_from_the_pack_that_has_it(repo: GitRepository) -> None:
    oid = repo.add_blob(b"whole\n")
    repo.git.run(["pack-objects", "-q", "objects/pack/pack"], git_dir=repo.git_dir, input=oid.encode())
    loose(repo, oid).chmod(0o644)
    loose(repo, oid).write_bytes(b"")
    fresh = again(repo)
    assert fresh.blob(oid) == b"whole\n"
    fresh.close()


def test_a_large_one_is_git_s_to_read(repo: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where few bytes claim to be many."""
    monkeypatch.setattr(objects, "LARGEST_LOOSE", 5000)
    zeros, chance, fits = bytes(5001), os.urandom(5001), bytes(5000)
    for text, asked in ((zeros, ["cat-file"]), (chance, ["cat-file"]), (fits, [])):
        oid = repo.add_blob(text)
        fresh = again(repo)
        assert fresh.blob(oid) == text
        assert Counting.asked == asked
        fresh.close()


def test_what_is_no_regular_file_is_not_followed(repo: GitRepository, tmp_path: Path) -> None:
    oid = repo.add_blob(b"linked\n")
    loose(repo, oid).rename(tmp_path / "elsewhere")
    loose(repo, oid).symlink_to(tmp_path / "elsewhere")
    folder = str(repo.git_dir / "objects")
    assert objects.read_loose(folder, oid) is None
    assert objects.loose_size(folder, oid) is None
    loose(repo, oid).unlink()
    os.mkfifo(loose(repo, oid))
    assert objects.read_loose(folder, oid) is None
    loose(repo, oid).unlink()
    loose(repo, oid).mkdir()
    assert objects.read_loose(folder, oid) is None


def test_names_that_are_none_reach_no_file(repo: GitRepository) -> None:
    for name in ("../../HEAD", "HEAD", "", "a" * 39, "A" * repo.hex_length):
        for ask in (repo.blob, lambda name: repo.sizes([name]), lambda name: repo.store.read_many([name])):
            with pytest.raises(MissingObject, match="Not an object name"):
                ask(name)
