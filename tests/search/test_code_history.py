"""What memories name is looked up in HEAD, and followed through real histories."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from code_head import head_of

from gitmem.core.limits import PATIENT_SECONDS
from gitmem.core.references import Named, named, statement
from gitmem.git.command import GitCommand, peek
from gitmem.search import code_reader
from gitmem.search.code import TRIES, VERSION, CodeNow

START = 1_760_000_000
DAY = 86_400


class Code:
    """A repository whose commits are a day apart."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.day = 0
        self.run("init", "-q", "-b", "main", str(top))

    def run(self, *words: str, input: bytes | None = None) -> str:
        when = f"{START + self.day * DAY} +0000"
        env = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        cwd = self.top if self.top.is_dir() else self.top.parent
        done = subprocess.run(
            ["git", *words], cwd=cwd, env=env, input=input, capture_output=True, check=False
        )
        assert not done.returncode, done.stderr
        return done.stdout.decode().strip()

    def commit(self, **files: str | None) -> str:
        """Commits files (`__` for `/`, `_py` for the suffix); None takes one out."""
        for key, text in files.items():
            self.put(key.replace("__", "/").replace("_py", ".py"), text)
        return self.save()

    def put(self, name: str, text: str | None) -> None:
        path = self.top / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def move(self, old: str, new: str) -> str:
        (self.top / new).parent.mkdir(parents=True, exist_ok=True)
        self.run("mv", old, new)
        return self.save()

    def save(self) -> str:
        self.day += 1
        self.run("add", "-A")
        self.run("commit", "-q", "--allow-empty", "-m", "change")
        return head_of(self.top)

    def now(self, seconds: float = PATIENT_SECONDS) -> CodeNow:
        common = self.top / ".git"
        return CodeNow(GitCommand(os.environ), self.top, common, common / "gitmem", seconds)

    def say(self, text: str, taught: int = 0) -> list[str]:
        (found,) = self.now().look([named(text, taught)])
        return [statement(finding) for finding in found]


@pytest.fixture
def code(tmp_path: Path) -> Code:
    return Code(tmp_path / "code")


BODY = "".join(f"line {n}\n" for n in range(30))


def test_a_file_is_followed_through_several_renames_and_edits(code: Code) -> None:
    code.commit(src__a_py=BODY, other_py="x\n")
    code.move("src/a.py", "src/b.py")
    code.commit(src__b_py=BODY + "more\n" * 8)
    code.move("src/b.py", "lib/c.py")
    code.commit(lib__c_py="new\n" * 12 + BODY + "more\n" * 8)
    code.move("lib/c.py", "lib/größe.py")
    assert code.say("`src/a.py`, `src/b.py` and `other.py`") == [
        "`src/a.py` moved to `lib/größe.py`",
        "`src/b.py` moved to `lib/größe.py`",
        "`other.py` is still there",
    ]
    assert code.say("`lib/größe.py`") == ["`lib/größe.py` is still there"]


def test_what_was_deleted_is_gone_since_then_also_under_its_last_name(code: Code) -> None:
    code.commit(a_py=BODY, b_py="b\n" * 9, keep_py="k\n")
    gone = code.commit(b_py=None)
    code.move("a.py", "c.py")
    later = code.commit(c_py=None)
    code.commit(keep_py="kk\n")
    assert code.say("`a.py` `b.py`") == [
        f"`a.py` became `c.py`, gone since {later[:9]}, 2025-10-13",
        f"`b.py` is gone since {gone[:9]}, 2025-10-11",
    ]


def test_what_was_deleted_and_came_back_is_there(code: Code) -> None:
    code.commit(a_py=BODY, k_py="k\n")
    code.commit(a_py=None)
    code.commit(a_py="anew\n")
    assert code.say("`a.py`") == ["`a.py` is still there"]


def test_a_rename_that_changes_only_the_case_is_a_move(code: Code) -> None:
    code.commit(src__Readme_py=BODY)
    blob = code.run("rev-parse", "HEAD:src/Readme.py")
    code.day += 1
    code.run("rm", "-q", "--cached", "src/Readme.py")
    code.run("update-index", "--add", "--cacheinfo", f"100644,{blob},src/readme.py")
    code.run("commit", "-qm", "case")
    assert code.say("`src/Readme.py`") == ["`src/Readme.py` moved to `src/readme.py`"]


