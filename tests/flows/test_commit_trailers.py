"""Commit messages as a source of memory: the person's own are done, others' wait, nothing is done twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from memory_files import files_at, tip_of
from once import Once
from workspaces import begun

from gitmem.app.context import real_edges
from gitmem.core.trailers import Provenance, parse
from gitmem.flows.commit_trailers import CommitsLearned, TrailerRequest, begin_with_commits, requests
from gitmem.flows.context import initialised_at
from gitmem.flows.extraction import commits_learned
from gitmem.ledger.land import Write, land
from gitmem.ledger.suggestions import open_suggestions
from gitmem.ledger.workspace import Workspace

Git = Callable[..., str]
DEPLOY = "Deploy\n\nRemember: we deploy on Tuesdays only, because support is there then\n"


class Person:
    """Somebody who commits, and whose memory learns from that."""

    def __init__(self, repo: Path, git: Git) -> None:
        self.repo, self._git = repo, git

    @property
    def workspace(self) -> Workspace:
        return initialised_at(real_edges(self.repo))

    def git(self, *words: object) -> str:
        return self._git("-C", self.repo, *words)

    def say(self, message: str, *words: str, author: str = "Ann <ann@example.com>") -> None:
        """Commits with a message."""
        commit = ("commit", "-q", "--allow-empty", "-F", "-", "--author", author, *words)
        self._git("-C", self.repo, *commit, input=message)

    def amend(self, message: str) -> None:
        self.git("commit", "-q", "--amend", "--allow-empty", "-m", message)

    def learn(self) -> CommitsLearned:
        return commits_learned(self.workspace, real_edges(self.repo))

    def put(self, path: str, text: str | None) -> None:
        """Writes local memory as the person does by hand."""
        write = Write(
            {path: None if text is None else text.encode()}, "Edit it", Provenance("update", "human")
        )
        workspace = self.workspace
        land(workspace.scope("local"), lambda _: write, workspace.author(1_795_000_000))

    def files(self, scope: str = "local") -> dict[str, str]:
        where = self.workspace.scope(scope)
        found = files_at(where) if tip_of(where) else {}
        return {
            path: text for path, text in found.items() if path.endswith(".md") and "MEMORY.md" not in path
        }


@pytest.fixture
def before(repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Ann, before gitmem is on."""
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    return Person(repo, git)


@pytest.fixture
def ann(before: Person, once: Once[None]) -> Person:
    once("begun", lambda: begin_with_commits(begun(real_edges(before.repo))))
    return before


def test_what_a_person_says_in_a_commit_is_stored_with_that_commit(ann: Person) -> None:
    ann.say(
        "Deploy\n\nText of it.\n\n"
        "Remember: we deploy on Tuesdays only,\n  because support is there then\n"
        "remember(project): The staging database is reset every night\n"
        "Signed-off-by: Ann <ann@example.com>\n"
    )
    done = ann.learn()
    assert [scope for scope, _, _ in done.stored] == ["local", "project"]
    (text,) = ann.files().values()
    assert "We deploy on Tuesdays only." in text and "**Why:** Support is there then." in text
    assert "type: feedback" in text
    (shared,) = ann.files("project").values()
    assert "type: project" in shared
    told = parse(ann.workspace.private.commit(done.stored[0][2]).message)
    assert (told.writer, told.op, told.code_commit) == ("extract", "add", ann.git("rev-parse", "HEAD"))
    assert ann.learn() == CommitsLearned()


def test_what_stood_in_the_history_at_init_is_left_alone_also_when_it_comes_in_long_after(before) -> None:
    before.say(DEPLOY)
    before.git("switch", "-q", "-c", "old")
    before.say("Sign\n\nRemember: the weekly build is signed by hand")
    before.git("switch", "-q", "main")
    made = begun(real_edges(before.repo))
    begin_with_commits(made)
    record = made.state / "commits.json"
    value = json.loads(record.read_text())
    record.write_text(json.dumps(value | {"tips": [f"{n:040x}" for n in range(200)]}))
    before.say("One\n\nRemember: the nightly build signs every package")
    assert len(before.learn().stored) == 1
    assert len(json.loads(record.read_text())["tips"]) == 64
    before.git("merge", "-q", "--no-edit", "old")
    assert before.learn() == CommitsLearned()


