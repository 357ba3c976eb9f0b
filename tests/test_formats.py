"""docs/formats.md: its examples are what gitmem writes and reads, to the byte."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.core import attributes, index, tombstone
from gitmem.core.change import Change, ChangeOrigin
from gitmem.core.daily_log import LogLine
from gitmem.core.memory import description_claim, parse
from gitmem.core.merge import merge_trees
from gitmem.core.names import FORMAT_TEXT, agent_folder_name, agent_name, archive_path, file_name
from gitmem.core.trailers import OPS, WRITERS, Fate, Provenance, Usage, format_message
from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.remote import normalise_url
from gitmem.ledger import suggestions
from gitmem.ledger.epochs import Epoch, read_epoch, with_epoch
from gitmem.ledger.land import root_objects
from gitmem.ledger.snapshot import write_snapshot
from gitmem.rules.snapshot import digest

TEXT = (Path(__file__).parents[1] / "docs/formats.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^<!-- example: ([\w-]+) -->\n```\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))


def rows(name: str) -> list[list[str]]:
    """The columns of an example's lines."""
    return [re.split(r"\s{3,}", line) for line in EXAMPLES[name].splitlines()]


MEMORY = EXAMPLES["memory"].encode()


def test_gitmem_file() -> None:
    wanted = EXAMPLES["gitmem-file"].encode()
    assert with_epoch(FORMAT_TEXT, Epoch(2, "1f2e3d4c")) == wanted
    assert read_epoch(wanted) == Epoch(2, "1f2e3d4c")


def test_agents() -> None:
    for name, folder in rows("agents"):
        assert (agent_name(name), agent_folder_name(folder)) == (folder, name)


def test_slugs() -> None:
    for name, file in rows("slugs"):
        assert file_name(name) == file


def test_memory_and_its_place_in_the_archive() -> None:
    memory = parse("deploy-day.md", MEMORY)
    assert memory.render() == MEMORY
    assert (memory.name, memory.description, memory.type) == (
        "deploy-day",
        "Deploys go out on Tuesdays",
        "project",
    )
    assert f"`{archive_path('deploy-day.md')}`" in TEXT


def test_claims() -> None:
    memory = parse("deploy-day.md", MEMORY)
    assert [[claim.short, claim.key] for claim in memory.claims] == rows("claims")
    assert memory.claims[-1] == description_claim(memory.description)


def test_index_line() -> None:
    assert index.entry_of("deploy-day.md", MEMORY) == EXAMPLES["index-line"]


def test_log_line() -> None:
    when = datetime(2026, 11, 20, 14, 5, 33, tzinfo=UTC)
    text = "Run the linter before every push. **Why:** CI takes ten minutes."
    assert LogLine(when, "feedback", "258c7280-11", text).render() + "\n" == EXAMPLES["log-line"]


def test_tombstone() -> None:
    line = EXAMPLES["tombstone"]
    key = parse("deploy-day.md", MEMORY).claims[0].key
    salt, date = line.split()[1], line.split()[3]
    assert tombstone.bury(key, salt, date, "forgot").line() == line
    assert tombstone.matches(tombstone.parse(line), key)


@pytest.mark.parametrize(("row", "digits"), [(0, 40), (1, 64)])
def test_root(row: int, digits: int) -> None:
    assert rows("root")[row][1] == list(root_objects(digits))[-1]


COMMIT = Provenance(
    "add",
    "extract",
    session="5f2c9d3e",
    messages=("m-1", "m-9"),
    job="j-1",
    code_commit="3f2a91c0d5b94b1c8f0f6a3f4b7d9e2a1c5e8f70",
    engine="anthropic:claude-haiku-5-5",
    usage=Usage(3, 1200, 8000, 500, 240, 0.0042),
)
INTO = "main/deploy-day.md#ba9876543210"
DREAM = Provenance(
    "dream",
    "dream",
    engine="offline",
    claims=(
        Fate(
            "merged",
            "main/release-day.md#0123456789ab",
            "main/deploy-day.md#ba9876543210",
            "both say Tuesday",
        ),
        Fate("dropped", "main/old notes.md#0123456789ab", "", "said twice"),
    ),
)