def test_a_folder_is_followed_to_where_its_files_went(code: Code) -> None:
    code.commit(old__app__a_py=BODY, old__app__b_py=BODY + "b\n", k_py="k\n")
    code.move("old/app", "new")
    assert code.say("`old/app/`") == ["`old/app` moved to `new`"]


def test_an_empty_file_did_not_become_another_empty_file(code: Code) -> None:
    code.commit(old__a_py="", k_py="k\n")
    code.commit(old__a_py=None, new__b_py="")
    (said,) = code.say("`old/a.py`")
    assert "is gone since" in said


def test_a_rename_on_a_branch_that_was_merged_is_found(code: Code) -> None:
    code.commit(a_py=BODY)
    code.run("switch", "-qc", "topic")
    code.move("a.py", "b.py")
    code.run("switch", "-q", "main")
    code.commit(k_py="k\n")
    code.run("merge", "-q", "--no-ff", "-m", "merge", "topic")
    assert code.say("`a.py`") == ["`a.py` moved to `b.py`"]


def test_what_history_never_had_is_no_claim(code: Code) -> None:
    """An untracked file, a file of another project, `and/or`."""
    code.commit(a_py="def used(): pass\n")
    assert code.say("`build/out.js`, `and/or`, `setup.cfg`, `never_there()`, `--no-such`", START) == []


def test_a_bare_file_name_is_any_file_of_that_name(code: Code) -> None:
    code.commit(deep__in__setup_py="x\n", root_py=BODY)
    code.commit(root_py=None)
    assert code.say("`setup.py`") == ["`setup.py` is still there"]
    assert "`root.py` is gone since" in code.say("`root.py`")[0]


def test_a_symbol_is_gone_where_the_code_had_it_when_it_was_taught(code: Code) -> None:
    code.commit(a_py="class Store:\n    def open_it(self): ...\nMAX_SIZE = 3\nFLAG = '--old-flag'\n")
    taught = START + DAY
    code.day += 5
    code.put("notes.md", "MAX_SIZE went away\n")
    code.commit(a_py="class Store:\n    def open_all(self): ...\n")
    text = "`Store.open_it()`, MAX_SIZE, `--old-flag`, `Store.open_all` and `never_there()`"
    assert code.say(text, taught) == [
        "`Store.open_it()` is no longer in the code",
        "`--old-flag` is no longer in the code",
        "`Store.open_all` is still there",
        "`MAX_SIZE` is no longer in the code",
    ]
    assert code.say("`Store.open_it()`", START + 9 * DAY) == [], "it was gone already when it was taught"
    assert code.say("`Store.open_it()`") == [], "nobody knows when it was taught"


def test_who_has_time_is_told_what_a_symbol_or_flag_is_called_now(code: Code) -> None:
    """Only a definition that was plainly renamed is followed, through several renames."""
    body = (
        "class Store:\n    def open_it(self):\n        return 1\nFLAG = '--old-flag'\ndef drop_all(): ...\n"
    )
    code.commit(a_py=body)
    taught = START + DAY
    code.day += 5
    code.commit(a_py=body.replace("open_it", "open_all"))
    code.commit(a_py=body.replace("open_it", "open_each").replace("--old-flag", "--new-flag"))
    code.commit(a_py=body.replace("open_it", "open_each").replace("--old-flag", "--new-flag")[:-22])
    common = code.top / ".git"
    names = [named("`Store.open_it()`, `--old-flag` and `drop_all()`", taught)]
    for _ in range(2):
        now = CodeNow(
            GitCommand(os.environ), code.top, common, common / "gitmem", PATIENT_SECONDS, follow=True
        )
        found = now.look(names)[0]
        assert [statement(finding).partition(" since")[0] for finding in found] == [
            "`Store.open_it()` became `Store.open_each()`",
            "`--old-flag` became `--new-flag`",
            "`drop_all()` is gone",
        ]
        assert all(finding.commit and finding.time for finding in found), "the commit that took it"


