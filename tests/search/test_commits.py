"""The code's commits as a source: what is indexed, what stands out, and what undid it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from copy import copy
from pathlib import Path

import pytest
from code_head import head_of
from once import Once

from gitmem.flows.code_commits import UndoneBy, undoing
from gitmem.git.command import GitCommand
from gitmem.ledger.files import COMMITS
from gitmem.search import commits
from gitmem.search.commits import CommitIndex, Hit, _Follower, follow, messages

DECISION = """Keep the session cookie for thirty minutes

Support asked for a day, but the auditors of the payment provider demand that an idle session ends
after thirty minutes. A sliding window is fine.

Signed-off-by: Someone <someone@example.com>
"""
QUESTION = (
    "Why does the session cookie of an idle customer end after thirty minutes, did auditors demand that?"
)

EVERYDAY = [
    "Tidy the imports of the parser", "Speed up the listing of orders",
    "Explain the settings in the manual", "Rename the worker's queue", "Test the export of invoices",
    "Drop the old template engine", "Let the menu close on escape", "Sort the countries by name",
]  # fmt: skip


class Code:
    """A repository, each of whose commits is a minute later than the one before."""

    def __init__(self, top: Path) -> None:
        self.top, self.minute, self.state = top, 0, top / ".git/gitmem"
        top.mkdir()
        self.run("init", "-q", "-b", "main")

    def run(self, *words: str, input: str = "") -> str:
        self.minute += 1
        when = f"{1_790_000_000 + 60 * self.minute} +0000"
        env = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        done = subprocess.run(
            ["git", *words], cwd=self.top, env=env, input=input.encode(), capture_output=True, check=False
        )
        assert not done.returncode, done.stderr
        return done.stdout.decode().strip()

    def commit(self, message: str, author: str = "", **files: str) -> str:
        for name, text in files.items():
            (self.top / name).write_text(text)
        self.run("add", "-A")
        who = [f"--author={author}"] if author else []
        self.run("commit", "-q", "--allow-empty", *who, "-F", "-", input=message)
        return head_of(self.top)

    def everyday(self) -> None:
        """What happens in any repository: 32 commits, in one stream."""
        parent = self.run("rev-parse", "-q", "--verify", "HEAD") if self.minute > 1 else ""
        stream = []
        for number, message in enumerate(EVERYDAY * 4):
            self.minute += 1
            text, who = f"{message} once more, number {number}", "A <a@example.com>"
            stream.append(
                f"commit refs/heads/main\ncommitter {who} {1_790_000_000 + 60 * self.minute} +0000\n"
                f"data {len(text)}\n{text}\n"
                + (f"from {parent}\n" if parent and not number else "")
                + f"M 644 inline other\ndata <<E\n{number}\nE\n\n"
            )
        self.run("fast-import", "--quiet", "--force", input="".join(stream))
        self.run("reset", "-q", "--hard", "main")

    @property
    def git(self) -> GitCommand:
        return GitCommand(os.environ)

    def follow(self, seconds: float = 30) -> bool:
        return follow(self.state, self.git, self.top, head_of(self.top), seconds)

    def search(self, query: str) -> list[Hit]:
        index = CommitIndex.open(self.state)
        assert index is not None
        with closing(index):
            return index.search(query)

    def undoing(self, oid: str, seconds: float = 30) -> UndoneBy | None:
        index = CommitIndex.open(self.state)
        assert index is not None
        with closing(index):
            message = messages(self.git, self.top, [oid], 30)[oid]
            return undoing(index, self.git, self.top, message, seconds)


@pytest.fixture
def code(tmp_path: Path, once: Once[Code]) -> Code:
    def make() -> Code:
        code = Code(tmp_path / "code")
        code.everyday()
        return code

    return copy(once("code", make))


def test_the_deciding_commit_stands_out(code: Code) -> None:
    decision = code.commit(DECISION, cookie="minutes = 30\n")
    code.everyday()
    assert code.follow()
    best, *_ = code.search(QUESTION)
    assert best.oid == decision
    assert best.fits_prompt


def test_nothing_stands_out_without_it(code: Code) -> None:
    assert code.follow()
    assert not [hit for hit in code.search(QUESTION) if hit.fits_prompt or hit.fits_question]
    assert not [hit for hit in code.search("please fix the failing test and commit") if hit.fits_prompt]


def test_who_asks_is_told_what_has_most_of_the_question(code: Code) -> None:
    """One word may say what it is about, where hardly any other is asked."""
    assert code.follow()
    best, *_ = code.search("how are countries sorted?")
    assert best.fits_question
    assert not best.fits_prompt
    elsewhere = code.search("how are countries in the Salesforce and Kubernetes connectors mapped?")
    assert not [hit for hit in elsewhere if hit.fits_question]


def test_an_identifier_is_found_whole(code: Code) -> None:
    apart = code.commit("The key of a cache is not that of its neighbour")
    whole = code.commit("Let cache_key ignore its neighbour")
    assert code.follow()
    best, second = code.search("what about cache_key and its neighbour")[:2]
    assert (best.oid, second.oid) == (whole, apart)


@pytest.mark.parametrize(
    ("message", "author"),
    [
        ("wibblewobble", ""),
        ("fixup! Let the wibblewobble be", ""),
        ("Bump wibblewobble from 1.2 to 1.3", "dependabot[bot] <49699333+dependabot[bot]@users.noreply>"),
        ("Update the hook wibblewobble", "pre-commit-ci <bot@pre-commit.ci>"),
    ],
)
def test_what_decides_nothing_is_left_out(code: Code, message: str, author: str) -> None:
    code.commit(message, author)
    assert code.follow()
    assert not code.search("wibblewobble")


def test_merges_are_left_out_and_trailers_are_not_the_message(code: Code) -> None:
    code.run("switch", "-q", "-c", "side")
    side = code.commit("Let the wibblewobble be\n\nWhy not?\n\nReviewed-by: Zebulon <z@example.com>\n")
    code.run("switch", "-q", "main")
    code.run("merge", "-q", "--no-ff", "-m", "Take the wibblewobble of the side in", "side")
    assert code.follow()
    assert [hit.oid for hit in code.search("wibblewobble")] == [side]
    assert not code.search("zebulon")
    assert messages(code.git, code.top, [side], 30)[side].body == "Why not?"


def test_the_index_follows(code: Code) -> None:
    """It grows with the branch; what a rewritten history has no more is not found any more."""
    assert code.follow()
    code.commit("Let the wibblewobble be")
    first = code.commit("Let the flimflam be")
    assert code.follow()
    assert code.search("wibblewobble")
    code.run("commit", "-q", "--amend", "--allow-empty", "-m", "Let the zigzag be")
    assert code.follow()
    assert code.search("wibblewobble")
    assert code.search("zigzag")
    assert not code.search("flimflam")
    code.run("reset", "-q", "--hard", first)
    assert code.follow()
    assert code.search("flimflam")
    assert not code.search("zigzag")


def test_how_many_can_be_found_is_kept_as_long_as_it_is_true(code: Code, monkeypatch) -> None:
    """What a word is worth hangs on it, and counting a long history takes longer than the search."""

    def sizes() -> tuple[int, int, bool]:
        index = CommitIndex.open(code.state)
        assert index is not None
        with closing(index), closing(sqlite3.connect(code.state / COMMITS)) as connection:
            counted = connection.execute("SELECT count(*) FROM entry WHERE length > 0").fetchone()[0]
            kept = connection.execute("SELECT 1 FROM state WHERE name = 'size'").fetchone()
            return len(index), counted, bool(kept)

    assert code.follow()
    size, counted, kept = sizes()
    assert size == counted > 1 and kept
    code.commit("Let the wibblewobble be")
    monkeypatch.setattr(_Follower, "_bound", _out_of_time)
    assert not code.follow()
    assert sizes() == (size + 1, size + 1, False)
    monkeypatch.undo()
    assert code.follow() and sizes() == (size + 1, size + 1, True)
    code.run("reset", "-q", "--hard", "HEAD^")
    assert code.follow() and sizes() == (size, size, True)


def _out_of_time(_: _Follower) -> None:
    raise TimeoutError


def test_a_history_that_is_mostly_another_is_indexed_anew(code: Code) -> None:
    assert code.follow()
    code.run("switch", "-q", "--orphan", "other")
    code.commit("Let the wibblewobble be")
    for number in range(32):
        code.commit(f"Let the zigzag be {number}")
    assert code.follow()
    assert code.search("wibblewobble")
    assert not code.search("first")
    with closing(sqlite3.connect(code.state / COMMITS)) as connection:
        assert connection.execute("SELECT count(*) FROM entry").fetchone()[0] == 33


def test_what_is_begun_is_asked_and_gone_on_with(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has no time left leaves what it has."""
    code.commit("Let the wibblewobble be")
    monkeypatch.setattr(commits, "portions", lambda keys: ([key] for key in keys))
    real, left = commits._Follower._add, [1, 0]

    def add(self: commits._Follower, oids: list[str]) -> bool:
        return real(self, oids) and bool(left.pop(0))

    monkeypatch.setattr(commits._Follower, "_add", add)
    assert not code.follow()
    assert code.search("wibblewobble")
    monkeypatch.undo()
    assert code.follow()
    assert code.search("imports of the parser")


