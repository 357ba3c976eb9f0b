"""Disputes: both versions stay until a person says which one stands."""

from __future__ import annotations

from pathlib import Path

import pytest

TEXT = "---\nname: deploy\ndescription: {0}\ntype: project\n---\n\n{1}\n"


@pytest.fixture
def folder(gitmem, git, repo: Path, tmp_path: Path) -> Path:
    """A live directory in which two work trees disagreed."""
    path = repo / ".claude/agent-memory/ops"
    path.mkdir(parents=True)
    (path / "deploy.md").write_text(TEXT.format("When deploys go out", "On Tuesdays."))
    gitmem("init", "-y")
    git("-C", repo, "worktree", "add", "-q", tmp_path / "other", "-b", "other")
    gitmem("init", "-y", cwd=tmp_path / "other")
    other = tmp_path / "other/.claude/agent-memory/ops/deploy.md"
    other.write_text(TEXT.format("The day of deploys", "On Thursdays."))
    (path / "deploy.md").write_text(TEXT.format("Deploy days", "On Wednesdays."))
    gitmem("save", cwd=tmp_path / "other")
    gitmem("save")
    return path


def by_text(gitmem, word: str) -> dict:
    found = [item for item in gitmem("review", "--json").json if item["kind"] == "dispute"]
    return next(item for item in found if word in str(item["claims"]))


def test_both_claims_and_both_descriptions_wait(gitmem, folder: Path) -> None:
    assert sorted(by_text(gitmem, "Thursdays")["claims"]) == ["On Thursdays.", "On Wednesdays."]
    assert by_text(gitmem, "Deploy days")["claims"] == [
        "description: Deploy days",
        "description: The day of deploys",
    ]


def test_the_claim_that_is_accepted_stands_alone(gitmem, folder: Path) -> None:
    item = by_text(gitmem, "Thursdays")
    gitmem("review", "accept", item["id"], item["claims"].index("On Wednesdays.") + 1)
    text = (folder / "deploy.md").read_text()
    assert "---\n\nOn Wednesdays.\n" in text and "Thursdays" not in text


def test_the_claim_that_is_rejected_goes(gitmem, folder: Path) -> None:
    item = by_text(gitmem, "Thursdays")
    gitmem("review", "reject", item["id"], item["claims"].index("On Wednesdays.") + 1)
    text = (folder / "deploy.md").read_text()
    assert "---\n\nOn Thursdays.\n" in text and "Wednesdays" not in text


@pytest.mark.parametrize(("keep", "stands"), [(1, "Deploy days"), (2, "The day of deploys")])
def test_a_disputed_description_takes_the_value_that_is_accepted(
    gitmem, folder: Path, keep: int, stands: str
) -> None:
    gitmem("review", "accept", by_text(gitmem, "Deploy days")["id"], keep)
    text = (folder / "deploy.md").read_text()
    assert f"description: {stands}\n" in text and text.count("description:") == 1


def test_accepting_needs_to_say_which_and_can_keep_both(gitmem, folder: Path) -> None:
    item = by_text(gitmem, "Thursdays")["id"]
    ran = gitmem("review", "accept", item, ok=False)
    assert ran.code == 2 and f"git mem review show {item}" in ran.err
    gitmem("review", "accept", item, 1, 2)
    text = (folder / "deploy.md").read_text()
    assert "On Thursdays.\n" in text and "On Wednesdays.\n" in text


def test_a_number_that_is_none_exits_2(gitmem, folder: Path) -> None:
    ran = gitmem("review", "accept", by_text(gitmem, "Thursdays")["id"], 3, ok=False)
    assert ran.code == 2 and "1 to 2" in ran.err


LISTED = "# Rules\n\n- [deploy](deploy.md) — {0}\n- note: {1}\n"


@pytest.fixture
def listed(gitmem, git, repo: Path, tmp_path: Path) -> Path:
    """Two work trees that wrote the line of one memory differently, by hand."""
    path = repo / ".claude/agent-memory/ops"
    path.mkdir(parents=True)
    (path / "deploy.md").write_text(TEXT.format("Deploys", "On Tuesdays."))
    (path / "MEMORY.md").write_text(LISTED.format("ship before lunch", "Ann decides"))
    gitmem("init", "-y")
    git("-C", repo, "worktree", "add", "-q", tmp_path / "other", "-b", "other")
    gitmem("init", "-y", cwd=tmp_path / "other")
    other = tmp_path / "other/.claude/agent-memory/ops/MEMORY.md"
    other.write_text(LISTED.format("ship before nine", "Ann decides"))
    (path / "MEMORY.md").write_text(LISTED.format("ship before dusk", "Ann decides"))
    gitmem("save", cwd=tmp_path / "other")
    gitmem("save")
    return path / "MEMORY.md"


class TestLinesOfAnIndex:
    def test_both_versions_wait_and_are_counted(self, gitmem, listed: Path) -> None:
        item = by_text(gitmem, "dusk")
        assert item["path"] == "ops/MEMORY.md"
        assert sorted(item["claims"]) == [
            "- [deploy](deploy.md) — ship before dusk",
            "- [deploy](deploy.md) — ship before nine",
        ]
        shown = gitmem("review", "show", item["id"]).out
        assert "before dusk" in shown and "before nine" in shown and "(disputed" not in shown
        assert gitmem("status", "--json").json["review"] == 1

    @pytest.mark.parametrize(("verb", "stands"), [("accept", "dusk"), ("reject", "nine")])
    def test_one_is_settled_as_in_a_memory(self, gitmem, listed: Path, verb: str, stands: str) -> None:
        item = by_text(gitmem, "dusk")
        number = next(n for n, claim in enumerate(item["claims"], 1) if "dusk" in claim)
        gitmem("review", verb, item["id"], number)
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