def test_a_symbol_renamed_on_the_day_it_was_taught_is_told_of(code: Code) -> None:
    code.commit(a_py="def place_order(): ...\n")
    taught = START + DAY + 60
    code.commit(a_py="def submit_order(): ...\n")
    assert code.say("`place_order()`", taught) == ["`place_order()` is no longer in the code"]


def test_a_file_that_lies_there_untracked_is_not_gone(code: Code) -> None:
    code.commit(a_py=BODY, k_py="k\n")
    code.commit(a_py=None)
    assert "`a.py` is gone since" in code.say("`a.py`")[0]
    code.put("a.py", "mine alone\n")
    assert code.say("`a.py`") == []


def test_only_whole_words_count(code: Code) -> None:
    """A flag that begins like another is another one."""
    code.commit(a_py="run_all = 1\n", b_py="keep_this = '--force-push', '--force'\n")
    code.day += 5
    code.commit(a_py="rerun_all = run_all2 = 1\n", b_py="keep_this = '--force-push', '--forced'\n")
    assert code.say("`run_all()` `keep_this()` `--force` `--force-push`", START + DAY) == [
        "`run_all()` is no longer in the code",
        "`keep_this()` is still there",
        "`--force` is no longer in the code",
        "`--force-push` is still there",
    ]


def test_a_path_that_leaves_its_beginning_out_is_found_by_its_end(code: Code) -> None:
    """As `store/disk.py` for `src/app/store/disk.py`; what stood just there counts before that."""
    code.commit(src__app__store__disk_py=BODY, app__net_py=BODY + "n\n", k_py="k\n")
    code.move("app/net.py", "src/app/net.py")
    assert code.say("`store/disk.py` `app/store/` `app/net.py` `isk.py` `re/disk.py`") == [
        "`store/disk.py` is still there",
        "`app/store` is still there",
        "`app/net.py` moved to `src/app/net.py`",
    ]


def test_of_memories_of_many_times_each_is_held_against_the_code_of_its_own(code: Code) -> None:
    """Some commits are asked about all words first, the others only for what one of these had."""
    for number in range(1, 13):
        code.commit(a_py=f"def used_{number // 4}_here(): ...\nkept_all = {number}\n")
    asked = [named("`used_0_here()` `used_1_here()` `kept_all`", START + n * DAY) for n in range(1, 12)]
    found = code.now().look(asked)
    gone = [[one.name for one in some if one.kind == "gone"] for some in found]
    # On the day before it came in, a name is told of, too: much is said before it is done.
    assert (
        gone
        == [["used_0_here()"]] * 2
        + [["used_0_here()", "used_1_here()"]]
        + [["used_1_here()"]] * 4
        + [[]] * 4
    )


def test_hostile_names_are_looked_up_as_they_are(code: Code) -> None:
    code.commit(a_py="x\n")
    asked = Named(
        paths=("--output=x.py", ":(top)a.py", ":!a.py", "*.py", "a.py\r", "n\na.py", "z" * 5000, "[a].py"),
        sure=frozenset(),
        words=(("-O", ("-O",)), ("--open-files-in-pager=x", ("--open-files-in-pager=x",)), (".*", (".*",))),
        taught=START,
    )
    (found,) = code.now().look([asked])
    assert list(found) == []
    assert not (code.top / "x.py").exists()


