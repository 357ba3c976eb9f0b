"""What the repository, its rules or this task account for is not stored; everything else may be."""

from __future__ import annotations

import pytest
from planted_secrets import GITHUB

from gitmem.core.change import MemoryType
from gitmem.rules.exclusions import exclusion_reason, for_this_task_only, in_rules

RULES = (
    "# Rules\n\n- Do not mock the database in tests.\n- Python 3.11 is the minimum.\n"
    "- Always run `ruff check` before a commit; never push to main directly.\n"
    "- Server, client, docs, images, wheels and notes leave Berlin each Friday at 16h.\n",
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The auth code lives in src/auth/session.py", "where its files are"),
        ("Settings are defined in `config/base.toml`.", "where its files are"),
        ("├── app\n│   ├── models\n└── docs", "layout"),
        ("```python\ndef handler(event):\n    return event\n```", "code"),
        ("The null check was added in commit 3fa9c21", "history"),
        ("Retries were introduced by PR #44", "history"),
        ("git blame shows that Ann wrote it", "history"),
        ("The crash was caused by a missing null check", "fix"),
        ("Fixed it by pinning the parser.", "fix"),
        ("It is located in ./src/auth", "where its files are"),
        ("The parser sits inside the `lib/parse/` tree", "where its files are"),
        ("Handlers reside under app/handlers/", "where its files are"),
        ("The schema is stored at db/schema.sql", "where its files are"),
        ("│ ├── app\n│ └── docs", "layout"),
        ("|-- app\n`-- docs", "layout"),
        ("See:\n```sh\nmake all\nmake test\nmake more of it\n```", "code"),
        ("~~~\nx = 1\n~~~", "code"),
        ("~~~\n~~~\nab", "code"),
        ("   \n\n~~~\nx = 1\n~~~\n\n   \n", "code"),
        ("The cache was removed with #12", "history"),
        ("It was reverted by commit `0123abc`", "history"),
        ("Retries landed in pull request 44", "history"),
        ("The helper got renamed a while ago in PR 7", "history"),
        ("The last commit fixed the parser", "history"),
        ("Latest commits were about the parser", "history"),
        ("git log says so", "history"),
        ("It was changed with 3fa9c21", "history"),
        ("The helper landed by PR44", "history"),
        ("It was merged in pull request  #44", "history"),
        ("The previous commit is about it", "history"),
        ("Last commits changed it", "history"),
        ("git history tells more", "history"),
        ("The flake got solved", "fix"),
        ("A type error is due to the old stub", "fix"),
        ("Resolved the regression by a pin", "fix"),
        ("The crash was fixed in PR #44", "history"),
        ("The file lives in src/a.py and was added in PR 4", "where its files are"),
    ],
)
@pytest.mark.parametrize("kind", ["project", "reference"])
def test_what_the_repository_tells_is_excluded(kind: MemoryType, text: str, reason: str) -> None:
    for said in (text, text.upper()):
        found = exclusion_reason(said, kind=kind)
        assert found is not None and reason in found
    elsewhere = exclusion_reason(text, kind=kind, tracks=lambda _: False)
    assert (elsewhere is None) == (reason == "where its files are" and "PR 4" not in text)


