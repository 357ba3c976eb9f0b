"""Tidying after merges and edits that gitmem did not make: recorded, the same everywhere, without loss."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import examples

from gitmem.core import index
from gitmem.core.claim import dispute_of, normal_form, with_dispute
from gitmem.core.memory import parse
from gitmem.core.tombstone import bury
from gitmem.core.trailers import Provenance, format_message
from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger.foreign_commits import (
    SUBJECT,
    foreign_commits,
    has_marks,
    is_own,
    rescue,
    rescue_name,
    tidy_ref,
    without_marks,
    without_repeats,
)
from gitmem.ledger.land import Ref, Write, land, root_commit

REF = "refs/gitmem/project"
ANN = Signature("Ann", "ann@example.com", 1_790_000_000)
OWN = format_message("Learn", Provenance("add", "agent"))
SALT = "5a" * 8
Files = dict[str, str]


def memory(name: str, *claims: str) -> str:
    body = "\n\n".join(claims)
    return f"---\nname: {name}\ndescription: About {name}\ntype: project\n---\n\n{body}\n"


def entry(name: str) -> str:
    return f"- [{name}]({name}.md) — About {name}\n"


class Ground:
    """A repository with one memory ref, and a folder for gitmem's state."""

    def __init__(self, path: Path, git) -> None:
        git("init", "-q", "--bare", path)
        self.repo: Repository = open_repository(path, GitCommand({}))
        self.state = path / "gitmem"
        self.state.mkdir()

    def add(self, files: Files, parents: tuple[str, ...] = (), message: str = "By hand\n") -> str:
        with self.repo.together():
            edits = {path: text.encode() for path, text in {".gitmem": "format = 1\n", **files}.items()}
            tree = write_tree(self.repo, None, edits)
            return self.repo.add_commit(tree, parents or (root_commit(self.repo),), ANN, ANN, message)

    def tidy(self, tip: str | None = None) -> bool:
        if tip is not None:
            move_ref(self.repo, REF, tip, self.repo.ref(REF), "moved")
        return tidy_ref(self.repo, REF, self.state) is not None

    @property
    def tip(self) -> str:
        return self.repo.ref(REF) or ""

    @property
    def files(self) -> Files:
        files = read_files(self.repo, self.repo.commit(self.tip).tree)
        return {path: data.decode() for path, data in files.items() if path != ".gitmem"}


@pytest.fixture
def ground(tmp_path: Path, git) -> Ground:
    return Ground(tmp_path / "memory.git", git)


START = {"main/MEMORY.md": entry("a"), "main/a.md": memory("a", "One.")}


def test_the_index_follows_files_that_were_added_and_deleted_on_a_host(ground: Ground) -> None:
    first = ground.add(START | {"main/MEMORY.md": entry("a") + "- [x](elsewhere.md)\n"}, message=OWN)
    edited = {**START, "main/b.md": memory("b", "Two.")}
    edited["main/MEMORY.md"] = entry("a") + "- [x](elsewhere.md)\n"
    del edited["main/a.md"]
    assert ground.tidy(ground.add(edited, (first,)))
    assert ground.files["main/MEMORY.md"] == "- [x](elsewhere.md)\n" + entry("b"), "its own lines stay"
    made = ground.repo.commit(ground.tip)
    assert made.message.splitlines()[0] == SUBJECT
    assert parse_trailers(made.message).writer == "sync"


def test_a_ref_of_gitmems_own_commits_is_left_alone_and_nothing_is_noted(ground: Ground) -> None:
    """An ordinary write must not pay for this."""
    own = ground.add({"main/MEMORY.md": "", "main/a.md": memory("a", "One.", "One.")}, message=OWN)
    assert not ground.tidy(own)
    assert ground.tip == own and not (ground.state / "tidied").exists()


def test_what_was_looked_at_is_not_looked_at_again(ground: Ground) -> None:
    tip = ground.add(START)
    assert not ground.tidy(tip)
    done = land(Ref(ground.repo, REF), lambda _: Write({"main/b.md": b"x"}, "Add", Provenance("add")), ANN)
    assert done is not None
    noted = next((ground.state / "tidied").iterdir()).read_text().strip()
    assert noted == tip
    assert foreign_commits(ground.repo, done.commit, noted) == ([], 1)
    assert [made.tree for made in foreign_commits(ground.repo, done.commit, None)[0]]