def test_a_second_look_asks_git_for_nothing_but_head(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    code.commit(a_py="def used_here(): pass\n", b_py=BODY)
    code.move("b.py", "c.py")
    text = "`a.py` `b.py` `used_here()` `gone/x.py`"
    first = code.say(text, START)
    asked: list[str] = []
    monkeypatch.setattr(
        code_reader, "peek", lambda git, words, **rest: asked.append(words[0]) or peek(git, words, **rest)
    )
    assert code.say(text, START) == first
    assert asked == ["rev-parse"]


def test_for_another_head_a_word_is_found_by_the_file_that_had_it(code: Code, monkeypatch) -> None:
    code.commit(a_py="def used_here(): pass\n", b_py="b\n")
    assert code.say("`used_here()`") == ["`used_here()` is still there"]
    code.commit(b_py="bb\n")
    asked: list[str] = []
    monkeypatch.setattr(
        code_reader, "peek", lambda git, words, **rest: asked.extend(words) or peek(git, words, **rest)
    )
    assert code.say("`used_here()`") == ["`used_here()` is still there"]
    assert "grep" not in asked
    code.commit(a_py="def used_there(): pass\n")
    assert code.say("`used_here()`", START) == ["`used_here()` is no longer in the code"]


def test_without_time_nothing_is_said_and_a_patient_look_makes_up_for_it(code: Code) -> None:
    code.commit(a_py=BODY)
    code.move("a.py", "b.py")
    for _ in range(TRIES + 1):
        assert code.now(0.0).look([named("`a.py`")]) == [()]
    assert code.say("`a.py`") == ["`a.py` moved to `b.py`"]


@pytest.mark.parametrize(
    "damage",
    [
        *("", "{", "[]", '{"version": 1}', '{"version": 1, "paths": {"a.py": 3}}'),
        '{"version": 1, "paths": {"a.py": ["here"]}, "words": {}, "then": {}, "moments": {}, "tries": 0}',
        '{"version": 1, "paths": {}, "words": {}, "then": {}, "moments": {}, "tries": Infinity}',
    ],
)
def test_what_was_kept_can_be_lost_or_damaged(code: Code, damage: str) -> None:
    code.commit(a_py="x\n")
    code.say("`a.py`")
    (file,) = (code.top / ".git/gitmem/code").iterdir()
    file.write_text(damage)
    assert code.say("`a.py`") == ["`a.py` is still there"]
    assert json.loads(file.read_text())["version"] == VERSION


def test_no_head_and_no_repository_say_nothing(code: Code, tmp_path: Path) -> None:
    assert code.say("`a.py`") == []
    code.top = tmp_path
    assert code.say("`a.py`") == []


def test_a_bare_repository_has_a_head_too(code: Code, tmp_path: Path) -> None:
    code.commit(a_py="x\n")
    code.run("clone", "-q", "--bare", str(code.top), str(tmp_path / "bare"))
    code.top = tmp_path / "bare"
    assert code.say("`a.py`") == ["`a.py` is still there"]


def test_in_a_shallow_clone_what_is_not_there_may_have_been(code: Code, tmp_path: Path) -> None:
    code.commit(a_py=BODY, k_py="k\n")
    code.commit(a_py=None)
    code.run("clone", "-q", "--depth=1", f"file://{code.top}", str(tmp_path / "cut"))
    code.top = tmp_path / "cut"
    assert code.say("`a.py` `and/or`") == ["`a.py` is not in HEAD"]


def test_a_partial_clone_is_never_made_to_fetch(code: Code, tmp_path: Path) -> None:
    """Rename detection and a search read contents; a prompt must not wait for a network."""
    code.commit(a_py=BODY, k_py="k = 'word_here'\n")
    code.move("a.py", "b.py")
    code.commit(b_py=BODY + "more\n")
    code.run("config", "uploadpack.allowFilter", "true")
    clone = ["-c", "core.sparseCheckout=true", "clone", "-q", "--no-checkout", "--filter=blob:none"]
    code.run(*clone, f"file://{code.top}", str(tmp_path / "partial"))
    code.top = tmp_path / "partial"
    before = sorted((code.top / ".git/objects").rglob("*"))
    assert code.say("`a.py` `b.py` `word_here()`", START) == [
        "`a.py` moved to `b.py`",
        "`b.py` is still there",
    ]
    assert sorted((code.top / ".git/objects").rglob("*")) == before


def test_submodules_and_links_are_not_looked_into(code: Code) -> None:
    head = code.commit(a_py="x\n")
    code.run("update-index", "--add", "--cacheinfo", f"160000,{head},sub")
    (code.top / "link").symlink_to("elsewhere")
    code.run("add", "link")
    code.run("commit", "-qm", "parts")
    assert code.say("`sub/b.py` `link/c.py` `a.py/d.py`") == []


def test_a_sparse_checkout_has_all_of_head(code: Code) -> None:
    code.commit(in__a_py="x\n", out__b_py="def far_away(): pass\n")
    code.run("sparse-checkout", "set", "in")
    assert not (code.top / "out").exists()
    assert code.say("`out/b.py` `far_away()`") == [
        "`out/b.py` is still there",
        "`far_away()` is still there",
    ]