@pytest.mark.parametrize(
    "text",
    [
        "Now run the tests", "Fix this", "Fix this in the hall", "ok, now commit",
        "please rename the helper", "Can you look at the failing test?", "let's add a button",
        "Try again", "For this PR skip the changelog", "Just this once, push without review",
        "only for now, skip it", "Do it this one time only", "For this session only use the mirror",
        "Thanks, yes, then fix it", "first, please run the tests", "Next, commit",
        "could you just rerun it", "go ahead and merge", "would you now look at the log",
        "re-run these", "look into that", "fix up the rest",
        "clean the build within the current branch", "Use tabs in this commit",
        "Fix the typo. Then run it", "fix this\n- run that",
    ],
)  # fmt: skip
def test_what_matters_to_this_task_is_excluded(text: str) -> None:
    assert for_this_task_only(text) and for_this_task_only(text.upper())
    assert exclusion_reason(text, kind="feedback") == "it matters to this task alone"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("feedback", "Always run the linter before a commit"),
        ("feedback", "Run migrations before the tests"),
        ("feedback", "Don't touch src/legacy"),
        ("feedback", "Whenever you fix this kind of bug, add a test"),
        ("feedback", "Use the helpers that live in src/testing/helpers.py"),
        ("feedback", "Please always write commit messages in the imperative"),
        ("feedback", "Let's use tabs"),
        (
            "feedback",
            "No mocks in tests.\n\n**Why:** the crash was caused by one.\n\n**How to apply:** now run it",
        ),
        ("project", "Merge freeze begins Thursday (2026-11-19)"),
        ("project", "We dropped Redis because of the licence"),
        ("project", "The auth rewrite is driven by legal, not by tech debt"),
        ("project", "All handlers must live in src/handlers/"),
        ("project", "The old job lives in src/jobs/x.py. It goes away when billing moves."),
        ("reference", "Bugs are tracked in the Linear project INGEST"),
        ("reference", "The latency board is at grafana.example.org/d/api"),
        ("reference", "Runbooks are in the ops/runbooks space of the wiki"),
        ("user", "Is a data scientist who looks into logging"),
        ("feedback", "Please do not fix this by hand"),
        ("feedback", "Let's stop committing it"),
        ("feedback", "Ann calls it unjust this time"),
        ("feedback", "Ask at this time OnlyOffice starts"),
        ("feedback", "Fixtures of the tests are made by hand"),
        ("feedback", "Fix this, and from now on run the linter"),
        ("feedback", "For this task and every other one use tabs"),
        ("feedback", "Running the tests takes long"),
        ("feedback", "Use tabs. Fix this"),
        ("project", "The page is in docs.example.org/x.md/list"),
        ("project", "The team lives in Berlin"),
        ("project", "├── app"),
        ("project", "Ann draws a tree as app ├── models\nand as app └── docs"),
        ("project", "It was added in commit cafebabe"),
        ("project", "It was added in version 3"),
        ("project", "It was added in 1234567th place"),
        ("project", "It was unmerged with #12"),
        ("project", "It was merged in PR review"),
        ("project", "Its addedness by #12 is known"),
        ("project", "The digit log shows that"),
        ("project", "The git history showstopper is a page"),
        ("project", "The buggy one was fixed for good"),
        ("project", "The bug is a known one"),
        ("project", "Ann resolved the bug bystanders saw"),
        ("project", "Tags outlast commits removed by a rebase"),
        ("project", "It is unmerged in PR 4"),
        ("project", "A digit log says so"),
        ("project", "Use this form, since the other one hides what is meant:\n```\nx = 1\n```"),
        ("project", "We use the table that lives in src/a.py"),
        ("project", "The convention lives in docs/style.md"),
        ("user", "My notes live in src/notes.md"),
        ("feedback", "The fix was added in PR #4"),
    ],
)
def test_what_people_teach_may_be_stored(kind: MemoryType, text: str) -> None:
    """A person reviews what passes; nobody sees what was refused in error."""
    assert exclusion_reason(text, kind=kind, rules=RULES) is None


@pytest.mark.parametrize(
    "text",
    [
        "Neither push to main directly",
        "Don't mock the database in tests",
        "Never mock the database in the tests!",
        "Python 3.11 is the minimum",
        "Do not mock the database in tests.\n\n**Why:** mocks hid a broken migration.",
        "Never push to main directly",
        "Don’t mock the databases in tests",
        "please do not mock the database in our tests",
        "Do not mock the database in tests. Python 3.11 is the minimum.",
        "- Python 3.11 is the minimum\n- never push to main directly",
        "How to apply: x\n\nPython 3.11 is the minimum",
        "Run `ruff` before commits",
        "Avoid: push to main directly",
        "Server, client, docs, images, wheels and notes leave Paris each Friday at 16h.",
        "Runs `ruff check` before a commit",
    ],
)
def test_what_the_rules_say_is_excluded(text: str) -> None:
    found = exclusion_reason(text, kind="feedback", rules=RULES)
    assert found is not None
    assert "rules" in found


@pytest.mark.parametrize(
    "text",
    [
        "Mock the database in tests",
        "Python 3.12 is the minimum",
        "Push to main directly",
        "Server, client, docs, images, wheels and notes leave Berlin each Friday at 17h.",
        "Server, client, docs, images, wheels and notes never leave Berlin each Friday at 16h.",
        "Do not mock the clock in tests",
        "Do not mock the database in tests. Use the container instead.",
        "",
        "the",
    ],
)
def test_another_number_name_or_negation_is_another_statement(text: str) -> None:
    assert not in_rules(text, RULES)


@pytest.mark.parametrize(
    "between",
    ["\n\n", "\n \n", "\n- ", "\n  * ", "\n+ ", "\n2. ", "\n10) ", "\n## ", ". ", "! ", "? ", "; "],
)
def test_rules_are_told_apart_by_what_stands_between_them(between: str) -> None:
    rules = between.join(("Never push to main directly", "Use tabs", "Ask Ann"))
    assert in_rules("Use tabs", (rules,)) and not in_rules("Use tabs", (rules.replace(between, " "),))


@pytest.mark.parametrize(
    "word", ["not", "no", "never", "without", "avoid", "cannot", "neither", "nor", "forbidden", "don't"]
)
def test_any_negation_is_one(word: str) -> None:
    rules = ("- Never push to main directly.\n",)
    assert in_rules(f"{word.title()}: push to main directly", rules)
    assert not in_rules(f"{word.title()}: push to main directly", ("- Push to main directly.\n",))


def test_a_secret_is_excluded_first_and_not_repeated() -> None:
    found = exclusion_reason(f"Always use {GITHUB}", kind="feedback")
    assert found == "it holds a secret (github-pat)"
