"""Dreams: what is proved is proposed as commits that account for every claim; nothing else is touched."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from dream_ground import ANN, TWICE, Ground, memory, notes, planted
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core.account import account, references
from gitmem.core.trailers import parse
from gitmem.dream.cards import cards_of, claim_origins
from gitmem.dream.proof import prove_plan, refuse
from gitmem.dream.review import accept
from gitmem.dream.schedule import last_dream
from gitmem.engines.engine import MOST, ConsolidateInput, Consolidation
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.dream import DreamOutcome, dream
from gitmem.git.trees import read_files
from gitmem.ledger.blame import blame_memory
from gitmem.ledger.dreams import open_dreams

ground = planted()


def night(ground: Ground, scope: str = "project", **given: object) -> DreamOutcome:
    return dream(ground.workspace, ground.edges, scope=scope, force=True, **given)  # type: ignore[arg-type]


def consolidated(
    files: dict[str, str], said: datetime | None = None
) -> tuple[Consolidation, dict[str, str]]:
    """What the offline engine makes of a tree, checked, and the tree afterwards."""
    tree = {path: text.encode() for path, text in files.items()}
    times = dict.fromkeys(references(tree), said) if said else {}
    made = OfflineEngine().consolidate(ConsolidateInput(tree, times))
    refuse(prove_plan(tree, made.changes))
    after = dict(tree)
    for change in made.changes:
        change.apply_to(after)
    return made, {path: data.decode() for path, data in after.items()}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Run the linter before committing.", "Run the linter before committing."),
        ("Run the linter before committing.", "Always run the linter before you commit."),
        ("Use the real database in integration tests.", "Integration tests use the real database."),
        ("Don't push on a Friday evening.", "Never push on Friday evening!"),
        ("Retry failed uploads three times.", "Retry failed uploads 3 times."),
        (
            "Run the linter before committing.",
            "Run the linter before committing. It takes 4 seconds and finds most slips.",
        ),
        (
            "Run the linter before committing.",
            "- Run the linter before committing.\n- Ask Ann about releases.",
        ),
    ],
)
def test_equal_contained_and_near_duplicates_are_merged(one: str, other: str) -> None:
    made, after = consolidated(notes(aa=("Same subject", one), bb=("Same subject", other)))
    assert [change.kind for change in made.changes] == ["merge"]
    assert len([path for path in after if not path.endswith("MEMORY.md")]) == 1


def test_what_is_said_of_two_things_stays_twice() -> None:
    text = memory("Run the linter before committing.", "Lint first")
    rule = "- Ann reviews all migrations"
    narrow, wide = ("Linting rules", f"In CI:\n\n{rule}"), ("Linting rules", f"{RUN}\n\n{rule}")
    leads = "On Monday:\n\n- run the full suite\n\nOn Friday:\n\n- run the full suite"
    broke = "**Why:** it broke twice."
    for files in (
        # It is said to two agents, or under two types.
        {"main/a.md": text, "reviewer/a.md": text, "main/b.md": text.replace("project", "user")},
        # What a list says of one case takes in nothing that is said of all.
        notes(aa=narrow, bb=wide),
        notes(aa=wide, bb=narrow),
        # It stands under a lead, or explains another claim.
        notes(aa=("When to test", leads)),
        notes(aa=("Tests", f"Use the real database.\n\n{broke}\n\nUse the real cache.\n\n{broke}")),
    ):
        assert consolidated(files)[0].changes == ()


def test_the_copy_goes_and_the_first_of_a_name_stays() -> None:
    text = memory("Run the linter before committing.", "Lint first", "lint")
    made, after = consolidated({"main/lint.md": text, "main/lint-2.md": text})
    assert list(after) == ["main/lint.md"]
    assert made.changes[0].subject == "Merge lint-2 into lint"


def test_links_to_a_merged_memory_lead_to_the_one_that_stays() -> None:
    more = TWICE | {"main/hints.md": memory("See [[no-mocks]] and `[[no-mocks]]`.", "Hints", "hints")}
    made, after = consolidated(more)
    assert "See [[real-database]] and `[[no-mocks]]`." in after["main/hints.md"]
    assert any(fate.kind == "superseded" for fate in made.changes[0].fates)


def test_relative_dates_are_annotated_against_the_day_they_were_said() -> None:
    said = datetime(2026, 11, 20, 9, tzinfo=UTC)
    body = "The freeze began yesterday.\n\nIt ends some weeks from then.\n\nLast week was bad."
    made, after = consolidated(notes(aa=("The freeze of tomorrow", body)), said)
    assert "yesterday (2026-11-19)." in after["main/aa.md"]
    assert "description: The freeze of tomorrow (2026-11-21)\n" in after["main/aa.md"]
    assert [change.kind for change in made.changes] == ["date", "date"]
    assert any("Last week" in note and "unclear" in note for note in made.notes)


def test_limits_index_lines_and_dates_of_unknown_time_are_listed_for_a_person() -> None:
    files = notes(big=("Big", "x" * 103_000), freeze=("The freeze", "The freeze began yesterday."))
    files |= {"main/MEMORY.md": "- [gone](gone.md)\n- [freeze](freeze.md)\n" + "- line\n" * 300}
    made, after = consolidated(files)
    assert made.changes == () and after == files
    kinds = [note.partition(":")[0] for note in made.notes]
    assert kinds.count("limit") == 2 and kinds.count("index") == 2
    assert any("nobody knows when" in note for note in made.notes)


def test_a_dream_is_a_branch_with_one_commit_a_change_and_memory_stays(ground: Ground) -> None:
    ground.put(TWICE)
    ground.put({"main/hint.md": memory("It broke yesterday.", "A hint", "hint")})
    before = ground.tree()
    outcome = night(ground)
    assert ground.tree() == before
    repo = ground.scope().repo
    tip = repo.ref(f"refs/gitmem/dream/{outcome.id}")
    assert tip is not None
    (waiting,) = open_dreams(ground.workspace)
    assert [change.n for change in waiting.changes] == [1, 2]
    summary = repo.commit(tip)
    assert summary.tree == repo.commit(waiting.changes[-1].commit).tree
    assert "1 x merge" in waiting.summary and "1 x date" in waiting.summary
    for change in waiting.changes:
        commit = repo.commit(change.commit)
        provenance = parse(commit.message)
        assert (provenance.op, provenance.writer, provenance.engine) == ("dream", "dream", "offline")
        then, now = (read_files(repo, repo.commit(oid).tree) for oid in (commit.parents[0], change.commit))
        assert account(then, now, change.fates).unaccounted == ()
        assert all(story.before and story.after for story in change.claims)
        assert not any(path.endswith("MEMORY.md") for path in change.files)


def test_what_was_adopted_was_said_nobody_knows_when(ground: Ground) -> None:
    """Its commit has the time of the file, which any later edit of it may have set."""
    ground.put({"main/hint.md": memory("It broke yesterday.", "A hint", "hint")}, op="adopt")
    assert night(ground).id == ""
    # A later edit of another claim makes this one no younger.
    ground.put({"main/hint.md": memory("It broke yesterday.\n\nAnd more.", "A hint", "hint")})
    assert night(ground).id == ""
    ground.put({"main/hint.md": memory("It broke yesterday.\n\nIt was mended today.", "A hint", "hint")})
    (change,) = night(ground, dry_run=True).plan.changes  # type: ignore[union-attr]
    text = change.edits["main/hint.md"] or b""
    assert b"today (2026-11-" in text and b"yesterday." in text
    twice = memory("Builds take an hour.\n\nBuilds take an hour.", "Builds", "builds")
    ground.put({"main/hint.md": None, "main/builds.md": twice}, op="adopt")
    night(ground)
    (dream,) = open_dreams(ground.workspace)
    (card,) = cards_of(dream.open, claim_origins(dream))
    said = " ".join(note for side in card.sides for note in side.notes)
    assert "said by Ann, nobody knows when, in a file of 2026-11-16" in said


@pytest.mark.parametrize(
    ("scope", "share", "where"),
    [
        ("project", "off", "refs/gitmem/dream/"),
        ("project", "review", "refs/heads/gitmem/dream/"),
        ("local", "off", "refs/heads/dream/"),
        ("user", "off", "refs/heads/dream/"),
    ],
)
def test_each_scope_dreams_in_its_own_place(ground: Ground, scope: str, share: str, where: str) -> None:
    ground.configure("share", share)
    ground.put(TWICE, scope)
    outcome = night(ground, scope)
    (waiting,) = open_dreams(ground.workspace)
    assert (waiting.scope.name, waiting.ref) == (scope, where + outcome.id)
    code = ground.workspace.code.refs("refs/")
    assert (scope == "project") == any(outcome.id in ref for ref in code)


def test_a_dry_run_writes_nothing_and_nothing_to_propose_moves_the_time_alone(ground: Ground) -> None:
    ground.put(TWICE)
    outcome = night(ground, dry_run=True)
    assert outcome.plan is not None and len(outcome.plan.changes) == 1
    assert open_dreams(ground.workspace) == () and last_dream(ground.scope()) == 0
    ground.put(dict.fromkeys(TWICE) | notes(a=("One", "One fact alone.")))
    outcome = night(ground)
    assert outcome.plan is not None and outcome.id == "" and open_dreams(ground.workspace) == ()
    assert last_dream(ground.scope()) == ground.now


def test_live_directories_are_saved_before_a_dream(ground: Ground) -> None:
    folder = ground.repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    for name in ("aa", "bb"):
        (folder / f"{name}.md").write_text(memory("Run the linter before committing.", "Lint", name))
    assert night(ground).id


def test_what_an_index_line_said_is_blamed_on_who_wrote_the_line(ground: Ground) -> None:
    ground.put({"main/hint.md": memory("The build is fast.", "A hint on the build", "hint")})
    said = "ask Bob for the signing key of the release before any migration of the billing tables"
    rest = "and wait until the nightly backup of them is done"
    line = f"- [hint](hint.md) — A hint on the build; {said}, {rest}\n"
    wrote = ground.put({"main/MEMORY.md": line})
    done = night(ground)
    (keeps,) = (
        one.n for one in open_dreams(ground.workspace)[0].changes if one.subject.startswith("Keep in hint")
    )
    written = accept(ground.workspace, done.id, (keeps,), ANN, ground.now).written
    assert written is not None
    blamed = blame_memory(ground.scope().repo, written.commit, "main/hint.md")
    (kept,) = (one for one in blamed if said in one.claim.text)
    assert [origin.commit for origin in kept.origins] == [wrote]


RUN = "Run the linter before committing."
ALWAYS = "Always run the linter before you commit."
NEVER = "Never push on a Friday evening."
CLAIMS = st.sampled_from(
    [
        RUN,
        ALWAYS,
        NEVER,
        "Push on a Friday evening.",
        "Python 3.11 is the minimum version.",
        "Python 3.12 is the minimum version.",
        "**Why:** it broke twice.",
        "**How to apply:** in every test.",
        "- Ann reviews all migrations",
        "- Ben reviews all migrations",
        "The freeze began yesterday, see [[aa]].",
        "See [[bbs]] and [[dd]].",
        "# A heading",
        "In CI:",
        "```sh\nmake  test\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "Use tabs\nfor indentation.",
    ]
)
MEMORIES = st.builds(
    lambda claims, hook, type: (hook, "\n\n".join(claims), type),
    st.lists(CLAIMS, max_size=5),
    st.sampled_from(["Linting rules", "What Ann said yesterday", "Rules, see [[aa]]", "- odd", "x: y"]),
    st.sampled_from(["project", "feedback"]),
)


NIGHTS = 5
"""In which these few memories are in order: a dream makes 20 changes, and none that needs another one."""

FREEZE = "The freeze began yesterday, see [[aa]]."


@given(st.dictionaries(st.sampled_from(["aa", "bb", "cc", "dd"]), MEMORIES, max_size=4))
@example({"aa": ("Linting rules", f"{FREEZE}\n\n{FREEZE}", "project")})
@example({"aa": ("Linting rules", f"{RUN}\n\n{RUN}\n\n{ALWAYS}", "project")})
@example(
    {
        "aa": ("Linting rules", f"{RUN}\n\n{NEVER}", "feedback"),
        "bb": ("Linting rules", f"{NEVER}\n\n# A heading", "feedback"),
        "cc": ("Linting rules", ALWAYS, "feedback"),
    }
)
@example(
    {
        "aa": ("What Ann said yesterday", f"{FREEZE}\n\n{FREEZE}", "project"),
        "bb": ("Linting rules", f"{FREEZE}\n\n{FREEZE}\n\n{FREEZE}", "project"),
    }
)
@example(
    {
        "aa": ("Linting rules", f"{FREEZE}\n\n{FREEZE}", "project"),
        "bb": ("What Ann said yesterday", FREEZE, "project"),
        "cc": ("Linting rules", f"{RUN}\n\n{FREEZE}", "project"),
        "dd": ("Linting rules", f"{FREEZE}\n\n{FREEZE}", "project"),
    }
)
def test_every_claim_of_any_corpus_survives_or_is_in_the_account(
    found: dict[str, tuple[str, str, str]],
) -> None:
    """A later night proposes only what a change of the one before it made possible, and soon nothing."""
    files = {f"main/{name}.md": memory(b, hook, name, t) for name, (hook, b, t) in found.items()}
    touched: set[str] | None = None
    for _ in range(NIGHTS):
        made, after = consolidated(files, datetime(2026, 11, 20, tzinfo=UTC))
        before, now = ({p: t.encode() for p, t in tree.items()} for tree in (files, after))
        fates = [fate for change in made.changes for fate in change.fates]
        result = account(before, now, fates)
        assert result.unaccounted == ()
        assert not any(fate.kind == "dropped" for fate in fates)
        proposed = [change for change in made.changes if change.kind != "question"]
        for change in proposed if touched is not None else ():
            ends = {end for fate in change.fates for end in (fate.source, fate.target)}
            assert touched is not None and touched & ends
            touched |= ends  # two claims that are dated now may be one
        if not proposed:
            return
        # Of what a dream has no room for it says nothing.
        touched = {fate.target for fate in fates} if len(made.changes) < MOST else None
        files = after
    raise AssertionError(f"after {NIGHTS} nights there is something left to do")
