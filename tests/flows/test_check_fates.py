"""What became of claims: a dream's account is checked against its diff, what people drop is listed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bypass_ground import BASE, Made, Requests
from memory_files import folder, memory

from gitmem.core.account import claims_at, reference
from gitmem.core.trailers import Fate, FateKind, Provenance, Writer, format_message
from gitmem.flows.check import CheckRequest, allowed_by_labels

KEEP = "Deploy from the release branch with `make ship`."
TWICE = "Deploy from the release branch."
OTHER = "Never mock the database in 2 of 3 suites."

Found = list[tuple[str, int, str, str]]
"""Path, line, rule and level."""


def ref(name: str, body: str, text: str = "") -> str:
    path = f"main/{name}.md"
    claims = claims_at(path, memory(body, name, f"About {name}").encode())
    (claim,) = [claim for claim in claims if claim.text == (text or body)]
    return reference(path, claim)


KEPT, GONE, MOCK = ref("keep", KEEP), ref("twice", TWICE), ref("other", OTHER)
HOOK = ref("twice", TWICE, "About twice")
TOLD = ("main/twice.md", 3, "dropped", "notice")
"""What goes is listed, whatever reason is given for it."""
DROPPED = {"main/twice.md": None}


def both(kind: FateKind, target: str = "", reason: str = "says the same", source: str = GONE) -> str:
    """The account of a dream that merges `twice` into `keep`: its body and its description."""
    return account(Fate(kind, source, target, reason), Fate("dropped", HOOK, "", "the memory is merged"))


def account(*fates: Fate, writer: Writer = "dream", session: str = "") -> str:
    op = "dream" if writer == "dream" else "update"
    return format_message("Merge", Provenance(op=op, writer=writer, session=session, claims=fates))


def says(name: str, body: str) -> dict[str, str]:
    return {f"main/{name}.md": memory(body, name, f"About {name}")}


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Requests:
    files = folder(keep=KEEP, twice=TWICE, other=OTHER)
    return Requests(tmp_path_factory.mktemp("fates") / "repo", {".gitmem": "format = 1\n", **files})


@pytest.fixture
def judged(requests: Requests) -> Callable[..., Found]:
    """What is found about claims in a request of these commits."""

    def run(*commits: Made, onto: str = "base") -> Found:
        rules = ("account", "dropped", "merged", "invented", "unchecked")
        found = [(one.path, one.line, one.rule, one.level) for one in requests.judged(*commits, onto=onto)]
        return [one for one in found if one[2] in rules]

    return run


def test_a_persons_edit_of_a_dream_lands(judged) -> None:
    """A reviewer puts back, on the web, what the dream lost."""
    assert judged(Made(DROPPED, account()), Made(says("twice", TWICE), "Put it back")) == []


def test_a_merge_of_the_base_into_a_dream_drops_nothing(requests: Requests, judged) -> None:
    onto = requests.put(Made({"main/other.md": None, **says("new", "New.")}))
    dream = requests.put(Made(DROPPED, both("merged", KEPT)))
    merge = requests.put(Made(DROPPED, "Merge memory", parents=(BASE,), others=(dream,)), onto=onto)
    report = requests.report(CheckRequest(merge, onto))
    found = [(one.path, one.line, one.rule, one.level) for one in report.findings]
    assert [one for one in found if one[2] in ("account", "dropped", "merged")] == [TOLD]


def test_a_squashed_dream_keeps_its_account(judged) -> None:
    """GitHub joins the messages of the commits."""
    message = f"Dream (#4)\n\n* Merge\n\n{both('merged', KEPT).split(chr(10), 2)[2]}\n* Sum up\n\nDone.\n"
    assert judged(Made(DROPPED, message)) == [TOLD]


PORTS = says("ports", "Ports start at 4000.")
HEARD = format_message("Ports start at 4000", Provenance(op="add", writer="extract", session="a1"))


def squashed(style: str, *commits: Made) -> Made:
    """One commit of several, with the message that a host makes of theirs."""
    messages = [str(one.message).rstrip() for one in commits]
    files = {path: content for one in commits for path, content in one.files.items()}
    if style == "github":
        return Made(files, "Dream (#4)\n\n" + "\n\n".join(f"* {one}" for one in messages) + "\n")
    head = "commit {}\nAuthor: Ann <ann@example.com>\nDate:   Fri Nov 20 10:00:00 2026 +0000\n\n"
    said = ["".join(f"    {line}".rstrip() + "\n" for line in one.split("\n")) for one in messages]
    text = "\n".join(head.format(f"{number:040x}") + one for number, one in enumerate(said))
    return Made(files, f"Squashed commit of the following:\n\n{text}")


@pytest.mark.parametrize("style", ["git", "github"])
@pytest.mark.parametrize(
    ("other", "first"),
    [
        (Made(PORTS, "Update ports.md"), True),
        (Made(PORTS, "Update ports.md"), False),
        (Made(PORTS, HEARD), True),
        (Made(PORTS, HEARD), False),
        (
            Made(says("keep", "Deploy from the release branch with `make ship-it`."), "Update keep.md"),
            False,
        ),
    ],
)
def test_what_others_taught_is_not_invented_where_a_host_squashed_it_with_a_dream(
    judged, style: str, other: Made, first: bool
) -> None:
    dream = Made(DROPPED, both("merged", KEPT))
    found = judged(squashed(style, *((other, dream) if first else (dream, other))))
    assert not [one for one in found if one[2] in ("account", "merged", "invented")]
    assert ("unchecked", "notice") in {one[2:] for one in found}


@pytest.mark.parametrize("style", ["git", "github"])
@pytest.mark.parametrize("message", ["Update ports.md", HEARD])
def test_what_a_dream_made_up_is_found_in_a_squash_with_others(judged, style: str, message: str) -> None:
    """A claim that its account names is the dream's, and what goes needs an account."""
    body = "Deploy from the release branch with `make ship` and 3 approvals."
    told = account(*(Fate("merged", one, ref("keep", body), "the same") for one in (KEPT, GONE)))
    found = judged(squashed(style, Made({**says("keep", body), **DROPPED}, told), Made(PORTS, message)))
    assert ("main/keep.md", 8, "invented", "error") in found
    assert ("main/twice.md", 3, "account", "error") in found


