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
