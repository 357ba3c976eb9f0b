"""Disputes: both versions stay until a person says which one stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from once import Once
from slices import often

TEXT = "---\nname: deploy\ndescription: {0}\ntype: project\n---\n\n{1}\n"


OPS = Path(".claude/agent-memory/ops")


@pytest.fixture
def disagree(gitmem, git, repo: Path, tmp_path: Path) -> Callable[..., int]:
    """Lets two work trees change a file of one live directory, each without the other's change."""

    def make(name: str, first: str, there: str, here: str) -> int:
        other = tmp_path / "other"
        (repo / OPS).mkdir(parents=True, exist_ok=True)
        (repo / OPS / name).write_text(first)
        gitmem("init", "-y")
        git("-C", repo, "worktree", "add", "-q", other, "-b", "other")
        gitmem("init", "-y", cwd=other)
        (other / OPS / name).write_text(there)
        (repo / OPS / name).write_text(here)
        gitmem("save", cwd=other)
        gitmem("save")
        return gitmem.now

    return make


@pytest.fixture
def folder(gitmem, repo: Path, disagree: Callable[..., int], once: Once[int]) -> Path:
    """A live directory in which two work trees disagreed."""
    about = (("When deploys go out", "Tues"), ("The day of deploys", "Thurs"), ("Deploy days", "Wednes"))
    texts = [TEXT.format(description, f"On {day}days.") for description, day in about]
    gitmem.now = once("folder", lambda: disagree("deploy.md", *texts))
    return repo / OPS


def by_text(gitmem, word: str) -> dict:
    found = [item for item in gitmem("review", "--json").json if item["kind"] == "dispute"]
    return next(item for item in found if word in str(item["claims"]))


def test_both_claims_and_both_descriptions_wait_until_it_is_said_which_stands(gitmem, folder: Path) -> None:
    claims, descriptions = by_text(gitmem, "Thursdays"), by_text(gitmem, "Deploy days")
    assert sorted(claims["claims"]) == ["On Thursdays.", "On Wednesdays."]
    assert descriptions["claims"] == ["description: Deploy days", "description: The day of deploys"]
    one_value = "A description has one value"
    for words, said in (
        (("accept", claims["id"]), f"git mem review show {claims['id']}"),
        (("accept", claims["id"], 3), "1 to 2"),
        (("accept", descriptions["id"], 1, 2), one_value),
        (("reject", descriptions["id"], 1, 2), one_value),
    ):
        ran = gitmem("review", *words, ok=False)
        assert ran.code == 2 and said in ran.err, words
    assert by_text(gitmem, "Deploy days")["key"] == "description"
    gitmem("review", "accept", claims["id"], 1, 2)
    text = (folder / "deploy.md").read_text()
    assert "On Thursdays.\n" in text and "On Wednesdays.\n" in text, "both can be kept"


@pytest.mark.parametrize(
    ("verb", "stands", "gone"),
    [("accept", "Wednesdays", "Thursdays"), ("reject", "Thursdays", "Wednesdays")],
)
def test_the_claim_that_is_accepted_stands_alone_and_one_that_is_rejected_goes(
    gitmem, folder: Path, verb: str, stands: str, gone: str
) -> None:
    item = by_text(gitmem, "Thursdays")
    gitmem("review", verb, item["id"], item["claims"].index("On Wednesdays.") + 1)
    text = (folder / "deploy.md").read_text()
    assert f"---\n\nOn {stands}.\n" in text and gone not in text


def test_where_one_side_is_undone_the_other_stands_unmarked(gitmem, folder: Path) -> None:
    log = gitmem("log", "--json").json
    gitmem("undo", log[1]["commit"])
    text = (folder / "deploy.md").read_text()
    assert "---\n\nOn Wednesdays.\n" in text and "Thursdays" not in text and "Tuesdays" not in text
    assert not [item for item in gitmem("review", "--json").json if "Wednesdays" in str(item)]


def test_a_disputed_description_is_told_as_one_and_no_line_of_the_body(gitmem, folder: Path) -> None:
    """In the file it stands as a line of the body, which nobody wrote there."""
    line = "description: The day of deploys"
    assert line in (folder / "deploy.md").read_text()
    item = by_text(gitmem, "Deploy days")
    shown = gitmem("review", "show", item["id"])
    assert "2 versions of its description" in shown.out and "description: " not in shown.out
    shown = gitmem("show", "deploy")
    assert line not in shown.out and "On Thursdays." in shown.out
    assert "its description is disputed: it may also be 'The day of deploys'" in shown.err
    assert gitmem("show", "deploy", "--json").json["disputed"] == {"description": ["The day of deploys"]}
    assert "(disputed: git mem review) Deploy days" in gitmem("list").out
    assert gitmem("list", "--json").json[0]["disputed"] == ["The day of deploys"]
    (found,) = gitmem("recall", "deploys on thursdays", "--json").json["items"]
    assert line not in found["text"] and "its description is disputed" in found["note"]
    assert "2 claims of it are disputed" in found["note"], "and not three"
    rows = gitmem("blame", "deploy", "--json").json
    (standing,) = (row for row in rows if row["description"])
    (lost,) = (row for row in rows if row["key"])
    assert standing["against"] == [lost["claim"]] and lost["against"] == [standing["claim"]]
    told = gitmem("blame", "deploy").out
    assert line not in told and "(description, disputed) The day of deploys" in told
    gitmem("review", "accept", item["id"], 2)
    assert "disputed" not in gitmem("show", "deploy").err
    assert gitmem("list", "--json").json[0]["disputed"] == []


