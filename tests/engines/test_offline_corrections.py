"""Who changes their mind changes the memory that says otherwise; it never stands beside its opposite."""

from __future__ import annotations

import pytest

from gitmem.core.change import Change, Header
from gitmem.core.memory import create, parse
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline.extract import extract
from gitmem.transcripts.model import Message

KNOWN = {
    "pnpm": "Use pnpm for installing packages.\n\n**Why:** It is faster.",
    "jest": "Tests are written with Jest.",
    "tabs": "Indent with tabs.",
    "delivery": "CI runs on CircleCI.\n\nDeploys go to Heroku on Fridays.",
    "batch": "A batch holds at most 1000 rows.",
    "backups": "Backups are kept for 30 days.",
}


def memory() -> dict[str, bytes]:
    made = {}
    for name, body in KNOWN.items():
        described = body.split("\n")[0].rstrip(".")
        made[f"local/main/{name}.md"] = create(name, described, "project", body, f"{name}.md").render()
    return made


def said(*texts: str) -> tuple[Change, ...]:
    held = memory()
    headers = []
    for path, data in held.items():
        one = parse(path, data)
        headers.append(
            Header("local", "main", path.rpartition("/")[2], one.name, one.description, one.type)
        )
    messages = tuple(Message(f"m{n}", "person", text, None, "prompt") for n, text in enumerate(texts))
    return extract(ExtractInput(messages, tuple(headers), memory=held))


@pytest.mark.parametrize(
    ("text", "file", "body", "asked"),
    [
        ("actually use bun, not pnpm", "pnpm", "Use bun, not pnpm.", False),
        ("we switched from Jest to Vitest", "jest", "We switched from Jest to Vitest.", False),
        ("stop using tabs", "tabs", "Stop using tabs.", False),
        ("no, a batch holds at most 500 rows", "batch", "A batch holds at most 500 rows.", False),
        (
            "we moved off CircleCI, it's Buildkite now",
            "delivery",
            "We moved off CircleCI, it's Buildkite now.\n\nDeploys go to Heroku on Fridays.",
            False,
        ),
        (
            "please don't deploy to Heroku anymore",
            "delivery",
            "CI runs on CircleCI.\n\nPlease don't deploy to Heroku anymore.",
            False,
        ),
        (
            "remember that backups are kept for 90 days, not 30",
            "backups",
            "Backups are kept for 90 days, not 30.",
            True,
        ),
        (
            "forget what I said about tabs, the formatter wants two spaces",
            "tabs",
            "The formatter wants two spaces.",
            True,
        ),
    ],
)
def test_the_memory_that_says_so_is_updated(text: str, file: str, body: str, asked: bool) -> None:
    """At once where it was asked for; else it waits for the person. Its reason goes with what it gave."""
    (change,) = said(text)
    assert (change.op, change.file, change.asked) == ("update", f"{file}.md", asked)
    assert change.edited is not None
    after = parse(change.file, change.edited.after)
    assert after.body.strip() == body
    assert change.edited.before == memory()[f"local/main/{file}.md"]


def test_what_is_to_be_forgotten_is_deleted_with_its_memory_or_taken_out_of_it() -> None:
    (change,) = said("please forget what I said about tabs")
    assert (change.op, change.file, change.asked) == ("delete", "tabs.md", True)
    (change,) = said("forget what I told you about Heroku")
    assert change.op == "update" and change.edited is not None
    assert parse(change.file, change.edited.after).body.strip() == "CI runs on CircleCI."


@pytest.mark.parametrize(
    "text",
    [
        "use pnpm, not npm", "add a tabs component, not a modal", "do you still use Jest?",
        "forget it, run the tests", "never mind",
    ],
)  # fmt: skip
def test_what_agrees_with_memory_or_is_about_something_else_changes_nothing(text: str) -> None:
    assert not [change for change in said(text) if change.op in ("update", "delete")]


def test_within_one_session_the_later_word_holds() -> None:
    (change,) = said(
        "Remember that we write commits in Dutch.", "no, we write commits in English, not Dutch"
    )
    assert change.body == "We write commits in English, not Dutch." and change.asked
    assert (change.origin.first, change.origin.last) == ("m0", "m1")
    assert said("Remember that we write commits in Dutch.", "forget what I said about Dutch") == ()


@pytest.mark.parametrize(
    "text",
    [
        "Remove the part about tabs, please.",
        "can you delete the stuff about Heroku?",
        "Delete everything about Heroku in the README.",
        "Forget that test for now. Fix the parser.",
        "Ignore the rule about tabs here.",
        "drop the idea with tests",
    ],
)
def test_a_task_takes_no_memory_away(text: str) -> None:
    assert not [change for change in said(text) if change.gives_up]


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("Remember that in Makefiles we use spaces, not tabs.", "tabs"),
        ("remember that we use Vitest instead of Jest", "jest"),
    ],
)
def test_what_may_be_about_something_else_is_added_and_the_replacing_is_asked(text: str, file: str) -> None:
    """Of a claim that says more than the new statement, nothing goes unasked."""
    added, replaced = said(text)
    assert (added.op, added.asked) == ("add", True)
    assert (replaced.op, replaced.file, replaced.asked) == ("update", f"{file}.md", False)


def test_where_several_memories_may_be_meant_a_person_decides() -> None:
    def of(*bodies: str) -> tuple[Change, ...]:
        held = {
            f"local/main/m{n}.md": create(f"m{n}", b, "project", b, f"m{n}.md").render()
            for n, b in enumerate(bodies)
        }
        message = Message("m", "person", "forget what I said about the tests", None, "prompt")
        return extract(ExtractInput((message,), memory=held))

    (change,) = of("The tests need a running Redis.", "Fast tests first.")
    assert (change.op, change.asked) == ("delete", False)
    (change,) = of("The tests need a running Redis.", "The docs are built nightly.")
    assert (change.op, change.file, change.asked) == ("delete", "m0.md", True)


def test_a_request_that_may_replace_a_memory_is_stored_and_the_replacing_is_asked() -> None:
    """One old word in a long claim is no proof that all of the claim is given up."""
    held = "Deploys of the billing service go through Heroku after the nightly reports were mailed."
    data = create("deploys", "Billing deploys", "project", held, "deploys.md").render()
    message = Message("m", "person", "remember that previews run on Fly, not Heroku", None, "prompt")
    header = Header("local", "main", "deploys.md", "deploys", "Billing deploys", "project")
    first, second = extract(ExtractInput((message,), (header,), memory={"local/main/deploys.md": data}))
    assert (first.op, first.asked) == ("add", True)
    assert (second.op, second.asked, second.file) == ("update", False, "deploys.md")
