"""Which change of memory did it: found in log2 n tries in any history, and nothing else moves."""

from __future__ import annotations

import json
import math
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from cli_ground import Ground, memory
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.memory import parse
from gitmem.flows.bisect import changes, partly
from gitmem.ledger.land import land_commit
from gitmem.ledger.merge import merge_commits

CHECK = """\
#!/bin/sh
echo "$GITMEM_BISECT_COMMIT" >> "$1"
grep -qr "$2" "$GITMEM_BISECT_DIR" && exit 1
grep -qr "cannot be told" "$GITMEM_BISECT_DIR" && exit 125
exit 0
"""


class Trial:
    """A check that finds a planted word, and counts how often it was asked."""

    def __init__(self, ground: Ground, folder: Path) -> None:
        self.ground, self.script, self.tries = ground, folder / "check.sh", folder / "tries"
        self.script.write_text(CHECK)
        self.script.chmod(0o755)

    def run(self, word: str = "poison", code: int = 0) -> str:
        """What `run` says in the end."""
        self.tries.write_text("")
        return self.ground.run("bisect", "run", self.script, self.tries, word, code=code).out

    @property
    def count(self) -> int:
        """How often the check ran."""
        return len(self.tries.read_text().splitlines())


@pytest.fixture
def trial(ground: Ground, tmp_path: Path) -> Trial:
    return Trial(ground, tmp_path)


def fact(n: int, text: str = "") -> dict[str, str | None]:
    return {f"main/f{n}.md": memory(f"f{n}", text or f"Fact {n} holds.")}


def test_a_fault_in_a_line_of_commits_is_found_in_as_many_tries_as_halves_take(ground, trial) -> None:
    """Twenty changes after the good one: five tries."""
    good = ground.learn(fact(0))
    made = [ground.learn(fact(n, f"A poison-{n:02}.")) for n in range(1, 21)]
    for planted in (1, 7, 19):
        ground.run("bisect", "start", made[-1], good)
        out = trial.run(f"poison-{planted:02}")
        assert out.startswith(f"{made[planted - 1][:12]} is the first bad commit")
        assert f"+ A poison-{planted:02}." in out
        assert trial.count <= math.ceil(math.log2(len(made))) + 1


def test_within_a_commit_the_claim_is_found_by_leaving_others_out(ground: Ground, trial: Trial) -> None:
    """A dream or an import changes many claims at once."""
    good = ground.learn(fact(0))
    claims = [f"Claim {n} is {'poison' if n == 11 else 'fine'}." for n in range(16)]
    bad = ground.learn({**fact(1, "\n\n".join(claims)), **fact(2), **fact(3), **fact(0, "Fact 0 changed.")})
    ground.run("bisect", "start", bad, good)
    out = trial.run()
    assert "what did it: claim of main/f1.md" in out and "+ Claim 11 is poison." in out
    assert trial.count <= math.ceil(math.log2(20)) + 1


def test_a_claim_that_went_is_a_fault_as_well(ground: Ground, tmp_path: Path) -> None:
    """What an agent no longer knows can be what made it go wrong."""
    good = ground.learn(fact(0, "Keep this.\n\nNeed this.\n\nAnd this."))
    ground.learn(fact(1))
    ground.learn(fact(0, "Keep this.\n\nAnd this."))
    bad = ground.learn(fact(2))
    script = tmp_path / "needs.py"
    script.write_text(
        "import os, pathlib\n"
        "text = (pathlib.Path(os.environ['GITMEM_BISECT_DIR']) / 'main/f0.md').read_text()\n"
        "raise SystemExit('Need this.' not in text)\n"
    )
    ground.run("bisect", "start", bad, good)
    out = ground.run("bisect", "run", sys.executable, script).out
    assert "what did it: claim of main/f0.md" in out and "- Need this." in out


def merged_line(ground: Ground, count: int, planted: int) -> tuple[str, str, str]:
    """Two lines from a good commit, the fault in the second; good, fault and the merge on top."""
    where = ground.workspace.scope("project")
    good = ground.learn(fact(0))
    for n in range(1, count):
        ground.learn(fact(n))
    ours = ground.tip()
    land_commit(where.repo, where.ref, good, ours, "back")
    fault = ""
    for n in range(count, 2 * count):
        made = ground.learn(fact(n, "A poison." if n == planted else ""), who="Bob")
        fault = made if n == planted else fault
    merged = merge_commits(where.repo, ours, ground.tip()).commit
    land_commit(where.repo, where.ref, merged, ground.tip(), "merge")
    return good, fault, ground.learn(fact(99))


def test_a_fault_on_a_merged_line_is_found_on_that_line(ground: Ground, trial: Trial) -> None:
    """Git's own halves are by graph; `--first-parent` takes what a merge brought for one change."""
    good, fault, bad = merged_line(ground, 8, 12)
    ground.run("bisect", "start", bad, good)
    assert trial.run().startswith(f"{fault[:12]} is the first bad commit")
    assert trial.count <= math.ceil(math.log2(17)) + 1
    ground.run("bisect", "start", "--first-parent", bad, good)
    assert "+ A poison." in trial.run()


