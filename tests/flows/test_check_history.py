"""All that a request brings is judged, commit by commit, and no finding shows a credential."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_ground import Ground, findings, make_ground, make_memory
from memory_files import folder, memory
from once import Once
from planted_secrets import GITHUB

from gitmem.flows import check as reading
from gitmem.rules.rule import quote

FACT = "Deploys go out on green."


@pytest.fixture
def ground(tmp_path: Path, once: Once[Ground]) -> Ground:
    return once(
        "ground", lambda: make_memory(tmp_path / "ground", day=FACT, token=f"The token is {GITHUB}.")
    )


def test_a_token_that_is_taken_away_is_not_printed_not_even_half_of_it(ground: Ground, gitmem) -> None:
    """A request that cleans up names what it takes away; what is cut off is recognised by nobody."""
    ground.commit({"main/token.md": memory("It is in the vault.", "token", "About token")}, "Mend")
    for words in ((), ("--json",), ("--github",)):
        ran = gitmem("check", *words, cwd=ground.work)
        assert "claim replaced by" in ran.out and GITHUB not in ran.out
    assert GITHUB[:8] not in quote("word " * 13 + GITHUB)


def test_what_the_base_had_is_none_of_the_request(ground: Ground, gitmem) -> None:
    """Merging the memory branch in brings its commits along, which were judged before."""
    ground.git("checkout", "-q", "-b", "request")
    ground.commit(folder("main", new="A new fact."))
    ground.git("checkout", "-q", "--detach", "origin/gitmem/project")
    ground.commit({"main/more.md": memory(f"Another is {GITHUB}.", "more", "About more")})
    ground.push("gitmem/project")
    ground.git("fetch", "-q")
    ground.git("checkout", "-q", "request")
    ground.git("merge", "-q", "--no-edit", "origin/gitmem/project")
    found = findings(gitmem("check", "--json", cwd=ground.work, ok=False))
    assert not [one for one in found if one[2] == "secret"]


def test_a_history_or_changes_that_are_too_long_are_said(ground: Ground, gitmem, monkeypatch) -> None:
    """What is not judged is never passed over in silence."""
    for number in range(4):
        ground.commit(folder("main", **{f"new{number}": "A new fact."}))
    for limit, most, told in (("MOST_COMMITS", 3, "beyond the first 3 commits"), ("MOST_FILES", 2, "")):
        with monkeypatch.context() as patch:
            patch.setattr(reading, limit, most)
            ran = gitmem("check", "--json", cwd=ground.work, ok=False)
        assert (".", 1, "limit", "error") in findings(ran) and told in ran.out, limit


def test_a_branch_in_code_is_judged_by_its_snapshots_alone(tmp_path: Path, gitmem) -> None:
    """The rest of a code tree, and its commits, are no memory."""
    code = make_ground(tmp_path / "code", {"README.md": "Hello\n"}, "main")
    top = ".claude/agent-memory-snapshots/main"
    state = '{"updatedAt": "2026-11-20T00:00:00Z"}'
    ground = {
        f"{top}/{name.removeprefix('main/')}": text for name, text in folder("main", a="A fact.").items()
    }
    code.commit({**ground, f"{top}/snapshot.json": state, "src/x.txt": f"token = {GITHUB}\n"}, "Code")
    code.commit({f"{top}/b.md": memory(f"The token is {GITHUB}.", "b")}, "Leak")
    code.commit({f"{top}/b.md": None}, "Mend")
    found = findings(gitmem("check", "--json", "--base", "origin/main", cwd=code.work, ok=False))
    assert {path for path, _, rule, _ in found if rule == "secret"} == {f"{top}/b.md"}
