"""What became of claims: a dream's account is checked against its diff, what people drop is listed."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_ground import Ground, findings, make_memory, memory
from once import Once, home_folder, once, place, tmp_path

from gitmem.core.account import claims_at, reference
from gitmem.core.trailers import Fate, FateKind, Provenance, Writer, format_message

__all__ = ["home_folder", "once", "place", "tmp_path"]

KEEP = "Deploy from the release branch with `make ship`."
TWICE = "Deploy from the release branch."
OTHER = "Never mock the database in 2 of 3 suites."


def ref(path: str, body: str, text: str, name: str, number: int = 0) -> str:
    claims = claims_at(path, memory(body, name, f"About {name}").encode())
    (claim,) = [claim for claim in claims if claim.text == text]
    return reference(path, claim)


KEPT = ref("main/keep.md", KEEP, KEEP, "keep")
GONE = ref("main/twice.md", TWICE, TWICE, "twice")
HOOK = ref("main/twice.md", TWICE, "About twice", "twice")
TOLD = ("main/twice.md", 3, "dropped", "notice")
"""What goes is listed, whatever reason is given for it."""
MOCK = ref("main/other.md", OTHER, OTHER, "other")


def both(kind: FateKind, target: str = "", reason: str = "says the same", source: str = GONE) -> str:
    """The account of a dream that merges `twice` into `keep`: its body and its description."""
    claims = (Fate(kind, source, target, reason), Fate("dropped", HOOK, "", "the memory is merged"))
    return format_message("Merge", Provenance(op="dream", writer="dream", claims=claims))


@pytest.fixture
def ground(tmp_path: Path, once: Once[Ground]) -> Ground:
    return once("ground", lambda: make_memory(tmp_path / "ground", keep=KEEP, twice=TWICE, other=OTHER))


@pytest.fixture
def judged(ground: Ground, gitmem):
    """Path, line, rule and level of what is found about claims in what is checked out."""

    def run() -> list[tuple[str, int, str, str]]:
        found = findings(gitmem("check", "--json", cwd=ground.work, ok=False))
        return [one for one in found if one[2] in ("account", "dropped", "merged")]

    return run


def test_a_true_account_passes(ground: Ground, judged) -> None:
    ground.commit({"main/twice.md": None}, both("merged", KEPT))
    assert judged() == [TOLD]


def test_a_claim_that_no_account_names_is_found_on_its_line(ground: Ground, judged) -> None:
    ground.commit({"main/twice.md": None}, format_message("Merge", Provenance(op="dream", writer="dream")))
    assert judged() == [("main/twice.md", 3, "account", "error"), ("main/twice.md", 8, "account", "error")]


@pytest.mark.parametrize(
    "message",
    [
        both("merged", KEPT[:-12] + "0" * 12),
        both("merged", ""),
        both("kept"),
        both("dropped", reason=""),
        both("merged", KEPT, source=MOCK),
        both("superseded", "main/none.md#" + "0" * 12),
    ],
    ids=["no such claim", "nowhere", "kept", "no reason", "another claim", "no such file"],
)
def test_a_false_account_is_found(ground: Ground, judged, message: str) -> None:
    ground.commit({"main/twice.md": None}, message)
    assert ("main/twice.md", 8, "account", "error") in judged()


def test_a_merge_into_a_claim_that_lacks_a_fact_is_found(ground: Ground, judged) -> None:
    ground.commit({"main/twice.md": None}, both("merged", MOCK))
    assert judged() == [TOLD, ("main/twice.md", 8, "merged", "error")]


def test_a_target_that_is_emptied_afterwards_is_found(ground: Ground, judged) -> None:
    """Each commit's account is true by itself, and both claims are gone in the end."""
    ground.commit({"main/twice.md": None}, both("merged", KEPT))
    empty = memory("Deploys are easy.", "keep", "About keep")
    ground.commit({"main/keep.md": empty}, format_message("Tidy", Provenance(op="dream", writer="dream")))
    assert {("main/keep.md", 8, "account", "error"), ("main/twice.md", 8, "account", "error")} <= set(
        judged()
    )