def test_an_import_is_tried_on_top_of_the_good_state(ground: Ground, trial: Trial, tmp_path: Path) -> None:
    """Its commits hold nothing but what it brought, which says nothing of the rest."""
    good = ground.learn(fact(0), "local")
    rows = [{"id": str(n), "memory": f"Row {n} is {'poison' if n == 3 else 'fine'}."} for n in range(6)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    ground.run("import", tmp_path / "rows.json", "--format", "mem0")
    ground.run("review", "accept", "im-")
    ground.run("bisect", "start", "--scope", "local", ground.tip("local"), good)
    out = trial.run()
    assert "is the first bad commit: Row 3 is poison." in out
    where = ground.workspace.scope("local")
    folder = where.state / "bisect"
    assert (folder / "main/f0.md").exists()


def test_by_hand_with_good_bad_and_skip(ground: Ground) -> None:
    """The words are git's; what is skipped is passed by."""
    made = [ground.learn(fact(n)) for n in range(5)]
    assert "waiting for a bad state and a good state" in ground.run("bisect", "start").out
    ground.run("bisect", "bad")
    first = ground.run("bisect", "good", made[0]).out
    assert "Bisecting:" in first and "laid out in" in first
    tried = ground.run("bisect", "--json").json["commit"]
    assert ground.run("bisect", "skip").out and ground.run("bisect", "--json").json["commit"] != tried
    ground.run("bisect", "good", made[3])
    told = ground.run("bisect", "--json").json
    assert told["culprit"] == made[4] and told["done"]
    assert ground.run("bisect", "log").out.splitlines()[:3] == [
        "git mem bisect start --scope project",
        "git mem bisect bad",
        f"git mem bisect good {made[0]}",
    ]


def test_a_word_after_the_end_changes_nothing_of_what_was_found(ground: Ground, trial: Trial) -> None:
    good = ground.learn(fact(0))
    many = {
        path: text for n in range(1, 6) for path, text in fact(n, "A poison." if n == 2 else "").items()
    }
    ground.run("bisect", "start", ground.learn(many), good)
    found = trial.run().splitlines()[-3:]
    for word in ("bad", "good", "skip"):
        assert ground.run("bisect", word).out.splitlines()[-3:] == found


def test_where_only_skipped_ones_are_left_it_says_so(ground: Ground, trial: Trial) -> None:
    """Exit code 2, as git's."""
    good = ground.learn(fact(0))
    made = [
        ground.learn(fact(1, "This cannot be told.")),
        ground.learn(fact(2)),
        ground.learn(fact(3, "A poison.")),
    ]
    ground.learn(fact(1, "Fact 1 again."))
    ground.run("bisect", "start", made[-1], good)
    assert "only skipped commits are left" in trial.run(code=2)


def test_nothing_of_the_person_s_moves(ground: Ground, trial: Trial) -> None:
    """Neither HEAD nor a git bisect of theirs, nor the folder that agents read."""
    git = ground.workspace.code.git
    for n in range(3):
        git.run(["commit", "-q", "--allow-empty", "-m", f"c{n}"], cwd=ground.repo)
    git.run(["bisect", "start", "HEAD", "HEAD~2"], cwd=ground.repo)
    live = ground.folder("project", "main")
    (live / "f0.md").write_text(memory("f0"))
    ground.run("save")
    good = ground.tip()
    ground.learn(fact(1))
    bad = ground.learn(fact(2, "A poison."))

    def seen() -> tuple[object, ...]:
        heads = [
            git.run(["rev-parse", "HEAD"], cwd=ground.repo).text,
            git.run(["bisect", "log"], cwd=ground.repo).text,
        ]
        return (*heads, {path.name: path.read_bytes() for path in live.iterdir()}, ground.tip())

    before = seen()
    ground.run("bisect", "start", bad, good)
    trial.run()
    assert seen() == before
    folder = ground.workspace.scope("project").state / "bisect"
    assert folder.is_dir()
    ground.run("bisect", "reset")
    assert not folder.exists() and not (ground.workspace.state / "bisect.json").exists()
    ground.run("bisect", "good", code=1)


def test_a_command_that_breaks_off_is_no_verdict(ground: Ground, trial: Trial) -> None:
    """As for `git bisect run`: over 127, or not to be started, ends it without a word on the state."""
    good, bad = ground.learn(fact(0)), ground.learn({**fact(1), **fact(2)})
    ground.run("bisect", "run", "true", code=1)
    ground.run("bisect", "start", bad, good)
    ground.run("bisect", "run", sys.executable, "-c", "raise SystemExit(200)", code=3)
    ground.run("bisect", "run", "no-such-command", code=2)
    ground.run("bisect", "start", good, bad, code=2)


CLAIMS = st.lists(st.sampled_from([f"Claim {n}." for n in range(6)]), max_size=5, unique=True)


@given(before=CLAIMS, after=CLAIMS)
def test_parts_of_a_change_go_from_the_one_side_to_the_other(before: list[str], after: list[str]) -> None:
    """Each step makes one change more; none of them is the first side, all of them the second."""
    old, new = (memory("a", "\n\n".join(text) or "Nothing.").encode() for text in (before, after))
    units = changes("main/a.md", old, new)
    states = [partly("main/a.md", old, new, n) for n in range(len(units) + 1)]
    assert (states[0], states[-1]) == (old, new)
    keys = [frozenset(c.key for c in parse("main/a.md", state or b"").parsed.claims) for state in states]
    assert all(len(one ^ other) <= 2 for one, other in pairwise(keys))