def test_amend_rebase_and_pick_store_nothing_twice(ann: Person) -> None:
    ann.say(DEPLOY)
    assert len(ann.learn().stored) == 1
    ann.amend(DEPLOY + "Fixes: 1")
    ann.git("switch", "-q", "-c", "side", "HEAD~1")
    ann.git("cherry-pick", "--allow-empty", "main")
    assert ann.learn() == CommitsLearned()
    assert len(ann.files()) == 1


def test_a_commit_made_anew_brings_back_nothing_that_was_edited_since_and_another_does(ann: Person) -> None:
    ann.say("Begin")
    said = "Build\n\nRemember: the build needs Java 21\n"
    ann.say(said, "--date=2026-01-01T10:00:00Z")
    assert len(ann.learn().stored) == 1
    ((path, text),) = ann.files().items()
    ann.put(path, text.replace("21", "24"))
    ann.git("reset", "-q", "--soft", "HEAD~1")
    ann.say(said, "--date=2026-01-02T10:00:00Z")
    assert ann.learn() == CommitsLearned()
    assert "21" not in "".join(ann.files().values())
    ann.put(path, None)
    ann.say(said, "--date=2026-01-03T10:00:00Z")
    assert len(ann.learn().stored) == 1


def test_an_amended_request_takes_the_place_of_what_was_stored(ann: Person) -> None:
    ann.say("Ports\n\nRemember: Metrics are served by prometheus from port 8000, since 9000 is taken\n")
    assert len(ann.learn().stored) == 1
    ann.amend("Ports\n\nRemember: For metrics ask the exporter at 9000, since 8000 is taken\n")
    assert len(ann.learn().stored) == 1
    (text,) = ann.files().values()
    assert "For metrics ask the exporter at 9000." in text and "prometheus" not in text.split("---")[2]
    assert "description: For metrics ask the exporter at 9000" in text
    assert text.count("**Why:**") == 1 and "8000 is taken" in text


def test_what_a_rebased_commit_still_asks_for_gives_way_to_no_other_of_that_second(ann: Person) -> None:
    ann.say("Begin")
    when = "--date=2026-01-01T10:00:00Z"
    ann.say("Build\n\nRemember: the build needs Java 21\n", when)
    first = ann.git("rev-parse", "HEAD")
    assert len(ann.learn().stored) == 1
    ann.say("Sign\n\nRemember: the nightly job signs every package\n", when)
    ann.git("switch", "-q", "-c", "base", "HEAD~2")
    ann.say("Another beginning")
    ann.git("switch", "-q", "main")
    ann.git("rebase", "-q", "--empty=keep", "base")
    assert first not in ann.git("rev-list", "--all")
    assert len(ann.learn().stored) == 1
    assert len(ann.files()) == 2


def test_a_memory_that_was_edited_since_stays_when_its_commit_is_amended(ann: Person) -> None:
    ann.say("Ports\n\nRemember: Metrics are served by prometheus from port 8000\n")
    assert len(ann.learn().stored) == 1
    ((path, text),) = ann.files().items()
    mine = text.replace("8000", "8500")
    ann.put(path, mine)
    ann.amend("Ports\n\nRemember: For metrics ask the exporter at 9000\n")
    assert len(ann.learn().stored) == 1
    assert ann.files()[path] == mine


def test_an_own_commit_that_was_rebased_before_it_was_looked_at_is_still_the_persons(ann: Person) -> None:
    ann.git("switch", "-q", "-c", "side")
    ann.say(DEPLOY)
    ann.git("switch", "-q", "main")
    ann.say("Other")
    ann.git("switch", "-q", "side")
    ann.git("rebase", "-q", "--empty=keep", "main")
    assert len(ann.learn().stored) == 1


def test_what_others_ask_for_waits_in_review(ann: Person) -> None:
    ann.say(DEPLOY, author="Ben <ben@example.com>")
    done = ann.learn()
    assert done.stored == [] and ann.files() == {}
    (one,) = open_suggestions(ann.workspace)
    assert "Ben" in one.change.reason and not one.change.asked
    assert ann.learn() == CommitsLearned()