@pytest.mark.parametrize("writer", ["human", "agent"])
def test_another_label_hides_no_account(ground: Ground, judged, writer: Writer) -> None:
    claims = (Fate("merged", GONE, MOCK, "says the same"),)
    message = format_message("Tidy", Provenance(op="update", writer=writer, claims=claims))
    ground.commit({"main/twice.md": None}, message)
    assert judged() == [("main/twice.md", 3, "account", "error"), ("main/twice.md", 8, "merged", "error")]


def test_what_a_person_drops_is_listed_and_passes(ground: Ground, gitmem, judged) -> None:
    ground.commit({"main/twice.md": None}, "Not needed any more")
    assert judged() == [
        ("main/twice.md", 3, "dropped", "notice"),
        ("main/twice.md", 8, "dropped", "notice"),
    ]
    ran = gitmem("check", cwd=ground.work)
    line = (
        f"main/twice.md:8: dropped (notice): claim dropped by {ground.git('config', 'user.name')}: {TWICE}"
    )
    assert line in ran.out


def test_a_persons_edit_of_a_dream_lands(ground: Ground, judged) -> None:
    """A reviewer puts back, on the web, what the dream lost."""
    text = memory(TWICE, "twice", "About twice")
    ground.commit({"main/twice.md": None}, format_message("Merge", Provenance(op="dream", writer="dream")))
    ground.commit({"main/twice.md": text}, "Put it back")
    assert judged() == []


def test_a_merge_of_the_base_into_a_dream_drops_nothing(ground: Ground, judged) -> None:
    ground.commit({"main/twice.md": None}, both("merged", KEPT))
    dream = ground.git("rev-parse", "HEAD")
    ground.git("checkout", "-q", "--detach", "origin/gitmem/project")
    ground.commit({"main/other.md": None, "main/new.md": memory("New.", "new")}, "Learn")
    ground.push("gitmem/project")
    ground.git("fetch", "-q")
    ground.git("merge", "-q", "--no-ff", "-m", "Merge memory", dream)
    assert judged() == [TOLD]


def test_a_merge_that_takes_a_claim_away_is_found(ground: Ground, judged) -> None:
    ground.commit({"main/keep.md": memory(f"{KEEP}\n\nMore.", "keep", "About keep")})
    side = ground.git("rev-parse", "HEAD")
    ground.git("checkout", "-q", "--detach", "origin/gitmem/project")
    ground.commit({"main/new.md": memory("New.", "new")})
    ground.git("merge", "-q", "--no-commit", "--no-ff", side)
    ground.commit({"main/other.md": None}, "Merge memory")
    assert ("main/other.md", 8, "account", "error") in judged()


def test_a_squashed_dream_keeps_its_account(ground: Ground, judged) -> None:
    """GitHub joins the messages of the commits."""
    message = f"Dream (#4)\n\n* Merge\n\n{both('merged', KEPT).split(chr(10), 2)[2]}\n* Sum up\n\nDone.\n"
    ground.commit({"main/twice.md": None}, message)
    assert judged() == [TOLD]


PORTS = memory("Ports start at 4000.", "ports", "About ports")
NEW_KEEP = memory("Deploy from the release branch with `make ship-it`.", "keep", "About keep")
HEARD = format_message("Ports start at 4000", Provenance(op="add", writer="extract", session="a1"))


def squash(ground: Ground, style: str) -> str:
    """Lands what is checked out as a host does, and returns what it is compared with."""
    base = ground.git("rev-parse", "origin/gitmem/project")
    said = ground.git("log", "--reverse", "--format=* %B", f"{base}..HEAD")
    ground.git("branch", "-q", "request")
    ground.git("checkout", "-q", "--detach", base)
    ground.git("merge", "-q", "--squash", "request")
    ground.git("commit", "-q", *(["--no-edit"] if style == "git" else ["-m", f"Dream (#4)\n\n{said}"]))
    return base


