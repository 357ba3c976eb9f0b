"""What the offline engine makes of a conversation."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.change import Change, Header
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.offline.extract import SaidCandidate, candidates
from gitmem.transcripts.model import Message, Role, Source

FRIDAY = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


def said(
    *texts: str, role: Role = "person", source: Source = "prompt", time: datetime | None = FRIDAY
) -> tuple[Message, ...]:
    return tuple(Message(f"m{i}", role, text, time, source) for i, text in enumerate(texts))


def extract(
    *texts: str, manifest: tuple[Header, ...] = (), rules: tuple[str, ...] = ()
) -> tuple[Change, ...]:
    return OfflineEngine().extract(ExtractInput(said(*texts), manifest, rules, "s1")).changes


def wide(*texts: str, source: Source = "prompt") -> tuple[SaidCandidate, ...]:
    return candidates(ExtractInput(said(*texts, source=source)))


def header(name: str, description: str, file: str = "") -> Header:
    return Header("local", "main", file or f"{name}.md", name, description, "feedback")


def test_a_find_says_why_how_and_where_it_comes_from() -> None:
    (find,) = extract(
        "ok. Whenever you rename an env variable, check the Helm chart too, because staging reads it."
    )
    assert (find.op, find.asked) == ("add", False)
    assert find.body == (
        "Whenever you rename an env variable, check the Helm chart too.\n\n**Why:** Staging reads it."
    )
    assert find.origin.session == "s1"
    assert (find.origin.first, find.origin.last, find.origin.time) == ("m0", "m0", FRIDAY)
    assert "helm-chart" in find.name
    assert "Helm chart" in find.description
    assert 0 < find.confidence < 0.95


def test_the_same_or_the_next_sentence_gives_the_reason() -> None:
    (find,) = extract("Never run the smoke tests against production. Last spring that deleted real orders.")
    assert "**Why:** Last spring that deleted real orders." in find.body
    (find,) = extract("never use mocks in the database tests, because they hid a broken migration")
    assert find.body == "Never use mocks in the database tests.\n\n**Why:** They hid a broken migration."


@pytest.mark.parametrize(
    "text",
    [
        "```\nnever edit this by hand, always run make\n```",
        "> we decided to drop Windows\nok?",
        "<reminder>Always answer in French. From now on never use English.</reminder>",
        "here is the review:\n\nAlways validate the input.\nNever trust the header.",
        "You are a reviewer. Always answer in JSON.",
        "/remember that we deploy on Tuesdays",
        "2026-11-20 10:00:01 remember that the lock is held\nERROR: never released",
    ],
)
def test_pasted_text_is_nobodys_statement(text: str) -> None:
    assert extract(text) == ()


def test_a_long_paste_is_left_alone_and_agents_teach_nothing() -> None:
    """Reviews and documents are pasted without any mark; only size gives them away."""
    paste = "\n".join(
        f"Callers must hold lock number {i} and we always release it in order." for i in range(60)
    )
    assert extract(f"{paste}\nRemember that the order matters for callers.") == ()
    messages = said("Remember that we always deploy on Tuesdays.", role="agent", source="reply")
    assert OfflineEngine().extract(ExtractInput(messages)).changes == ()


@pytest.mark.parametrize("source", ["prompt", "queued", "refusal", "answer"])
def test_people_speak_in_more_places_than_the_prompt(source: Source) -> None:
    messages = said("never amend pushed commits, because reviewers lose their place", source=source)
    assert [c.type for c in OfflineEngine().extract(ExtractInput(messages)).changes] == ["feedback"]


def test_one_message_can_hold_several_and_the_same_again_is_found_once() -> None:
    finds = wide(
        "I'm a data engineer and new to Rust.\n\nBugs are tracked in the Linear project INGEST.\n"
        "- from now on write the test first\n- now run the suite"
    )
    assert {f.change.type for f in finds} == {"user", "reference", "feedback"}
    assert len({f.change.name for f in finds}) == len(finds) == 3
    (find,) = extract("Never squash merge here.", "ok", "I said never squash merge here!")
    assert (find.origin.first, find.origin.last) == ("m0", "m2")


def test_every_request_is_kept_where_only_numbers_and_names_differ() -> None:
    """Sixty services and twenty-six teams: a likeness of words would keep one a team."""
    asked = [
        f"Remember that service number {n} must be restarted by team {chr(65 + n % 26) * 3}."
        for n in range(1, 61)
    ]
    finds = extract(*asked)
    assert [f.body for f in finds] == [f"Service{text.split(' service')[1]}" for text in asked]
    assert all(f.asked for f in finds)
    assert len({f.name for f in finds}) == len(finds)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Remember that the staging port is 5433.", "Remember that the staging port is 5434."),
        ("Remember that Ann reports to Ben.", "Remember that Ben reports to Ann."),
        ("Remember that we deploy on Fridays.", "Remember that we deploy on Fridays only to staging."),
        (
            "Remember that the orders cluster in the eu region is restarted by team alpha after a deploy.",
            "Remember that the orders cluster in the eu region is restarted by team beta after a deploy.",
        ),
    ],
)
def test_without_a_word_of_correction_both_statements_are_kept(first: str, then: str) -> None:
    """Which one holds is a person's or a dream's to settle; a request that was dropped is lost."""
    assert len(extract(first, then)) == 2


@pytest.mark.parametrize(
    "then",
    [
        "Actually, remember that the staging port is 5434.",
        "No, remember that the staging port is 5434.",
        "Sorry, remember that the staging port is 5434.",
        "Correction: remember that the staging port is 5434.",
        "Remember that the staging port is 5434 instead.",
        "Remember that the staging port is not 5433 but 5434.",
        "No, wait. Remember that the staging port is 5434.",
    ],
)
def test_a_plain_correction_replaces_what_it_corrects(then: str) -> None:
    (find,) = extract("Remember that the staging port is 5433.", then)
    assert "5434" in find.body
    assert find.asked
    assert (find.origin.first, find.origin.last) == ("m0", "m1")


def test_a_correction_that_may_be_about_several_replaces_none() -> None:
    finds = extract(
        "Remember that service 1 listens on port 8001.",
        "Remember that service 2 listens on port 8002.",
        "Sorry, remember that service 2 listens on port 8003.",
    )
    assert len(finds) == 3


def test_statements_that_differ_in_a_number_a_no_or_a_thing_stay_apart() -> None:
    assert len(wide("We always squash commits on merge.", "We never squash commits on merge.")) == 2
    assert len(wide("Our tenants get 11 seats each.", "Our tenants get 12 seats each.")) == 2
    finds = extract(
        "Remember that the staging database listens on port 5433.",
        "Remember that the production database listens on port 5434.",
    )
    assert len(finds) == 2


def test_what_memory_or_instruction_files_say_is_not_added() -> None:
    known = header("no-squash-merges", "Never squash merge pull requests in this repository")
    (change,) = extract("never squash merge pull requests", manifest=(known,))
    assert (change.op, change.file) == ("noop", "no-squash-merges.md")
    assert "no-squash-merges" in change.reason
    (change,) = extract(
        "Remember that Ben owns the search service.",
        manifest=(header("x", "Ben owns the billing service"),),
    )
    assert (change.op, change.file) == ("add", "")
    rules = ("# Rules\n\n- Never commit directly to main\n- Use tabs\n",)
    assert extract("never commit directly to main!", rules=rules) == ()
    assert len(extract("never push to a branch of somebody else!", rules=rules)) == 1


@pytest.mark.parametrize(
    ("description", "text"),
    [
        ("Python 3.11 is the minimum version", "Remember that Python 3.12 is the minimum version."),
        ("Run migrations before deploying to staging", "Never run migrations before deploying to staging."),
        ("Ben owns the billing service", "Remember that Ann owns the billing service."),
    ],
)
def test_other_number_negation_or_name_updates_instead_of_repeating(description: str, text: str) -> None:
    """Likeness alone calls these duplicates; they are the opposite."""
    (change,) = extract(text, manifest=(header("some-rule", description),))
    assert (change.op, change.file, change.name) == ("update", "some-rule.md", "some-rule")


def test_relative_dates_get_the_day_they_mean_or_wait_for_a_person() -> None:
    """Stored unasked, "tomorrow" would mean another day to every reader."""
    (find,) = extract("We decided yesterday to stop maintaining the Windows build.")
    assert "yesterday (2026-11-19)" in find.body
    assert "yesterday (2026-11-19)" in find.description
    messages = said("Remember that the demo is tomorrow for the whole team.", time=None)
    (find,) = OfflineEngine().extract(ExtractInput(messages)).changes
    assert not find.asked
    assert "unclear" in find.reason


def test_a_pointing_sentence_is_kept_with_the_one_before() -> None:
    (find,) = wide("you keep adding comments that repeat the code. Stop doing that.")
    assert find.change.body == "You keep adding comments that repeat the code. Stop doing that."
    assert wide("Stop doing that.") == ()


def test_a_session_gets_three_suggestions_at_most_however_often_it_is_looked_at() -> None:
    rules = [
        f"Never deploy the {word} service on Fridays, because {word} has no one on call."
        for word in ("billing", "search", "mail", "ledger", "report", "login", "image", "audit")
    ]
    messages = said(*rules, *rules, *("ok",) * 12)
    found = OfflineEngine().extract(ExtractInput(messages)).changes
    assert 1 <= len([change for change in found if change.op == "add"]) <= 3
    assert OfflineEngine().extract(ExtractInput(messages, suggested=3)).changes == ()


def test_what_is_known_takes_no_room_from_what_is_not() -> None:
    known = header("no-squash", "Never squash merge pull requests")
    texts = ("never squash merge pull requests", "never rebase shared branches")
    assert [change.op for change in extract(*texts, manifest=(known,))].count("add") == 1


def test_the_likelier_is_suggested_beside_what_was_asked_for() -> None:
    found = extract(
        "remember that we log the id", "we never log in UTC here", "nice", "never rebase shared branches"
    )
    assert [(one.origin.first, one.asked) for one in found] == [("m0", True), ("m3", False)]


@given(st.lists(st.text(max_size=300), max_size=4))
def test_any_text_is_read_without_error_and_the_same_twice(texts: list[str]) -> None:
    assert extract(*texts) == extract(*texts)


@given(
    st.sampled_from(["remember that {}", "never {}", "we decided {}", "I'm a {} engineer"]),
    st.text(min_size=1, max_size=200),
)
def test_finds_keep_the_persons_words_and_the_limits(frame: str, text: str) -> None:
    for find in extract(frame.format(text)):
        assert find.name
        assert find.body.strip()
        assert "\n" not in find.description
        assert len(find.description) <= 110
        assert 0 < find.confidence <= 1


@pytest.mark.parametrize(
    "text",
    [
        "why do you keep forgetting the tests?",
        "can you remind me what we decided on caching?",
        "was there a reason we never enabled strict mode?",
    ],
)
def test_a_question_is_no_statement_however_it_is_worded(text: str) -> None:
    assert wide(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "the csv comes from the mainframe so the encoding is windows-1252",
        "half of our installs are on prem and upgrade once a year",
        "keep the descriptions of pull requests to three sentences max",
        "no comments that repeat the code please",
    ],
)
def test_facts_and_preferences_need_no_word_that_says_so(text: str) -> None:
    assert wide(text)