def test_two_clones_make_the_same_commit(ground: Ground, tmp_path: Path, git) -> None:
    other = Ground(tmp_path / "other.git", git)
    tips = []
    for one in (ground, other):
        first = one.add(START, message=OWN)
        assert one.tidy(one.add(START | {"main/b.md": memory("b", "Two.")}, (first,)))
        tips.append(one.tip)
    assert tips[0] == tips[1]
    assert not ground.tidy(), "tidying again changes nothing"


def test_a_foreign_commit_below_gitmems_own_is_tidied_too(ground: Ground) -> None:
    first = ground.add(START, message=OWN)
    foreign = ground.add(START | {"main/b.md": memory("b", "Two.")}, (first,))
    later = START | {"main/b.md": memory("b", "Two."), "main/c.md": memory("c", "Three.")}
    assert ground.tidy(ground.add(later, (foreign,), OWN))
    assert entry("b") in ground.files["main/MEMORY.md"]
    assert entry("c") in ground.files["main/MEMORY.md"], "a memory named nowhere gets its line back"


INNER = "<<<<<<< HEAD\nPort 1.\n=======\nPort 2.\n>>>>>>> two\n"


def test_marks_of_two_merges_in_a_row_keep_three_sides(ground: Ground) -> None:
    base = ground.add(START, message=OWN)
    one, two, three = (
        ground.add(START | {"main/a.md": memory("a", f"Port {n}.")}, (base,), OWN) for n in "123"
    )
    first = ground.add(START | {"main/a.md": memory("a", INNER, "Shared.")}, (one, two))
    marked = f"<<<<<<< HEAD\n{INNER}=======\nPort 3.\n>>>>>>> three\n"
    outer = {"main/a.md": memory("a", marked, "Shared.")}
    assert ground.tidy(ground.add(START | outer, (first, three)))
    assert "main/a.md: both sides of a conflict are kept" in ground.repo.commit(ground.tip).message
    claims = parse("a.md", ground.files["main/a.md"].encode()).parsed.claims
    assert sorted(claim.key for claim in claims) == ["Port 1.", "Port 2.", "Port 3.", "Shared."]
    disputes = {claim.key: claim.dispute for claim in claims}
    assert disputes["Port 1."] == disputes["Port 2."] != "" and disputes["Shared."] == ""


def test_merges_of_merges_with_marks_are_looked_at_once(ground: Ground) -> None:
    """Each of 60 merges has both of those before it as parents: 2^60 ways lead to the first."""
    sides = [ground.add(START | {"main/a.md": memory("a", f"Port {n}.")}, message=OWN) for n in "12"]
    for number in range(60):
        marked = f"<<<<<<< HEAD\nPort {number}."
        parents = (sides[0], sides[1])
        sides = [ground.add({"main/a.md": memory("a", marked, side)}, parents) for side in ("x", "y")]
    assert not ground.tidy(sides[0])


@pytest.mark.parametrize(
    "marks",
    ["<<<<<<< HEAD\nOne.", f"<<<<<<< HEAD\n{INNER}=======\nPort 3.\n>>>>>>> three\n"],
    ids=["without an end", "inside marks that no merge explains"],
)
def test_marks_that_do_not_belong_together_are_left_and_told(ground: Ground, marks: str) -> None:
    first = ground.add(START, message=OWN)
    text = memory("a", marks, "Two.")
    assert ground.tidy(ground.add(START | {"main/a.md": text, "main/b.md": memory("b", "Two.")}, (first,)))
    assert ground.files["main/a.md"] == text
    assert "only a person can resolve" in ground.repo.commit(ground.tip).message


def test_what_one_side_forgot_is_taken_out_again_and_recorded(ground: Ground) -> None:
    claims = ("One.", "The secret of Ben is 7.")
    start = START | {"main/a.md": memory("a", *claims)}
    base = ground.add(start, message=OWN)
    stone = bury(normal_form(claims[1], item=False), SALT, "2026-11-20", "forgot").line()
    forgot = START | {"main/a.md": memory("a", "One."), "main/.tombstones": stone}
    ours = ground.add(forgot, (base,), OWN)
    theirs = ground.add(START | {"main/a.md": memory("a", "One.", "The secret of Ben is 8.")}, (base,), OWN)
    merged = ground.add(
        forgot | {"main/a.md": memory("a", "One.", "The secret of Ben is 8.")}, (ours, theirs)
    )
    assert ground.tidy(merged)
    assert ground.files["main/a.md"] == memory("a", "One.")
    told = parse_trailers(ground.repo.commit(ground.tip).message).claims
    assert [(fate.kind, fate.reason) for fate in told] == [("dropped", "forgotten on one side")]
    assert "secret" not in ground.repo.commit(ground.tip).message