@pytest.mark.parametrize("style", ["git", "github"])
@pytest.mark.parametrize(
    ("files", "message", "first"),
    [
        ({"main/ports.md": PORTS}, "Update ports.md", True),
        ({"main/ports.md": PORTS}, "Update ports.md", False),
        ({"main/ports.md": PORTS}, HEARD, True),
        ({"main/ports.md": PORTS}, HEARD, False),
        ({"main/keep.md": NEW_KEEP}, "Update keep.md", False),
    ],
)
def test_what_others_taught_is_not_invented_where_a_host_squashed_it_with_a_dream(
    ground: Ground, gitmem, style: str, files: dict[str, str], message: str, first: bool
) -> None:
    dream: dict[str, str | None] = {"main/twice.md": None}
    for edits, said in [(files, message), (dream, both("merged", KEPT))][:: 1 if first else -1]:
        ground.commit(edits, said)
    base = squash(ground, style)
    found = findings(gitmem("check", "--json", "--base", base, cwd=ground.work, ok=False))
    assert not [one for one in found if one[2] in ("account", "merged", "invented")]
    assert ("unchecked", "notice") in {one[2:] for one in found}


@pytest.mark.parametrize("style", ["git", "github"])
@pytest.mark.parametrize("message", ["Update ports.md", HEARD])
def test_what_a_dream_made_up_is_found_in_a_squash_with_others(
    ground: Ground, gitmem, style: str, message: str
) -> None:
    """A claim that its account names is the dream's, and what goes needs an account."""
    body = "Deploy from the release branch with `make ship` and 3 approvals."
    account = [
        Fate("merged", KEPT, ref("main/keep.md", body, body, "keep"), "the same"),
        Fate("merged", GONE, ref("main/keep.md", body, body, "keep"), "the same"),
    ]
    told = Provenance(op="dream", writer="dream", claims=tuple(account))
    edits = {"main/keep.md": memory(body, "keep", "About keep"), "main/twice.md": None}
    ground.commit(edits, format_message("Merge", told))
    ground.commit({"main/ports.md": PORTS}, message)
    base = squash(ground, style)
    found = findings(gitmem("check", "--json", "--base", base, cwd=ground.work, ok=False))
    assert ("main/keep.md", 8, "invented", "error") in found
    assert ("main/twice.md", 3, "account", "error") in found


def test_a_claim_that_moves_with_its_file_is_not_dropped(ground: Ground, judged) -> None:
    ground.commit(
        {"main/twice.md": None, "main/second.md": memory(TWICE, "twice", "About twice")}, "Rename"
    )
    assert judged() == []


def test_a_depth_one_checkout_of_a_dream_is_judged_by_its_commits(ground: Ground, gitmem) -> None:
    ground.commit({"main/twice.md": None}, both("merged", MOCK))
    ground.commit({}, "Sum up")
    ground.push("gitmem/dream/d-000001")
    top = ground.shallow("refs/heads/gitmem/dream/d-000001")
    ran = gitmem("check", "--json", cwd=top, ok=False)
    assert ("main/twice.md", 8, "merged", "error") in findings(ran)


def test_a_request_from_before_a_purge_is_refused(ground: Ground, gitmem) -> None:
    ground.commit({"main/new.md": memory("New.", "new")})
    request = ground.git("rev-parse", "HEAD")
    ground.git("checkout", "-q", "--detach", "origin/gitmem/project")
    ground.commit({".gitmem": "format = 1\nepoch = 1 01234567\n"}, "Purge")
    ground.push("gitmem/project")
    ground.git("fetch", "-q")
    ground.git("checkout", "-q", "--detach", request)
    ran = gitmem("check", "--json", cwd=ground.work, ok=False)
    assert (".gitmem", 1, "epoch", "error") in findings(ran)