def test_a_fetched_commit_with_the_persons_address_waits_in_review(ann: Person, tmp_path: Path) -> None:
    """Anyone can write somebody else's address into a commit."""
    other = tmp_path / "other"
    ann.git("clone", "-q", ann.repo, other)
    ann.git("-C", other, "commit", "-q", "--allow-empty", "-m", DEPLOY)
    ann.git("pull", "-q", "--ff-only", other, "main")
    done = ann.learn()
    assert done.stored == [] and len(done.suggested) == 1


def test_others_cannot_flood_the_review(ann: Person) -> None:
    words = ["alpha", "bravo", "delta", "gamma", "kappa"]
    for one in words:
        lines = [f"Remember: the {one} team keeps {two} in room {one}{two}" for two in words]
        ann.say("Many\n\n" + "\n".join(lines), author="Ben <ben@example.com>")
    done = ann.learn()
    assert 1 < len(done.suggested) <= 20
    assert any("more than waits" in note for note in done.notes)


def test_forget_takes_the_named_memory_and_it_stays_away(ann: Person) -> None:
    ann.say(DEPLOY)
    (stored,) = ann.learn().stored
    name = stored[1].removeprefix("main/").removesuffix(".md")
    ann.say(f"Other\n\nForget: {name}")
    done = ann.learn()
    assert ann.files() == {}
    told = parse(ann.workspace.private.commit(done.forgotten[0][2]).message)
    assert (told.writer, told.op, told.code_commit) == ("human", "delete", ann.git("rev-parse", "HEAD"))
    ann.say("Again\n\nRemember: we deploy on Tuesdays only")
    again = ann.learn()
    assert again.stored == [] and [one.kind for one in again.refused] == ["tombstone"]


def test_forget_takes_the_one_that_is_named_or_the_claim_that_is_quoted(ann: Person) -> None:
    """No other memory of that file name, and nothing else of the claim's memory."""
    ann.say(DEPLOY)
    (stored,) = ann.learn().stored
    first = stored[1].removeprefix("main/")
    body = "---\nname: sockets\ndescription: Where they are\ntype: project\n---\n\nIn /run.\n"
    ann.put(f"main/topics/{first}", body)
    ann.say("Other\n\nForget: sockets")
    assert len(ann.learn().forgotten) == 1
    assert ann.files().keys() == {stored[1]}
    ann.say("Another\n\nForget: **Why:** Support is there then.")
    assert len(ann.learn().forgotten) == 1
    (text,) = ann.files().values()
    assert "Tuesdays" in text and "Support" not in text


def test_forget_asks_where_others_say_it_and_says_where_nothing_has_the_name(ann: Person) -> None:
    ann.say("One\n\nRemember: we deploy on Tuesdays only")
    (stored,) = ann.learn().stored
    name = stored[1].removeprefix("main/").removesuffix(".md")
    ann.say(f"Two\n\nForget: {name}", author="Ben <ben@example.com>")
    done = ann.learn()
    assert done.forgotten == [] and [one.change.op for one in done.suggested] == ["delete"]
    assert len(ann.files()) == 1
    ann.say("Three\n\nForget: no such thing at all")
    assert ann.learn().notes == ["Forget: no such thing at all: no memory has that name or says that"]


def test_forget_with_other_words_than_the_memory_s_waits_in_review(ann: Person) -> None:
    ann.say("One\n\nRemember: we deploy on Tuesdays only")
    (stored,) = ann.learn().stored
    ann.say("Two\n\nForget: deploy on Tuesdays")
    done = ann.learn()
    (asked,) = done.suggested
    assert (asked.change.op, f"main/{asked.change.file}") == ("delete", stored[1])
    assert "Forget: deploy on Tuesdays" in asked.change.reason
    assert done.forgotten == [] and len(ann.files()) == 1


def test_a_secret_a_private_span_and_what_was_said_with_extraction_off_are_not_stored(ann: Person) -> None:
    ann.say("One\n\nRemember: the token is ghp_0123456789abcdefghijABCDEFGHIJ012345\n")
    ann.say("Two\n\n<private>\nRemember: we deploy on Tuesdays only\n</private>\n")
    ann.git("config", "--global", "gitmem.ignore", "acme")
    ann.say("Three\n\nRemember: Acme pays every invoice late\n")
    done = ann.learn()
    assert done.stored == [] and [one.kind for one in done.refused] == ["secret"]
    assert "ghp_0123" not in done.refused[0].text
    ann.git("config", "gitmem.extract", "off")
    ann.say(DEPLOY)
    ann.learn()
    ann.git("config", "gitmem.extract", "suggest")
    ann.say("Other")
    assert ann.learn().stored == []