NEW = "Never mock the database in 2 of 9 suites."
LOGGED = {"main/logs/2026/11/2026-11-18.md": f"- 10:00:00Z [project 0123abcd] {NEW}\n"}
CORRECTED = Made(says("other", NEW), account(Fate("superseded", MOCK, ref("other", NEW), "it says so")))


def test_what_the_same_request_taught_first_teaches_no_dream(judged) -> None:
    assert len([one for one in judged(Made(LOGGED), CORRECTED) if one[2] == "invented"]) == 1


def test_a_session_that_is_not_here_is_named_and_a_person_answers_for_it(requests, gitmem) -> None:
    told = account(Fate("superseded", MOCK, ref("other", NEW), "said so"), session="s-1")
    branch = requests.put(Made(says("other", NEW), told))

    def unseen(*allow: str) -> list[tuple[str, str]]:
        found = requests.report(CheckRequest(branch, "base", allow=frozenset(allow))).findings
        return [(one.level, one.message) for one in found if one.rule == "unseen"]

    ((level, said),) = unseen()
    assert level == "error" and "s-1" in said and "9" in said
    word = said.rpartition(" ")[2]
    assert re.fullmatch("taught-1-[0-9a-f]{12}", word)
    assert [level for level, _ in unseen(word)] == ["notice"]
    ran = gitmem(
        "check", "--ref", branch, "--base", "base", "--allow", word, "--json", cwd=requests.path, ok=False
    )
    assert [one["level"] for one in ran.json["findings"] if one["rule"] == "unseen"] == ["notice"]


def test_a_label_of_the_pull_request_is_a_persons_word(requests: Requests, tmp_path: Path) -> None:
    branch = requests.put(Made({f"main/{name}.md": None for name in ("keep", "twice")}, "Tidy up"))
    event = tmp_path / "event.json"

    def passes(said: object) -> bool:
        event.write_text(json.dumps(said))
        asked = CheckRequest(branch, "base", github=True)
        return requests.report(asked, GITHUB_EVENT_PATH=str(event)).passed

    (loss,) = [one for one in requests.report(CheckRequest(branch, "base")).findings if one.rule == "loss"]
    labels = ["help wanted", 7, f"gitmem-allow-{loss.fingerprints[0]}"]
    assert passes({"pull_request": {"labels": [{"name": one} for one in labels]}})
    for said in (
        {"pull_request": {"labels": [{"name": one} for one in labels[:2]]}},
        # Whoever asks writes the text of a request.
        {"pull_request": {"labels": [], "body": labels[2]}},
        {"pull_request": {"labels": labels}},
        [],
    ):
        assert not passes(said), said


def test_no_label_lets_a_credential_pass(tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    names = ["gitmem-allow-loss-4-0123456789ab", "gitmem-allow-a1b2c3d4", "a1b2c3d4"]
    event.write_text(json.dumps({"pull_request": {"labels": [{"name": one} for one in names]}}))
    assert allowed_by_labels({"GITHUB_EVENT_PATH": str(event)}) == {"loss-4-0123456789ab"}
    assert allowed_by_labels({}) == frozenset()


def test_a_request_from_before_a_purge_is_refused(requests: Requests) -> None:
    purged = requests.put(Made({".gitmem": "format = 1\nepoch = 1 01234567\n"}, "Purge"))
    report = requests.report(CheckRequest(requests.put(Made(says("new", "New."))), purged))
    assert (".gitmem", "epoch", "error") in {(one.path, one.rule, one.level) for one in report.findings}