def test_a_claim_that_a_merge_by_lines_doubled_stands_once(ground: Ground) -> None:
    base = ground.add(START, message=OWN)
    ours = ground.add(START | {"main/a.md": memory("a", "Two.", "One.")}, (base,), OWN)
    theirs = ground.add(START | {"main/a.md": memory("a", "One.", "Two.")}, (base,), OWN)
    merged = ground.add(START | {"main/a.md": memory("a", "Two.", "One.", "Two.")}, (ours, theirs))
    assert ground.tidy(merged)
    assert ground.files["main/a.md"] == memory("a", "Two.", "One.")
    [fate] = parse_trailers(ground.repo.commit(ground.tip).message).claims
    assert (fate.kind, fate.reason) == ("merged", "said twice by a text merge")


def test_lines_written_by_hand_that_union_doubled_are_disputed(ground: Ground) -> None:
    base = ground.add(START, message=OWN)
    lines = [f"- [a](a.md) — {text}\n" for text in ("First", "Second")]
    ours, theirs = (ground.add(START | {"main/MEMORY.md": line}, (base,), OWN) for line in lines)
    assert ground.tidy(ground.add(START | {"main/MEMORY.md": "".join(lines)}, (ours, theirs)))
    stands = ground.files["main/MEMORY.md"].splitlines()
    assert len(stands) == 2 and len({dispute_of(line) for line in stands} - {""}) == 1
    assert [with_dispute(line, "") for line in stands] == [line.rstrip() for line in lines]


def test_lines_written_by_hand_that_two_people_added_stand_side_by_side(ground: Ground) -> None:
    """Neither changed what the other wrote: there is nothing to settle, as in a merge of gitmem's own."""
    base = ground.add(START | {"main/MEMORY.md": "# Memory\n"}, message=OWN)
    lines = [f"- [a](a.md) — {text}\n" for text in ("First", "Second")]
    ours, theirs = (
        ground.add(START | {"main/MEMORY.md": f"# Memory\n{one}"}, (base,), OWN) for one in lines
    )
    both = "# Memory\n" + "".join(lines)
    ground.tidy(ground.add(START | {"main/MEMORY.md": both}, (ours, theirs)))
    assert ground.files["main/MEMORY.md"] == both


def test_an_index_that_union_doubled_has_one_of_gitmems_own_lines_a_memory(ground: Ground) -> None:
    base = ground.add(START, message=OWN)
    told = {f"{n}.": memory("a", "One.").replace("About a", f"About {n}") for n in "xy"}
    sides = [
        START | {"main/a.md": text, "main/MEMORY.md": f"- [a](a.md) — About {said}\n"}
        for said, text in zip("xy", told.values(), strict=True)
    ]
    ours, theirs = (ground.add(side, (base,), OWN) for side in sides)
    doubled = "".join(side["main/MEMORY.md"] for side in sides)
    assert ground.tidy(ground.add(sides[0] | {"main/MEMORY.md": doubled}, (ours, theirs)))
    assert ground.files["main/MEMORY.md"] == sides[0]["main/MEMORY.md"]


TWO = "- [a](a.md) — First\n# Head\n- [a](a.md) — Second\n| x | [a](a.md) |\n"
"""Several lines of one writer for one memory."""


def test_an_index_that_nobody_merged_keeps_each_line_that_people_wrote(ground: Ground) -> None:
    """As after a change by others in a memory, or one that was picked from a dream."""
    base = ground.add(START | {"main/MEMORY.md": TWO}, message=OWN)
    edited = {"main/MEMORY.md": TWO, "main/a.md": memory("a", "One.", "Two.")}
    assert not ground.tidy(ground.add(edited, (base,)))
    assert ground.files["main/MEMORY.md"] == TWO