@pytest.mark.parametrize("stands", often([1, 2, 3], 2))
def test_three_writers_of_a_description_make_one_dispute_of_three_values(
    gitmem, folder: Path, tmp_path: Path, stands: int
) -> None:
    text = (folder / "deploy.md").read_text()
    (mark,) = {line for line in text.splitlines() if line.startswith("description: The day")}
    third = mark.replace("The day of deploys", "What day")
    (folder / "deploy.md").write_text(f"{text.rstrip()}\n\n{third}\n")
    gitmem("save")
    item = by_text(gitmem, "Deploy days")
    assert len(item["claims"]) == 3 and item["key"] == "description"
    gitmem("review", "accept", item["id"], stands)
    text = (folder / "deploy.md").read_text()
    assert text.count("description:") == 1 and f"{item['claims'][stands - 1]}\n" in text


LISTED = "# Rules\n\n- [deploy](deploy.md) — {0}\n- note: {1}\n"


@pytest.fixture
def listed(gitmem, repo: Path, disagree: Callable[..., int], once: Once[int]) -> Path:
    """Two work trees that wrote the line of one memory differently, by hand."""

    def make() -> int:
        (repo / OPS).mkdir(parents=True)
        (repo / OPS / "deploy.md").write_text(TEXT.format("Deploys", "On Tuesdays."))
        lines = (LISTED.format(f"ship before {when}", "Ann decides") for when in ("lunch", "nine", "dusk"))
        return disagree("MEMORY.md", *lines)

    gitmem.now = once("listed", make)
    return repo / OPS / "MEMORY.md"


class TestLinesOfAnIndex:
    @pytest.mark.parametrize(("verb", "stands"), [("accept", "dusk"), ("reject", "nine")])
    def test_both_versions_wait_and_one_is_settled_as_in_a_memory(
        self, gitmem, listed: Path, verb: str, stands: str
    ) -> None:
        item = by_text(gitmem, "dusk")
        lines = {when: f"- [deploy](deploy.md) — ship before {when}" for when in ("dusk", "nine")}
        assert item["path"] == "ops/MEMORY.md" and sorted(item["claims"]) == list(lines.values())
        if verb == "accept":
            shown = gitmem("review", "show", item["id"]).out
            assert "before dusk" in shown and "before nine" in shown and "(disputed" not in shown
            assert gitmem("status", "--json").json["review"] == 1
        gitmem("review", verb, item["id"], item["claims"].index(lines["dusk"]) + 1)
        assert listed.read_text() == LISTED.format(f"ship before {stands}", "Ann decides")
        assert "index of ops" in gitmem("log", "--json").out
        assert gitmem("status", "--json").json["review"] == 0

    def test_where_no_version_stands_the_memory_keeps_a_line(self, gitmem, listed: Path) -> None:
        gitmem("review", "reject", by_text(gitmem, "dusk")["id"], 1, 2)
        text = listed.read_text()
        assert "ship before" not in text and text.count("(deploy.md)") == 1 and "Ann decides" in text

    def test_a_description_that_ends_like_a_mark_makes_no_dispute(self, gitmem, listed: Path) -> None:
        about = "Nothing *(disputed 01234567)*"
        (listed.parent / "odd.md").write_text(TEXT.format(about, "Odd.").replace("deploy", "odd"))
        gitmem("save")
        assert about in listed.read_text()
        assert [item["path"] for item in gitmem("review", "--json").json] == ["ops/MEMORY.md"]


@pytest.mark.parametrize("stands", often(["Tuesdays", "Thursdays"], "Tuesdays"))
def test_a_sentence_and_the_description_made_of_it_are_one_dispute(
    gitmem, repo: Path, disagree: Callable[..., int], stands: str
) -> None:
    """What was remembered in one sentence and changed twice was disputed in the body and in the header."""
    said = {day: f"Deploys go out on {day}" for day in ("Mondays", "Tuesdays", "Thursdays")}
    files = {day: TEXT.format(words, f"{words}.") for day, words in said.items()}
    disagree("deploy.md", *files.values())
    (item,) = [one for one in gitmem("review", "--json").json if one["kind"] == "dispute"]
    assert sorted(item["claims"]) == [f"{said['Thursdays']}.", f"{said['Tuesdays']}."]
    gitmem("review", "accept", item["id"], item["claims"].index(f"{said[stands]}.") + 1)
    assert (repo / OPS / "deploy.md").read_text() == files[stands]