@pytest.mark.parametrize(("name", "told"), [("commit", COMMIT), ("dream-commit", DREAM)])
def test_commits(name: str, told: Provenance) -> None:
    subject, _, rest = EXAMPLES[name].partition("\n\n")
    body = rest.partition("\n\n")[0] if not rest.startswith("Gitmem-") else ""
    assert format_message(subject, told, body) == EXAMPLES[name]
    assert parse_trailers(EXAMPLES[name]) == told
    squashed = "".join(
        f"  * {line}\n" if line.startswith("Gitmem-") else f"{line}\n" for line in rest.split("\n")
    )
    assert parse_trailers(f"Squash\n\n{squashed}") == told


def test_every_trailer_and_its_words_are_told() -> None:
    told = Provenance("add", reviewed="s-1", undoes="3f2a91c", claims=DREAM.claims)
    written = format_message("", told) + EXAMPLES["commit"]
    table = "".join(line for line in TEXT.splitlines() if line.startswith("| `Gitmem-"))
    keys = set(re.findall(r"^(Gitmem-[\w-]+):", written, re.MULTILINE))
    assert len(keys) > 10
    assert [key for key in keys if f"`{key}`" not in table] == []
    for word in (*OPS, *WRITERS):
        assert f"`{word}`" in TEXT


def test_project_id(repo: Path, gitmem: Callable[..., object], git: Callable[..., str]) -> None:
    ((url, place, id),) = rows("project-id")
    assert normalise_url(url, repo) == place
    git("-C", repo, "remote", "add", "origin", url)
    gitmem("init", "-y")
    assert git("-C", repo, "config", "gitmem.projectId") == id


def test_proposal() -> None:
    time = datetime(2026, 11, 20, 9, 58, tzinfo=UTC)
    change = Change(
        op="add",
        name="deploy-day",
        description="Deploys go out on Tuesdays",
        type="project",
        body="Deploys go out on Tuesdays.",
        reason="said so",
        confidence=0.8,
        asked=False,
        origin=ChangeOrigin("5f2c9d3e", "m-1", "m-9", time),
    )
    one = suggestions.suggest(change, "local", "2026-11-20T10:00:00Z")
    assert suggestions.to_bytes(one).decode() == EXAMPLES["proposal"]
    assert suggestions.from_bytes(EXAMPLES["proposal"].encode()) == one


def test_snapshot(repo: Path) -> None:
    files = {"MEMORY.md": EXAMPLES["index-line"].encode(), "deploy-day.md": MEMORY}
    folder = repo / ".claude/agent-memory-snapshots/main"
    assert write_snapshot(repo, folder, files, 1_795_168_800)
    assert (folder / "snapshot.json").read_text() == EXAMPLES["snapshot"]
    assert json.loads(EXAMPLES["snapshot"])["digest"] == digest(files)


def test_merge() -> None:
    head = "---\nname: ports\ndescription: Ports\n---\n\n"
    said: dict[str, list[str]] = {}
    for side, claim in rows("merge"):
        said.setdefault(side, []).append(claim)
    base, ours, theirs, merged = (
        {"main/ports.md": (head + "\n\n".join(claims) + "\n").encode()} for claims in said.values()
    )
    assert merge_trees(base, ours, theirs).files == merged == merge_trees(base, theirs, ours).files


def test_attributes() -> None:
    assert EXAMPLES["attributes"] == attributes.BRANCH_TEXT


def test_each_example_has_a_test() -> None:
    own = Path(__file__).read_text(encoding="utf-8")
    assert len(EXAMPLES) == TEXT.count("<!-- example: ")
    assert [name for name in EXAMPLES if f'"{name}"' not in own] == []