@pytest.mark.parametrize("merged", [True, False], ids=["merge", "edit"])
def test_lines_that_were_written_after_what_others_did_stand_as_they_are(ground, merged: bool) -> None:
    """Their writer saw what stood there already."""
    base = ground.add(START | {"main/MEMORY.md": ""}, message=OWN)
    one = START | {"main/MEMORY.md": "- [a](a.md) — First\n"}
    ours, theirs = ground.add(one, (base,), OWN), ground.add(START | {"main/b.md": "B."}, (base,), OWN)
    foreign = ground.add(one | {"main/b.md": "B."}, (ours, theirs) if merged else (ours,))
    later = START | {"main/b.md": "B.", "main/MEMORY.md": TWO + "- [b](b.md)\n"}
    assert not ground.tidy(ground.add(later, (foreign,), OWN))


def test_a_line_that_union_brought_back_in_the_second_of_two_merges_goes_with_its_memory(ground) -> None:
    """What the first merge held is a side of the second: the line is gitmem's own by that."""
    start = START | {"main/b.md": memory("b", "Two."), "main/MEMORY.md": entry("a") + entry("b")}
    base = ground.add(start, message=OWN)
    added = [start | {f"main/{n}.md": memory(n, n), "main/MEMORY.md": entry(n)} for n in "cd"]
    ours, theirs = (ground.add(side, (base,), OWN) for side in added)
    whole = added[0] | added[1] | {"main/MEMORY.md": "".join(map(entry, "abcd"))}
    first = ground.add(whole, (ours, theirs))
    moved = start | {
        "main/e.md": start["main/b.md"],
        "main/MEMORY.md": entry("a") + "- [b](e.md) — About b\n",
    }
    del moved["main/b.md"]
    third = ground.add(moved, (base,), OWN)
    merged = whole | moved | {"main/MEMORY.md": "".join(map(entry, "abcd")) + "- [b](e.md) — About b\n"}
    del merged["main/b.md"]
    assert ground.tidy(ground.add(merged, (first, third)))
    assert ground.files["main/MEMORY.md"] == "".join(map(entry, "acd")) + "- [b](e.md) — About b\n"


def test_files_that_differ_in_case_only_are_kept_apart(ground: Ground) -> None:
    """A file system that ignores case would show one and lose the other."""
    first = ground.add(START, message=OWN)
    added = {"main/Notes.md": memory("one", "First."), "main/notes.md": memory("other", "Second.")}
    assert ground.tidy(ground.add(START | added, (first,)))
    names = [path for path in ground.files if "notes" in path.lower()]
    assert len({name.casefold() for name in names}) == len(names) == 2
    text = "".join(ground.files[name] for name in names)
    assert "First." in text and "Second." in text
    assert all(f"({name.removeprefix('main/')})" in ground.files["main/MEMORY.md"] for name in names)


def test_an_octopus_is_tidied_like_any_merge(ground: Ground) -> None:
    base = ground.add(START, message=OWN)
    files = {f"main/{name}.md": memory(name, f"{name}.") for name in "bcd"}
    parents = tuple(ground.add(START | {path: text}, (base,), OWN) for path, text in files.items())
    assert ground.tidy(ground.add(START | files, parents))
    assert ground.files["main/MEMORY.md"] == "".join(entry(name) for name in "abcd")


LOG, OLD = "main/logs/2026/11/2026-11-20.md", "main/archive/logs/2026/11/2026-11-20.md"
LINES = [f"- {hour}:00:00Z [project ab] Fact {hour}.\n" for hour in (10, 11, 12)]


def test_lines_that_a_host_took_out_of_a_log_stand_there_again(ground: Ground) -> None:
    """A log is only added to; what was forgotten, or only changed its place, is not lost."""
    stones = {"main/.tombstones": bury("Fact 12.", SALT, "2026-11-20", "forgot").line() + "\n"}
    first = ground.add({LOG: "".join(LINES) + "## Late\n"}, message=OWN)
    changed = LINES[0].replace("Fact", "Myth")
    second = ground.add({LOG: changed + LINES[1]} | stones, (first,))
    assert ground.tidy(second)
    # A heading stays where it was said, though the line before it was forgotten.
    assert ground.files[LOG] == LINES[0] + changed + LINES[1] + "## Late\n"
    gone = ground.add(stones, (ground.tip,))
    assert ground.tidy(gone) and ground.files[LOG] == LINES[0] + changed + LINES[1] + "## Late\n"
    for place in (OLD, LOG):
        moved = ground.add({place: ground.files[LOG if place == OLD else OLD]} | stones, (ground.tip,))
        assert not ground.tidy(moved)


