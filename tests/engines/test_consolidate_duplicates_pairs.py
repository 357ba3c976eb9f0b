"""What the offline engine proves: no claim goes that another does not hold in all of its facts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pytest
from dream_corpus import corpus
from dream_score import made_of, score
from hypothesis import given
from hypothesis import strategies as st
from slices import often

from gitmem.core.account import path_of, references
from gitmem.core.memory import create
from gitmem.dream.proof import prove_plan, refuse
from gitmem.engines.engine import ConsolidateInput
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.offline.pairs import Judgement, judge, weight_of, why_asked

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


@pytest.mark.parametrize("seed", often([1, 2, 3], 1))
def test_a_planted_corpus_is_found_and_nothing_false_is_merged(seed: int) -> None:
    planted = corpus(seed)
    _, after = made_of(planted.files, said=planted.said, renamed=planted.renamed)
    result = score(planted, OfflineEngine().consolidate(planted.given()))
    shares = {sort: result.share(sort) for sort in ("duplicate", "date", "link", "contradiction", "open")}
    assert min(shares.values()) >= 0.9, result.found
    assert (result.false, result.settled) == ((), ())
    again, _ = made_of(after, renamed=planted.renamed)
    assert again.changes == ()


def test_a_corpus_is_the_same_for_a_seed_and_another_for_another() -> None:
    small: dict[str, Any] = {"memories": 40, "duplicates": 6, "dates": 4, "contradictions": 3, "links": 3}
    assert corpus(7, **small) == corpus(7, **small)
    one, other = corpus(7, **small, tag="a"), corpus(7, **small, tag="b")
    assert one.files.keys() & other.files.keys() == {"main/MEMORY.md"}
    assert len(one.files) == 41 and len(references(one.files)) == len(one.meanings)


def test_the_order_of_files_does_not_matter() -> None:
    planted = corpus(11, memories=60, duplicates=12, dates=8, contradictions=6, links=4)
    shuffled = list(planted.files.items())
    random.Random(0).shuffle(shuffled)
    said = dict(reversed([*planted.said.items()]))
    first, _ = made_of(planted.files, said=planted.said, renamed=planted.renamed)
    second, _ = made_of(dict(shuffled), said=said, renamed=planted.renamed)
    assert (first.changes, first.notes) == (second.changes, second.notes)


def test_of_two_claims_that_weigh_the_same_the_first_would_go_whatever_the_order_of_their_words() -> None:
    """Words are in sets: their order is another in each process, and on it hangs how a sum is rounded."""
    words = [f"word{letter}" for letter in "abcdefghi"]
    weight = weight_of([" ".join(words[:number]) for number in range(len(words))])
    for some in combinations(words, 5):
        for two in (("oslo", "turin"), ("falcon", "osprey"), ("quick", "rapid")):
            one, other = (f"The {name} {' '.join(some)} runs." for name in two)
            assert judge(one, other, weight).first_goes, (one, other)


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


def test_claims_against_one_another_are_asked_about_and_the_newer_would_stay() -> None:
    files = tree("Ann signs off the budget of billing.", "Ben signs off the budget of billing.")
    one, other = (next(name for name in references(files) if path_of(name) == path) for path in files)
    days = {one: datetime(2026, 11, 2, tzinfo=UTC), other: datetime(2026, 11, 9, tzinfo=UTC)}
    made = OfflineEngine().consolidate(ConsolidateInput(files, days, {one: "Ann", other: "Ben"}))
    (question,) = made.changes
    assert question.kind == "question" and question.subject.startswith("Ask whether ")
    assert "a name (Ann / Ben)" in question.reason
    assert (
        "(said on 2026-11-02 by Ann)" in question.reason
        and "(said on 2026-11-09 by Ben)" in question.reason
    )
    assert (question.fates[0].source, question.fates[0].target) == (one, other)


LEAD = "Restarts of the mirror in Oslo drop uploads of the nightly archive job"


def test_a_later_claim_that_takes_back_an_earlier_one_is_offered_in_its_place() -> None:
    files = tree(
        f"{LEAD} until Ann resumes it.\n\nThe mirror has two disks.",
        f"{LEAD} no longer: it resumes by itself.",
        said="The mirror",
    )
    one, other = (next(name for name in references(files) if path_of(name) == path) for path in files)
    days = {one: datetime(2026, 11, 2, tzinfo=UTC), other: datetime(2026, 11, 9, tzinfo=UTC)}
    made = OfflineEngine().consolidate(ConsolidateInput(files, days, {one: "Ann", other: "Ben"}))
    (change,) = made.changes
    assert (change.kind, change.fates[0].kind) == ("supersede", "superseded")
    assert "on 2026-11-02 by Ann" in change.reason and "on 2026-11-09 by Ben" in change.reason
    assert (change.edits["main/billing-aaa.md"] or b"").endswith(
        b"See [[billing-bbb]].\n\nThe mirror has two disks.\n"
    )
    refuse(prove_plan(files, made.changes))
    # Said in the other order, it takes nothing back.
    days = {one: days[other], other: days[one]}
    made = OfflineEngine().consolidate(ConsolidateInput(files, days))
    assert {one.kind for one in made.changes} <= {"question"}


PORTS = "Redis listens on port 6379 and Postgres listens on port 5432."
SWAPPED = "In staging too, Redis listens on port 5432 and Postgres listens on port 6379."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PORTS, SWAPPED),
        (PORTS, SWAPPED.replace("In staging too", "As of June")),
        (PORTS, PORTS.replace("Redis", "In staging, the only Redis")),
        (
            "The cache is cleared before the deploy starts, the queue after it.",
            "As ops said now, the queue is cleared before the deploy starts, the cache after it.",
        ),
        ("We prefer tabs over spaces in it.", "From now on we prefer spaces over tabs in it."),
    ],
)
def test_what_binds_its_words_otherwise_or_narrows_them_never_takes_back(one: str, other: str) -> None:
    files = tree(one, other)
    first, second = (next(name for name in references(files) if path_of(name) == path) for path in files)
    days = {first: datetime(2026, 11, 2, tzinfo=UTC), second: datetime(2026, 11, 9, tzinfo=UTC)}
    for said in ({}, days):
        made = OfflineEngine().consolidate(ConsolidateInput(files, said))
        assert {change.kind for change in made.changes} <= {"question"}, made.changes


def test_of_what_was_said_at_one_time_nothing_takes_back() -> None:
    files = tree(f"{LEAD} until Ann resumes it.", f"{LEAD} no longer: it resumes by itself.")
    for said in ({}, dict.fromkeys(references(files), datetime(2026, 11, 2, tzinfo=UTC))):
        made = OfflineEngine().consolidate(ConsolidateInput(files, said))
        assert [change.kind for change in made.changes] == ["question"]


BASE = "Integration tests run against a real Postgres 15 on port 5433, never against SQLite."
WHY = "**Why:** SQLite accepted a migration that broke production."
MORE = "The unit suite takes 40 seconds."


@pytest.mark.parametrize("later", ["", "main/db.md", "main/notes.md"])
@pytest.mark.parametrize("bare", [BASE, "Integration tests run against a real Postgres 16 on port 5433."])
def test_what_explains_a_claim_stays_whatever_is_asked_of_the_claim(bare: str, later: str) -> None:
    explained = create("Postgres", "Which database tests use", "feedback", f"{BASE}\n\n{WHY}", "db.md")
    notes = create("Testing notes", "Odds and ends", "project", f"- {bare}\n- {MORE}", "notes.md")
    files = {"main/db.md": explained.render(), "main/notes.md": notes.render()}
    names = references(files)
    days = {name: datetime(2026, 11, 2 + (path_of(name) == later), tzinfo=UTC) for name in names}
    made = OfflineEngine().consolidate(ConsolidateInput(files, days if later else {}))
    assert [change.kind for change in made.changes] == ["question"]
    after = {**files, **made.changes[0].edits}
    left = b"".join(filter(None, after.values())).decode()
    assert WHY in left and MORE in left and "Which database tests use" in left and len(after) == 2
    assert left.count("Integration tests run") == 1
    refuse(prove_plan(files, made.changes))


DRAFT = (
    "The publisher will not save an app without a demo video: upload any placeholder mp4 and swap it later"
)
DRAFTS = (
    f"{DRAFT}.",
    "Without a demo video the publisher will not save an app: upload a placeholder mp4 and swap the real"
    " one in later, which takes 5 minutes.",
)
APART = ("How accounts of the publisher are opened", "State of the second submission and what was answered")


def apart(texts: Sequence[str], titles: Sequence[str] = APART) -> dict[str, bytes]:
    """Two memories that are about different things, by their titles."""
    return {
        f"main/{name}.md": create(
            name, title, kind, f"{text}\n\nOf {name}: {n} notes.", f"{name}.md"
        ).render()
        for n, (name, title, kind, text) in enumerate(
            zip(("opening", "submission"), titles, ("feedback", "project"), texts, strict=True), 3
        )
    }


def dreamt(files: dict[str, bytes], days: Sequence[int] = (0, 0)) -> list[str]:
    """The kinds of change that are proposed where each file is of one day of November; 0 for of no day."""
    names = references(files)
    said = {
        name: datetime(2026, 11, day, tzinfo=UTC)
        for path, day in zip(files, days, strict=True)
        for name in names
        if path_of(name) == path and day
    }
    made = OfflineEngine().consolidate(ConsolidateInput(files, said))
    refuse(prove_plan(files, made.changes))
    return [change.kind for change in made.changes]


def test_nearly_all_of_a_claim_said_again_is_offered_unless_something_would_go() -> None:
    assert dreamt(apart(DRAFTS), (2, 9)) == ["supersede"]
    # Under a title that narrows it, or where nobody knows which is later, it is asked.
    assert dreamt(apart(DRAFTS, (APART[0], "The staging publisher")), (2, 9)) == ["question"]
    assert dreamt(apart(DRAFTS)) == ["question"]
    more = f"{DRAFT}; Ann keeps one for Acme in `demo/short.mp4` beside the logo of 3 MB."
    assert dreamt(apart((more, DRAFTS[1])), (2, 9)) == ["question"]


def test_a_condition_is_no_negation() -> None:
    files = tree(
        "`QUEUE_LEVEL` controls what the mirror of billing logs (default: `INFO`).",
        "The mirror of billing logs `INFO` by default if `QUEUE_LEVEL` is not set.",
    )
    assert dreamt(files, (2, 9)) == ["supersede"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Each says where to read on.
        (
            "`docs/PLAN.md` — what comes next (search, export, billing)",
            "See **`docs/PLAN.md`** for what comes next (search, export, billing).",
        ),
        # Each begins with a thing of its own, or names a file of its own.
        (
            "`POST /orders`: checks the cart, returns the order and its token",
            "`POST /refunds`: checks the cart, returns the refund and its token",
        ),
        (
            "Clean up the caching of billing in src/routes/billing.ts when that is touched.",
            "The caching of billing is set up in src/server/main.ts, and that is touched by the deploy.",
        ),
        # What one person says at one time, in some of the same words.
        (
            "The gate of billing runs in docker before each merge, and a green one is not enough.",
            "A gate of billing that docker skipped is not green, whoever says so in a request or a mail.",
        ),
    ],
)
def test_where_to_read_on_and_two_things_of_one_kind_are_no_question(one: str, other: str) -> None:
    made = OfflineEngine().consolidate(ConsolidateInput(tree(one, other)))
    assert made.changes == ()


def test_a_line_stays_with_the_list_behind_it() -> None:
    lead = "Backups of billing run nightly at 02:00 to the bucket acme-backups"
    files = tree(f"{lead}.\n\n- Keep seven.\n- Alert on a failed one.", f"{lead}, no longer to the disk.")
    first, second = (next(name for name in references(files) if path_of(name) == path) for path in files)
    days = {first: datetime(2026, 11, 2, tzinfo=UTC), second: datetime(2026, 11, 9, tzinfo=UTC)}
    made = OfflineEngine().consolidate(ConsolidateInput(files, days))
    assert not any("main/billing-aaa.md" in change.edits for change in made.changes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Iter 1 of the importer rewrite is DONE.", "Iter 2 of the importer rewrite is DONE."),
        ("The importer rewrite was merged in PR #44.", "The importer rewrite was merged in PR #45."),
    ],
)
def test_members_of_a_series_are_left_alone(one: str, other: str) -> None:
    made = OfflineEngine().consolidate(ConsolidateInput(tree(one, other, said="The importer rewrite")))
    assert made.changes == ()


@pytest.mark.parametrize(
    "later",
    [
        # It comes on top of what was said.
        "`backup` of billing carries decided invoices, too: an `undo` on another machine brings them back.",
        # Each is about a case of its own.
        "`backup` of billing carries what was decided on one machine when a clerk signs in at night.",
    ],
)
def test_what_comes_on_top_or_is_about_another_case_is_not_offered_in_the_place_of_the_earlier_one(
    later: str,
) -> None:
    earlier = (
        "`backup` of billing carries what was decided on one machine off the queue when disks are full."
    )
    assert dreamt(tree(earlier, later), (2, 9)) == ["question"]


def test_claims_that_alone_name_a_thing_of_the_code_are_asked_about() -> None:
    """However little else they share: `dedupingInterval` is no word that two people use by chance."""
    both = (
        "`dedupingInterval: 30000` has any call within half a minute answered from memory.",
        "Fetching is done (dedupingInterval:30s, revalidateOnFocus:false).",
    )
    assert dreamt(tree(*both), (2, 9)) == ["question"]
    assert dreamt(tree(*both, "Ann set dedupingInterval in spring."), (2, 9, 16)) == []
    assert why_asked(Judgement("ask"), *both) == "they differ in the number 30000 / 30s"
    spoken = why_asked(
        Judgement("ask"), "Cache rows with `packRows` alone.", "`packRows` writes the cache."
    )
    assert spoken == "both speak of Cache, packRows"


LONG = "Uploads of billing retry three times with a growing pause before they are given up."


@pytest.mark.parametrize(
    ("headings", "found"),
    [
        (("", "## Workers"), True),
        (("## Uploads of billing", "## Workers"), True),
        (("## Importer", "## Workers"), False),
    ],
)
def test_what_stands_under_two_headings_is_said_once_where_it_says_what_it_is_about(
    headings: tuple[str, str], found: bool
) -> None:
    body = "\n\n".join(filter(None, (headings[0], LONG, headings[1], "Ben owns the workers.", LONG)))
    assert (dreamt(tree(body), (0,)) == ["merge"]) == found


def test_a_memory_that_says_no_more_than_the_description_of_another_goes_into_it() -> None:
    """And one that stands under the same description is about the same thing, whatever it is called."""
    files = {
        "main/retries.md": create(
            "retries", LONG, "project", "Ann wrote them in spring.", "retries.md"
        ).render(),
        "main/note-3.md": create("note-3", LONG, "project", LONG.rstrip(".") + "!", "note-3.md").render(),
    }
    (change,) = OfflineEngine().consolidate(ConsolidateInput(files)).changes
    refuse(prove_plan(files, (change,)))
    assert change.kind == "merge" and change.edits["main/note-3.md"] is None


def test_where_two_claims_lead_says_nothing_of_what_they_say() -> None:
    files = tree(
        "Ship from the release branch on Fridays. See also [[nightly-export-of-billing-ledgers]].",
        "Backups rest for thirty days. See also [[nightly-export-of-billing-ledgers]].",
    )
    assert dreamt(files, (2, 9)) == []


def test_a_claim_that_waits_to_go_is_asked_about_once() -> None:
    files = tree(*DRAFTS, said="How the publisher takes drafts of billing")
    (change,) = OfflineEngine().consolidate(ConsolidateInput(files)).changes
    gone = frozenset(fate.source for fate in change.fates)
    assert not OfflineEngine().consolidate(ConsolidateInput(files, pending=gone)).changes