def test_the_oldest_go_first(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "MOST_COMMITS", 10)
    for number in range(20):
        code.commit(f"Let the wibblewobble be {number}")
        code.follow()
    with closing(sqlite3.connect(code.state / COMMITS)) as connection:
        assert connection.execute("SELECT count(*) FROM entry").fetchone()[0] <= 11


@pytest.mark.parametrize("spoil", [b"", b"not a database", b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_file_is_made_anew(code: Code, spoil: bytes) -> None:
    assert CommitIndex.open(code.state) is None
    code.commit("Let the wibblewobble be")
    assert code.follow()
    for file in code.state.glob(f"{COMMITS}*"):
        file.unlink()
    (code.state / COMMITS).write_bytes(spoil)
    index = CommitIndex.open(code.state)
    assert index is None or not index.search("wibblewobble")
    assert code.follow()
    assert code.search("wibblewobble")


def test_the_file_is_the_persons_alone_and_no_link_is_followed(code: Code, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    code.state.mkdir()
    (code.state / COMMITS).symlink_to(elsewhere)
    assert CommitIndex.open(code.state) is None
    assert code.follow()
    assert elsewhere.read_text() == "mine"
    assert (code.state / COMMITS).stat().st_mode & 0o077 == 0


def test_messages_are_not_stored(code: Code) -> None:
    """What is told is read from git; the index has words, in no order of its own."""
    code.commit(DECISION)
    assert code.follow()
    data = b"".join(file.read_bytes() for file in code.state.glob(f"{COMMITS}*"))
    assert b"demand that an idle session" not in data
    assert b"auditors of the payment" not in data


def test_a_partial_clone_fetches_nothing(code: Code, tmp_path: Path) -> None:
    """Without trees the messages are there all the same."""
    code.commit(DECISION)
    code.run("config", "uploadpack.allowFilter", "true")
    words = "clone", "-q", "--no-checkout", "--filter=tree:0"
    code.run(*words, f"file://{code.top}", str(tmp_path / "part"))
    before = sorted((tmp_path / "part/.git/objects/pack").iterdir())
    tip = code.run("rev-parse", "HEAD")
    assert follow(code.state, code.git, tmp_path / "part", tip, 30)
    assert code.search(QUESTION)
    assert sorted((tmp_path / "part/.git/objects/pack").iterdir()) == before


def test_sentences_that_fit(code: Code) -> None:
    code.commit(DECISION)
    assert code.follow()
    index = CommitIndex.open(code.state)
    assert index is not None
    body = "The parser is older. " * 30 + "Auditors demand thirty minutes. " + "The menu is newer. " * 30
    with closing(index):
        assert index.excerpt(QUESTION, "Short.", 100) == "Short."
        assert index.excerpt(QUESTION, body, 100) == "…\nAuditors demand thirty minutes.\n…"
        assert len(index.excerpt("nothing of it", "x" * 500, 100)) <= 100


def test_a_revert_is_told(code: Code) -> None:
    decision = code.commit(DECISION, cookie="minutes = 30\nsliding = yes\n")
    code.everyday()
    assert code.follow()
    assert code.undoing(decision) is None
    code.run("revert", "--no-edit", decision)
    revert = code.run("rev-parse", "HEAD")
    assert code.follow()
    assert code.undoing(decision) == UndoneBy(revert)
    code.run("revert", "--no-edit", revert)
    assert code.follow()
    assert code.undoing(decision) is None


def test_a_squashed_revert_names_only_the_subject(code: Code) -> None:
    decision = code.commit(DECISION, cookie="minutes = 30\n")
    revert = code.commit(
        'Revert "Keep the session cookie for thirty minutes" (#12)', cookie="minutes = 9\n"
    )
    assert code.follow()
    assert code.undoing(decision) == UndoneBy(revert)


def test_lines_that_were_taken_out_are_told(code: Code) -> None:
    lines = [f"rule {number} of the cookie" for number in range(8)]
    decision = code.commit(DECISION, cookie="\n".join(["old", *lines, ""]), other="x\n")
    code.commit("Add a rule", cookie="\n".join(["old", *lines, "one more rule", ""]))
    breaking = code.commit("perf: simplify cookie", cookie="\n".join(["old", *lines[:2], ""]))
    code.commit("Later still", cookie="nothing\n")
    assert code.follow()
    assert code.undoing(decision) == UndoneBy(breaking, "cookie", 6, 8)
    assert code.undoing(decision, seconds=0) is None


def test_lines_that_were_moved_are_not_gone(code: Code) -> None:
    lines = "".join(f"rule {number} of the cookie\n" for number in range(8))
    decision = code.commit(DECISION, cookie=lines)
    code.commit("Give the rules a file of their own", cookie="see rules\n", rules=lines)
    assert code.follow()
    assert code.undoing(decision) is None


def test_a_squashed_revert_that_was_reverted_names_only_subjects(code: Code) -> None:
    """A hosting service's titles: each quotes the one before, and has a number of its own."""
    decision = code.commit("Cap the retries (#41)", cap="3\n")
    first = code.commit('Revert "Cap the retries (#41)" (#42)\n\nReverts acme/app#41', cap="9\n")
    code.follow()
    assert code.undoing(decision) == UndoneBy(first)
    again = 'Revert "Revert "Cap the retries (#41)" (#42)" (#43)'
    code.commit(f"{again}\n\nReverts acme/app#42", cap="3\n")
    code.follow()
    assert code.undoing(decision) is None
    code.commit(f'Revert "{again}" (#44)\n\nReverts acme/app#43', cap="9\n")
    code.follow()
    assert code.undoing(decision) == UndoneBy(first)


def test_a_shallow_clone_that_is_deepened_is_indexed_anew(code: Code, tmp_path: Path) -> None:
    """The tip is the same, so nothing else would say that older commits are there now."""
    code.commit(DECISION, session="1800\n")
    code.commit("Sort the cities by name", cities="a\n")
    code.run("clone", "-q", "--depth=1", f"file://{code.top}", str(tmp_path / "clone"))
    clone = object.__new__(Code)
    clone.top, clone.minute, clone.state = tmp_path / "clone", 0, tmp_path / "clone/.git/gitmem"
    assert clone.follow()
    assert clone.search(QUESTION) == []
    clone.run("fetch", "-q", "--unshallow")
    assert clone.follow()
    assert clone.search(QUESTION)[0].oid == code.run("rev-parse", "HEAD~1")
