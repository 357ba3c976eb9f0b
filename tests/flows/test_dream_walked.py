"""A dream in `git mem review -i`: each of its changes has a key of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from dream_ground import Ground, ground_once, notes
from dream_parked import once_said, park
from once import Once

from gitmem.cli.output import Output
from gitmem.cli.review_walk import walk
from gitmem.cli.run import make_context
from gitmem.dream.review import open_dreams

FACTS = notes(
    build=(
        "How long the build takes",
        "The build takes nine minutes.\n\nThe build takes nine minutes, it does.",
    ),
    deploys=("How deploys go", "Deploy with `make ship`.\n\nDeploys go out with `make ship`."),
)


def waiting(ground: Ground) -> None:
    build = once_said(FACTS, "build", "The build takes nine minutes, it does.", "The build takes")
    park(ground, [build, once_said(FACTS, "deploys", "Deploys go out with `make ship`.", "Deploy with")])


@pytest.fixture
def ground(repo: Path, once: Once[None], monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    return ground_once(once, repo, FACTS, then=waiting)


def press(ground: Ground, keys: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    given = iter(keys)
    walk(make_context(ground.repo, Output(yes=True)), lambda: lambda: next(given, "q"), dry_run=False)
    return capsys.readouterr().out


def test_one_change_is_taken_and_the_other_turned_down(
    ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    said = press(ground, "ar", capsys)
    assert "Say it once in build" in said and "- Deploys go out" in said
    tree = ground.tree()
    assert "it does" not in tree["main/build.md"] and "Deploys go out" in tree["main/deploys.md"]
    assert not open_dreams(ground.workspace)


def test_one_key_takes_the_rest_of_it_whole(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    """Accepted whole, the dream's own commits stay in history."""
    assert "accepted 2 changes" in press(ground, "lua" + "uA", capsys)
    place = ground.scope()
    tip = place.repo.ref(place.ref)
    assert tip is not None and len(place.repo.commit(tip).parents) == 2
    assert not open_dreams(ground.workspace)


def test_an_edit_is_a_step_of_its_own(
    ground: Ground, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_EDITOR", "sed -i s/nine/ten/")
    said = press(ground, "e", capsys)
    assert "[1/2]" in said and "[1/3]" in said
    assert len(open_dreams(ground.workspace)[0].changes) == 3