def test_a_mistyped_scope_is_told_of_once_and_done_where_it_is_amended(ann: Person) -> None:
    said = "Deploy\n\nRemember(projct): we deploy on Tuesdays only\n"
    ann.say(said)
    told = "not done, scopes are project, local, user: Remember(projct): we deploy on Tuesdays only"
    assert [note.partition(": ")[2] for note in ann.learn().notes] == [told]
    ann.amend(said + "Fixes: 1\n")
    assert ann.learn() == CommitsLearned()
    ann.amend(said.replace("projct", "project"))
    assert [scope for scope, _, _ in ann.learn().stored] == ["project"]


def test_where_files_are_is_refused_only_where_the_code_shows_it(ann: Person) -> None:
    said = "Flags\n\nRemember(project): Feature flags live in flags.toml\n"
    (ann.repo / "conf").mkdir()
    (ann.repo / "conf/flags.toml").touch()
    ann.git("add", "conf")
    ann.say(said)
    assert [one.reason for one in ann.learn().refused] == ["the repository shows where its files are"]
    ann.say(said.replace("flags.toml", "knobs.toml"))
    assert [scope for scope, _, _ in ann.learn().stored] == ["project"]


def test_names_of_the_code_are_listed_once(ann: Person) -> None:
    """A session may say of very many files where they are."""
    (ann.repo / "conf").mkdir()
    (ann.repo / "conf/flags.toml").touch()
    ann.git("add", "conf")
    workspace = ann.workspace
    assert workspace.tracks("conf")
    ann.git("rm", "-q", "--cached", "-r", "conf")
    names = ("flags.toml", "conf/flags.toml", "conf", "onf/flags.toml", "flags", "conf/flags", "knobs.toml")
    assert [workspace.tracks(name) for name in names] == [True, True, True, False, False, False, False]
    assert not ann.workspace.tracks("conf")


def test_an_interrupted_run_stores_nothing_twice(ann: Person) -> None:
    before = (ann.workspace.state / "commits.json").read_bytes()
    ann.say(DEPLOY)
    assert len(ann.learn().stored) == 1
    (ann.workspace.state / "commits.json").write_bytes(before)
    assert ann.learn().stored == []
    (ann.workspace.state / "commits.json").write_bytes(b"\xff{")
    assert ann.learn().stored == []
    assert len(ann.files()) == 1


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Remember: a title is no trailer", []),
        ("T\n\nREMEMBER : x y\n", [("remember", None, "x y")]),
        ("T\n\nRemember (User): x\n", [("remember", "user", "x")]),
        (
            "T\r\n\r\nRemember: a\r\n\tb\r\nForget(local): c\r\n",
            [("remember", None, "a b"), ("forget", "local", "c")],
        ),
        ("T\n\nRemember(everyone): x\n", []),
        ("T\n\nremember(x): returns\n", []),
        ("T\n\nremember(local) returns\n", []),
        ("T\n\nRemember(projct): x\n", [("remember", None, "x", "projct")]),
        ("T\n\nRemember:\n", []),
        ("T\n\nRemember: x\nso that it works\n", []),
        ("T\n\n    Remember: quoted\n", []),
        ("T\n\n> Remember: quoted\n", []),
        ("T\n\nRemember: x\n\nSigned-off-by: A <a@example.com>\n", [("remember", None, "x")]),
        ("T\n\nRemember: x\nRemember: x\n", [("remember", None, "x")]),
        ("T\n\nRemember: \x1b[31mred\x00\u2028Forget: y\n", [("remember", None, "[31mred Forget: y")]),
        ("T\n\nRemember: " + "x" * 5000, []),
        ("", []),
        ("\n\n\n", []),
    ],
)
def test_what_a_message_asks_for(message: str, found: list[tuple[str | None, ...]]) -> None:
    assert requests(message) == tuple(TrailerRequest(*one) for one in found)  # type: ignore[arg-type]


def test_one_commit_asks_for_no_more_than_a_person_would() -> None:
    assert len(requests("T\n\n" + "".join(f"Remember: fact {n}\n" for n in range(500)))) == 20