def test_a_line_that_one_side_of_a_merge_took_back_stays_out(ground: Ground) -> None:
    base = ground.add({LOG: "".join(LINES[:2])}, message=OWN)
    undone = ground.add({LOG: LINES[0]}, (base,), OWN)
    more = ground.add({LOG: "".join(LINES)}, (base,), OWN)
    assert not ground.tidy(ground.add({LOG: LINES[0] + LINES[2]}, (undone, more)))
    assert ground.tidy(ground.add({LOG: LINES[1]}, (more, base)))
    assert ground.files[LOG] == "".join(LINES[:2])


def test_what_its_ref_lost_is_kept_from_git_once(ground: Ground) -> None:
    lost = ground.add(START)
    for oid in (lost, lost, "f" * len(lost)):
        rescue(ground.repo, oid)
    assert ground.repo.refs("refs/gitmem/rescued/") == {rescue_name(lost): lost}


def test_history_that_ends_early_is_left_alone(ground: Ground) -> None:
    """In a shallow clone the parents of the oldest commit are not there."""
    first = ground.add(START, message=OWN)
    second = ground.add(START | {"main/b.md": memory("b", "Two.")}, (first,))
    (ground.repo.git_dir / "objects" / first[:2] / first[2:]).unlink()
    assert not ground.tidy(second)


@pytest.mark.parametrize(
    ("message", "own"),
    [
        (OWN, True),
        ("By hand\n", False),
        (f"Squash\n\n* Learn\n\n{OWN}\n* Learn\n\n{OWN}", False),
        ("Squashed commit\n\n    Learn\n\n    Gitmem-Op: add\n", False),
        ("Learn\n\nGitmem-Op: add\nSigned-off-by: Ann\n", False),
    ],
)
def test_only_gitmems_own_message_says_that_gitmem_wrote_it(message: str, own: bool) -> None:
    assert is_own(message) is own


def test_marks_inside_a_fence_only_tell_of_them() -> None:
    fence = "```\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> other\n```"
    assert not has_marks("main/a.md", memory("a", fence).encode())
    assert has_marks("main/a.md", memory("a", fence, "<<<<<<< HEAD\n1").encode())


def test_marks_with_the_ancestor_between_them_are_understood() -> None:
    text = memory("a", "<<<<<<< ours\n- one\n||||||| base\n- none\n=======\n- two\n>>>>>>> theirs\n- three")
    whole = without_marks("main/a.md", text.encode())
    assert whole is not None
    keys = {claim.key for claim in parse("a.md", whole).parsed.claims}
    assert keys == {"one", "two", "three"}


def test_marks_in_index_log_and_tombstones_keep_both_sides() -> None:
    marked = "<<<<<<< a\n{}=======\n{}>>>>>>> b\n"
    index = without_marks("main/MEMORY.md", marked.format(entry("a"), entry("b")).encode())
    assert index == (entry("a") + entry("b")).encode()
    log = without_marks("main/logs/2026/11/2026-11-20.md", marked.format("10:00 b\n", "09:00 a\n").encode())
    assert log == b"09:00 a\n10:00 b\n"


def test_a_person_may_say_a_thing_twice() -> None:
    data = memory("a", "One.", "One.").encode()
    assert without_repeats("main/a.md", data, [data]) == (data, ())
    listed = entry("a") + "\n## Again\n\n" + entry("a")
    assert index.without_twins(listed, [listed], [listed], {"a.md": (data,)}) == listed


PIECES = st.lists(
    st.sampled_from([*"abcdefg", "- one", "- two", "**Why:** so.", "Wrapped\nonce", "# Head"]), max_size=6
)


@settings(max_examples=examples(40))
@given(PIECES, PIECES, PIECES, st.sampled_from(["--diff3", "-q"]))
def test_marks_that_git_leaves_keep_all_that_either_side_says(
    base: list[str], ours: list[str], theirs: list[str], style: str
) -> None:
    texts = [memory("a", *pieces) for pieces in (ours, base, theirs)]
    with TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            Path(folder, str(number)).write_text(text)
        words = ["git", "merge-file", "-p", style, "0", "1", "2"]
        merged = subprocess.run(words, cwd=folder, capture_output=True, check=False).stdout
    if not has_marks("main/a.md", merged):
        return
    whole = without_marks("main/a.md", merged)
    assert whole is not None and not has_marks("main/a.md", whole)
    keys = [{c.key for c in parse("a.md", data).parsed.claims} for data in (*map(str.encode, texts), whole)]
    assert (keys[0] - keys[1]) | (keys[2] - keys[1]) <= keys[3]
