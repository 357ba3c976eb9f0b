"""How often a natural question finds its memory, and how often an unrelated prompt finds any."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_repository import DAY, START, MemoryRepository

from gitmem.search.catalog import Catalog
from gitmem.search.gate import PROMPT, QUESTION, RecallGate, select
from gitmem.search.query import RecallSource, gather
from gitmem.search.recall import recall

REF = "refs/gitmem/project"

# file: (description, body)
MEMORIES = {
    "deploy-release-branch": (
        "We deploy from the release branch only",
        "We deploy from the release branch only.\n\n**Why:** Main can hold migrations that have not run.",
    ),
    "zod-mini-imports": (
        "Import zod/mini in browser code, the full zod only on the server",
        "The bundle grew by 40 kB when a form imported all of it. Write schemas with `z.object` as usual.",
    ),
    "no-mocks-database": (
        "Never mock the database in integration tests",
        "**Why:** the mocks hid a broken migration.\n\n**How to apply:** start the container first.",
    ),
    "short-transactions": (
        "Keep transactions short: long ones hold locks on the orders table",
        "Write in batches of 500. A drop in throughput was traced to one long transaction.",
    ),
    "bugs-in-linear": (
        "Bugs are tracked in the Linear project OPS",
        "Ask in #ops for access to the project.",
    ),
    "feature-freeze": (
        "The feature freeze starts on 2026-12-01",
        "Nothing is merged after it but fixes, until the mobile release is out.",
    ),
    "short-answers": (
        "Prefers short answers without a summary at the end",
        "Skip the recap; show the diff.",
    ),
    "role-data-engineer": ("Ann is a data engineer, new to Go", "Explain Go idioms by way of Python."),
    "latency-dashboard": (
        "On-call watches the Grafana board for request latency",
        "Look there before a change to the request path is rolled out.",
    ),
    "websocket-reconnect": (
        "The vendor drops websocket connections every 15 minutes",
        "It is by contract, no bug: reconnect with backoff and do not page anyone.",
    ),
    "session-tokens-legal": (
        "Legal asked for the rewrite of how session tokens are stored",
        "Compliance decides scope, not comfort. New code must write tokens encrypted.",
    ),
    "changelog-on-request": (
        "Don't touch the changelog unless asked",
        "The release manager writes it, tests included, from the pull requests.",
    ),
}

FOUND = [
    ("How do we deploy?", "deploy-release-branch"),
    ("How do we deploy to production?", "deploy-release-branch"),
    ("which branch do we deploy from?", "deploy-release-branch"),
    ("what do I need to remember about zod?", "zod-mini-imports"),
    ("tell me what you know about zod", "zod-mini-imports"),
    ("should I import zod in this form component?", "zod-mini-imports"),
    ("Should I mock the database in this test?", "no-mocks-database"),
    ("can I use mocks here?", "no-mocks-database"),
    ("how do we run integration tests against the database", "no-mocks-database"),
    ("what about long transactions?", "short-transactions"),
    ("why is the orders table locked all the time", "short-transactions"),
    ("Where are bugs tracked?", "bugs-in-linear"),
    ("where do I file a bug?", "bugs-in-linear"),
    ("do you remember what Linear is for", "bugs-in-linear"),
    ("when does the freeze start?", "feature-freeze"),
    ("may I still merge this, or is there a feature freeze", "feature-freeze"),
    ("how long should your answers be?", "short-answers"),
    ("what do you know about Ann?", "role-data-engineer"),
    ("which grafana board should I look at", "latency-dashboard"),
    ("is there a dashboard for latency", "latency-dashboard"),
    ("the websocket closed again after a quarter of an hour, is that a bug?", "websocket-reconnect"),
    ("who asked for the session token rewrite", "session-tokens-legal"),
    ("please update the changelog", "changelog-on-request"),
    ("do I need to write a changelog entry", "changelog-on-request"),
]

NOTHING = [
    "how should I write tests?", "'; drop table", "write a test for it", "yes, do that",
    "thanks, looks good", "what time is it in Lisbon?", "rename the variable foo to bar in utils.py",
    "fix the typo in the footer of the landing page", "what do I need to know?",
    "tell me what you remember", "add a new file and run it",
    "make the button blue and centre the heading", "explain this function to me", "why does this fail?",
    "convert this loop into a list comprehension", "is there a way to speed up the parser?",
    "sort the imports and remove the unused ones", "write a regular expression for postal codes",
    "which version of Python is this?", "how can I look at the last change?",
    "show me the project structure", "start a new project", "what should I do first?",
    "add an index to the table in the report",
]  # fmt: skip

# Held back while most of the rules were set.
LATER_FOUND = [
    ("is it fine to deploy from main?", "deploy-release-branch"),
    ("deployment checklist please", "deploy-release-branch"),
    ("Any rules on zod schemas?", "zod-mini-imports"),
    ("what is our stance on mocking?", "no-mocks-database"),
    ("I want to wrap the whole import in one transaction", "short-transactions"),
    ("open a ticket in Linear for this", "bugs-in-linear"),
    ("what is the date of the feature freeze", "feature-freeze"),
    ("who is Ann and what does she do", "role-data-engineer"),
    ("request latency went up, where can I see it?", "latency-dashboard"),
    ("websocket reconnect logic", "websocket-reconnect"),
    ("how are session tokens kept?", "session-tokens-legal"),
    ("write the changelog for 2.0", "changelog-on-request"),
]
LATER_NOTHING = [
    "how do I write good code?", "drop the last commit", "can you run the tests again?",
    "what is a monad?", "extract this into a helper function", "use a dict instead of a list here",
    "the layout is broken on small screens", "how do I undo this?", "remember what I said?",
    "let's continue", "increase the timeout to 30 seconds", "translate the strings into German",
]  # fmt: skip


def asked(
    folder: Path, names: list[str], queries: list[str], gate: RecallGate = QUESTION
) -> dict[str, list[str]]:
    """What each query recalls from a repository that holds the named memories."""
    fake = MemoryRepository()
    files = {
        f"main/{name}.md": f"---\nname: {name}\ndescription: {description!r}\n---\n\n{body}\n"
        for name, (description, body) in MEMORIES.items()
        if name in names
    }
    refs = {REF: fake.put(files, time=START)}
    fake.ref = refs.get  # type: ignore[attr-defined]
    source = RecallSource(fake, Catalog.open(folder), {REF: "project"})  # type: ignore[arg-type]
    answers = {}
    for query in queries:
        found = [candidate for _, candidate in gather(query, [source])]
        selection = select(found, gate=gate)
        answer = recall(
            query, found, lambda c: fake.blob(c.blob), START + DAY, source.scopes, selection=selection
        )
        answers[query] = [item.file.removesuffix(".md") for item in answer.items]
    return answers


@pytest.mark.parametrize("gate", [QUESTION, PROMPT], ids=["question", "prompt"])
@pytest.mark.parametrize(
    ("found", "nothing", "most_false"),
    [(FOUND, NOTHING, 0.05), (LATER_FOUND, LATER_NOTHING, 0.1)],
    ids=["tuned", "later"],
)
def test_questions_find_their_memory_and_other_prompts_none(
    tmp_path: Path, found: list[tuple[str, str]], nothing: list[str], most_false: float, gate: RecallGate
) -> None:
    answers = asked(tmp_path, list(MEMORIES), [query for query, _ in found] + nothing, gate)
    missed = {query: answers[query] for query, name in found if name not in answers[query]}
    false = {query: answers[query] for query in nothing if answers[query]}
    print(
        f"\nhits {len(found) - len(missed)}/{len(found)}, false {len(false)}/{len(nothing)}", missed, false
    )
    # Where nobody asked, silence costs less than a memory told in vain.
    most_missed = 0.1 if gate is QUESTION else 0.2
    assert len(missed) <= most_missed * len(found), missed
    assert len(false) <= most_false * len(nothing), false


@pytest.mark.parametrize("gate", [QUESTION, PROMPT], ids=["question", "prompt"])
def test_a_repository_with_one_memory_answers_as_a_full_one_does(tmp_path: Path, gate: RecallGate) -> None:
    """In a handful of texts no word is rare by count, so counting alone would find nothing."""
    missed, false = {}, {}
    for name in MEMORIES:
        queries = [query for query, wanted in FOUND if wanted == name]
        answers = asked(tmp_path / name, [name], queries + NOTHING, gate)
        missed |= {query: name for query in queries if answers[query] != [name]}
        false |= {query: name for query in NOTHING if answers[query]}
    print(
        f"\nhits {len(FOUND) - len(missed)}/{len(FOUND)}, false {len(false)}/{len(NOTHING)}", missed, false
    )
    assert len(missed) <= 0.1 * len(FOUND), missed
    assert len(false) <= 0.1 * len(NOTHING), false
