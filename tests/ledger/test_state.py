"""state.db: what can be deleted, by many processes at once, over damage, and gone where it was purged."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gitmem.core.purge import Purge
from gitmem.ledger import state
from gitmem.ledger.state import ASIDE, FILE, Space

ROOT = Path(__file__).parents[2]
TRIES = Space("tries", 3)


def rows(folder: Path) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(folder / FILE)) as db:
        return db.execute("SELECT space, key, value FROM kv ORDER BY id").fetchall()


def test_what_is_written_is_read_newest_last(tmp_path: Path) -> None:
    for key in ("a", "b", "c", "a"):
        assert TRIES.put(tmp_path, key, {"of": key})
    assert TRIES.all(tmp_path) == {"b": {"of": "b"}, "c": {"of": "c"}, "a": {"of": "a"}}
    assert list(TRIES.all(tmp_path)) == ["b", "c", "a"]
    assert TRIES.get(tmp_path, "c") == {"of": "c"} and TRIES.get(tmp_path, "d") is None
    assert Space("other", 3).all(tmp_path) == {}


def test_the_oldest_go_and_what_becomes_nothing_alone_or_with_others(tmp_path: Path) -> None:
    for number in range(5):
        TRIES.put(tmp_path, str(number), number)
    assert TRIES.all(tmp_path) == {"2": 2, "3": 3, "4": 4}
    assert TRIES.delete(tmp_path, "2") and TRIES.delete(tmp_path, "never")
    TRIES.put_all(tmp_path, {"a": 1, "4": 5})
    assert TRIES.delete_all(tmp_path, ["a", "3", "never"])
    assert TRIES.all(tmp_path) == {"4": 5}


def test_reading_makes_no_file_and_a_key_may_be_any_text_of_a_client(tmp_path: Path) -> None:
    assert TRIES.delete_all(tmp_path / "not", [])
    assert TRIES.all(tmp_path / "not") == {} and not (tmp_path / "not").exists()
    assert TRIES.put(tmp_path, "ses\udcffsion\0'; DROP TABLE kv;--", 1)
    assert TRIES.get(tmp_path, "ses\udcffsion\0'; DROP TABLE kv;--") == 1


def test_the_form_on_disk_is_this(tmp_path: Path) -> None:
    """Another version of gitmem reads it."""
    TRIES.put(tmp_path, "one", ["ä", 2.5, None])
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        stamp = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        [(schema,)] = db.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchall()
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert stamp == [0x6D656D73, 1]
    assert " ".join(schema.split()) == (
        "CREATE TABLE kv(id INTEGER PRIMARY KEY, space TEXT NOT NULL, key TEXT NOT NULL,"
        " value TEXT NOT NULL, UNIQUE(space, key))"
    )
    assert rows(tmp_path) == [("tries", "one", '["\\u00e4",2.5,null]')]
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_many_processes_lose_no_change_of_one_another(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from gitmem.ledger.state import Space\n"
        "for _ in range(25): assert Space('n', 9).update(Path(sys.argv[1]), 'k', lambda n: (n or 0) + 1)\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(tmp_path)]
    started = [subprocess.Popen(command, env=environ) for _ in range(4)]
    assert [one.wait() for one in started] == [0] * 4
    assert Space("n", 9).get(tmp_path, "k") == 100


def test_a_process_that_dies_in_a_change_leaves_what_was_before(tmp_path: Path) -> None:
    TRIES.put(tmp_path, "a", 1)
    code = (
        "import os, sys; from pathlib import Path; from gitmem.ledger import state\n"
        "def die(db):\n"
        "    db.execute('PRAGMA cache_size = 1'); db.execute('PRAGMA cache_spill = 1')\n"
        "    for n in range(999): db.execute(state._PUT, ('tries', str(n), '9' * 999))\n"
        "    os._exit(9)\n"
        "state._write(Path(sys.argv[1]), die)\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environ)
    assert done.returncode == 9 and (tmp_path / f"{FILE}-journal").exists()
    assert TRIES.all(tmp_path) == {"a": 1}
    assert TRIES.put(tmp_path, "b", 2) and not (tmp_path / f"{FILE}-journal").exists()


def broken(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"nonsense" * 500)


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs(text)")


def folder(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    path.with_name("elsewhere").write_text("theirs")
    path.symlink_to("elsewhere")


def torn(path: Path) -> None:
    for number in range(50):
        Space("torn", 99).put(path.parent, str(number), "x" * 500)
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


@pytest.mark.parametrize("damage", [broken, foreign, folder, link, torn])
def test_what_is_damaged_is_set_aside_and_another_begun(tmp_path: Path, damage) -> None:
    damage(tmp_path / FILE)
    assert TRIES.all(tmp_path) == {}
    assert TRIES.put(tmp_path, "a", 1) and TRIES.all(tmp_path) == {"a": 1}
    assert os.path.lexists(tmp_path / ASIDE)
    if damage is link:
        assert (tmp_path / "elsewhere").read_text() == "theirs"


def test_the_last_damaged_one_stays(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / FILE).write_bytes(b"nonsense %d" % number * 99)
        assert TRIES.put(tmp_path, "a", 1)
    assert list(tmp_path.glob(f"{FILE}.*")) == [tmp_path / ASIDE]
    assert (tmp_path / ASIDE).read_bytes() == b"nonsense 2" * 99


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_only_be_read_is_read(tmp_path: Path) -> None:
    TRIES.put(tmp_path, "a", 1)
    (tmp_path / FILE).chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert TRIES.all(tmp_path) == {"a": 1} and not TRIES.put(tmp_path, "b", 2)
    finally:
        tmp_path.chmod(0o700)


def test_where_no_file_can_be_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not TRIES.put(tmp_path / "file" / "state", "a", 1)
    assert TRIES.all(tmp_path / "file" / "state") == {}


def test_a_purge_leaves_no_damaged_file_either(tmp_path: Path) -> None:
    TRIES.put(tmp_path, "a", "a secret plan")
    path = tmp_path / FILE
    data = bytearray(path.read_bytes())
    data[100:140] = b"x" * 40
    path.write_bytes(data)
    state.scrub(tmp_path, Purge(frozenset({"a secret plan"})))
    assert not [one for one in tmp_path.iterdir() if b"a secret plan" in one.read_bytes()]


def test_a_text_that_is_purged_is_in_no_byte_of_the_file(tmp_path: Path) -> None:
    text = "the vault opens with swordfish"
    space = Space("said", 2_000)
    for number in range(300):
        space.put(tmp_path, f"key {number}", f"{number}: {text} " * 3)
    space.put(tmp_path, f"of {text}", "its key")
    for number in range(0, 300, 2):
        space.delete(tmp_path, f"key {number}")
    space.put(tmp_path, "long", "x" * 9_000 + text)
    space.put(tmp_path, "kept", "another word")
    broken(tmp_path / ASIDE)
    assert state.scrub(tmp_path, Purge(frozenset({text}))) == 152
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"swordfish" not in data and not (tmp_path / ASIDE).exists()
    assert space.get(tmp_path, "kept") == "another word"
    assert space.get(tmp_path, "key 1") == "1: [purged] 1: [purged] 1: [purged] "
    assert json.loads(rows(tmp_path)[-1][2]) == "another word"
