"""What the offline engine proves: no claim goes that another does not hold in all of its facts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from dream_corpus import corpus
from dream_score import made_of, score
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.account import path_of, references
from gitmem.core.memory import create

SLOTS: dict[str, tuple[str, ...]] = {
    "who": ("Ann", "Ben", "Cleo"),
    "modal": ("must", "may", "should"),
    "not": ("", "not ", "never "),
    "which": ("all", "some", "most"),
    "what": ("uploads", "imports"),
    "side": ("before", "after"),
    "number": ("3", "4", "30"),
    "unit": ("seconds", "minutes"),
    "where": ("db/a.sql", "db/b.sql", "`db/a.sql`"),
    "url": ("https://example.com/a", "https://example.com/b"),
    "sign": ("<", ">", "+"),
    "day": ("2026-11-20", "2026-11-27"),
    "when": ("", " when the queue is full", " if the queue is full", " unless it rains"),
}
SHAPES = (
    "{who} {modal} {not}retry {which} {what} of billing {side} {number} {unit}{when}.",
    "{which} {what} of billing are in {where} since {day}{when}.",
    "In billing, {what} {modal} {not}be {sign} {number} {unit} long{when}.",
    "{not}send {which} {what} of billing to {url} {side} {day}{when}.",
    "Use {where} {side} {url} for {which} {what} of billing{when}.",
)
NEGATIONS = {"not ", "never "}
SENTENCES = st.tuples(
    st.sampled_from(SHAPES),
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in SLOTS.items()}),
)
REWORDINGS = (
    lambda text: text,
    lambda text: text.replace(" the ", " ").replace("The ", ""),
    lambda text: text[:1].lower() + text[1:] if text.split()[0] not in SLOTS["who"] else text,
    lambda text: text.removesuffix(".") + "!",
    lambda text: text.replace(" 3 ", " three "),
    lambda text: f"- {text}",
    lambda text: f"{text} Everyone knows that by now.",
    lambda text: text.replace(" ", "\n", 4).replace("\n", " ", 2),
)


def filled(sentence: tuple[str, Mapping[str, str]]) -> str:
    shape, values = sentence
    text = " ".join(shape.format(**values).split())
    return text[0].upper() + text[1:]


def tree(*bodies: str, said: str = "Uploads and imports of billing") -> dict[str, bytes]:
    names = [f"billing-{chr(ord('a') + number) * 3}" for number in range(len(bodies))]
    return {
        f"main/{name}.md": create(name, said, "project", body, f"{name}.md").render()
        for name, body in zip(names, bodies, strict=True)
    }


def used(sentence: tuple[str, Mapping[str, str]]) -> dict[str, str]:
    """The facts of a sentence: what stands in those slots that its shape has."""
    shape, values = sentence
    return {name: value.strip("`") for name, value in values.items() if f"{{{name}}}" in shape}


@given(SENTENCES, st.data())
def test_claims_that_differ_in_one_fact_are_never_merged(
    sentence: tuple[str, dict[str, str]], data: st.DataObject
) -> None:
    shape, values = sentence
    slot = data.draw(st.sampled_from([name for name in SLOTS if f"{{{name}}}" in shape]))
    other = data.draw(st.sampled_from([value for value in SLOTS[slot] if value != values[slot]]))
    if {values[slot], other} <= NEGATIONS or values[slot].strip("`") == other.strip("`"):
        return
    texts = [
        filled(sentence),
        data.draw(st.sampled_from(REWORDINGS))(filled((shape, values | {slot: other}))),
    ]
    made, _ = made_of(tree(*data.draw(st.permutations(texts))))
    assert [change for change in made.changes if change.kind == "merge"] == []


@given(SENTENCES, SENTENCES, st.data())
def test_what_is_merged_has_every_fact_of_what_went(
    one: tuple[str, dict[str, str]], two: tuple[str, dict[str, str]], data: st.DataObject
) -> None:
    """Pairs are alike by chance, or one is the other reworded."""
    if data.draw(st.booleans()):
        two = one
    texts = [filled(one), data.draw(st.sampled_from(REWORDINGS))(filled(two))]
    files = tree(*texts)
    made, after = made_of(files)
    if any(change.kind == "merge" for change in made.changes):
        assert one[0] == two[0] and {**used(one), "not": ""} == {**used(two), "not": ""}
        assert bool(used(one).get("not")) == bool(used(two).get("not"))
    again, _ = made_of(after)
    assert again.changes == ()


@given(SENTENCES, st.sampled_from(REWORDINGS))
def test_a_claim_said_again_in_other_words_is_found(
    sentence: tuple[str, dict[str, str]], again: object
) -> None:
    texts = [filled(sentence), again(filled(sentence))]  # type: ignore[operator]
    if texts[1].startswith("- "):
        texts[1] += "\n- Ask Ann about billing."
    made, _ = made_of(tree(*texts))
    assert [change.kind for change in made.changes] == ["merge"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Keep the latency of billing < 200 ms.", "Keep the latency of billing > 200 ms."),
        ("Sample 10 % of billing requests.", "Sample 10 of billing requests."),
        ("Offset billing jobs by -5 minutes.", "Offset billing jobs by 5 minutes."),
        ("Run billing tests with -v always.", "Run billing tests with -V always."),
        ("Billing CI is ✅ on main.", "Billing CI is ❌ on main."),
        ("Write billing plugins in C++ only.", "Write billing plugins in C# only."),
        ("Billing reads .env at start.", "Billing reads env at start."),
        ("Use tabs in billing.", "In staging: use tabs in billing."),
        ("Use tabs in billing.", "Use tabs in billing — on Windows."),
        ("Use tabs in billing.", "Use tabs\nin billing Makefiles."),
        ("Use tabs in billing.", "Use tabs in billing. This applies to Makefiles."),
        ("Use tabs in billing.", "For Makefiles, see below. Use tabs in billing."),
        ("Use tabs in billing.", "Use tabs in billing?"),
        ("Drain billing. Migrate its schema.", "Migrate its schema. Drain billing."),
        ("Billing runs tests and deploys.", "Billing runs tests or deploys."),
        ("We own billing deploys.", "They own billing deploys."),
        ("Billing waits for 5 minutes.", "Billing waits at 5 minutes."),
        ("Set the flag on the billing job.", "Set the flag in the billing job."),
        ("Billing failed over to Oslo.", "Billing fails over to Oslo."),
        ("In CI, ask Ann to deploy billing.", "Ask Ann to deploy billing in CI."),
        ("In CI, billing only runs smoke tests.", "Billing only runs smoke tests in CI."),
        ("Order billing before search.", "Order search before billing."),
    ],
)
def test_what_is_nearly_the_same_stays(one: str, other: str) -> None:
    for said in ("Billing", "How billing does it"):
        made, _ = made_of(tree(one, other, said=said))
        assert made.changes == ()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_planted_corpus_is_found_and_nothing_false_is_merged(seed: int) -> None:
    planted = corpus(seed)
    made, after = made_of(planted.files, said=planted.said, renamed=planted.renamed)
    result = score(planted, made)
    shares = {sort: result.share(sort) for sort in ("duplicate", "date", "link", "contradiction", "open")}
    assert min(shares.values()) >= 0.9, result.found
    assert (result.false, result.settled) == ((), ())
    again, _ = made_of(after, renamed=planted.renamed)
    assert again.changes == ()


def test_a_corpus_is_the_same_for_a_seed_and_another_for_another() -> None:
    small = {"memories": 40, "duplicates": 6, "dates": 4, "contradictions": 3, "links": 3}
    assert corpus(7, **small) == corpus(7, **small)
    one, other = corpus(7, **small, tag="a"), corpus(7, **small, tag="b")
    assert one.files.keys() & other.files.keys() == {"main/MEMORY.md"}
    assert len(one.files) == 41 and len(references(one.files)) == len(one.meanings)


def test_the_order_of_files_does_not_matter() -> None:
    planted = corpus(11, memories=60, duplicates=12, dates=8, contradictions=6, links=4)
    shuffled = list(planted.files.items())
    random.Random(0).shuffle(shuffled)
    said = dict(reversed(planted.said.items()))
    first, _ = made_of(planted.files, said=planted.said, renamed=planted.renamed)
    second, _ = made_of(dict(shuffled), said=said, renamed=planted.renamed)
    assert (first.changes, first.notes) == (second.changes, second.notes)


def test_the_same_words_under_two_subjects_stay() -> None:
    """What narrows a subject often stands in the name or the description alone."""
    body = "The billing logs are kept for 7 days."
    for one, other in [
        ("Billing logs in staging", "Billing logs in production"),
        ("Billing logs", "Billing logs on Windows"),
        ("Billing logs of v1", "Billing logs of v2"),
        ("Billing: logs", "Billing: refunds and logs"),
    ]:
        files = {
            f"main/{name}.md": create(name, said, "project", body, f"{name}.md").render()
            for name, said in (("aa", one), ("bb", other))
        }
        made, _ = made_of(files)
        assert made.changes == (), (one, other)


def test_claims_against_one_another_are_told_with_their_names_and_which_is_newer() -> None:
    files = tree("Ann signs off the budget of billing.", "Ben signs off the budget of billing.")
    one, other = (next(name for name in references(files) if path_of(name) == path) for path in files)
    days = {one: datetime(2026, 11, 2, tzinfo=UTC), other: datetime(2026, 11, 9, tzinfo=UTC)}
    made, _ = made_of(files, said=days)
    (note,) = (note for note in made.notes if note.startswith("contradiction:"))
    assert f"{one} (said 2026-11-02)" in note and f"{other} (said 2026-11-09, newer)" in note
    assert made.changes == () and not any(note.startswith("alike:") for note in made.notes)
