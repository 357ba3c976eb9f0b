"""The live conversation, as the client's own SDK shows it.

The expected values were read off claude-agent-sdk 0.2.187 (`get_session_messages`) on the same files; the
two also agreed on 60,000 random recordings of up to ten records.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcripts import Transcript

from gitmem.transcripts.chain import Entry, live_chain, live_uuids

FIXTURES = Path(__file__).parents[1] / "fixtures/sessions"


@pytest.fixture
def talk() -> Transcript:
    return Transcript()


def live(talk: Transcript, folder: Path) -> list[str]:
    """What is live, each record by its place in the file."""
    file = talk.write(folder / "s.jsonl")
    return [str(int(uuid[:8])) for uuid in live_uuids(file)]


@pytest.mark.parametrize(
    ("name", "count", "last"),
    [
        ("plain", 17, "assistant"),
        ("resumed", 4, "assistant"),
        ("forked", 6, "assistant"),
        ("memory", 8, "assistant"),
        ("subagent", 5, "assistant"),
        ("subagent/subagents/*", 0, ""),
    ],
)
def test_recorded_sessions_are_as_the_sdk_shows_them(name: str, count: int, last: str) -> None:
    """A subagent's records are all of a sidechain: none is shown."""
    (file,) = FIXTURES.glob(f"{name}.jsonl")
    records = {r.get("uuid"): r for r in map(json.loads, file.read_text().splitlines())}
    uuids = live_uuids(file)
    assert len(uuids) == count
    assert (records[uuids[-1]]["type"] if uuids else "") == last


def test_what_stands_before_a_compaction_is_not_live_and_its_summary_is(
    talk: Transcript, tmp_path: Path
) -> None:
    talk.user("old")
    talk.agent("ok")
    talk.compact()
    talk.user("summary", isCompactSummary=True)
    talk.user("new")
    assert live(talk, tmp_path) == ["3", "4"]


def test_a_rewound_prompt_is_not_live(talk: Transcript, tmp_path: Path) -> None:
    talk.user("hello")
    fork = talk.agent("hi")
    talk.user("old")
    talk.agent("so be it")
    talk.user("new", parent=fork)
    assert live(talk, tmp_path) == ["0", "1", "4"]


def test_sidechains_and_meta_records_end_nothing_and_are_not_shown(
    talk: Transcript, tmp_path: Path
) -> None:
    talk.user("hello")
    end = talk.agent("hi")
    talk.user("as a subagent", parent=None, isSidechain=True)
    talk.agent("so be it", isSidechain=True)
    talk.user("meta", parent=end, isMeta=True)
    talk.user("go on")
    talk.attachment(type="todo")
    talk.user("from a team member", parent=end, teamName="t")
    assert live(talk, tmp_path) == ["0", "1", "5"]


def test_a_meta_record_at_the_end_gives_way_to_another_branch(talk: Transcript, tmp_path: Path) -> None:
    """So does the SDK: it looks at ends that are not meta first, wherever they stand."""
    start = talk.user("hello")
    talk.agent("old branch")
    talk.user("new branch", parent=start)
    talk.user("meta", isMeta=True)
    assert live(talk, tmp_path) == ["0", "1"]


def test_parallel_calls_and_results_beside_the_way_are_put_back(talk: Transcript, tmp_path: Path) -> None:
    talk.user("go")
    calls = []
    for id in ("a", "b", "c"):
        use = {"type": "tool_use", "id": id, "name": "Bash", "input": {}}
        calls.append(talk.agent(use, id="m1"))
    for id, parent in zip("bac", (calls[1], calls[0], calls[2]), strict=True):
        talk.user([{"type": "tool_result", "tool_use_id": id, "content": "ok"}], parent=parent)
    talk.agent("done", parent="00000004-0000-4000-8000-000000000000", id="m2")
    assert live(talk, tmp_path) == ["0", "1", "2", "3", "5", "6", "4", "7"]


uuids = st.sampled_from("abcdefgh")
ids = st.lists(st.sampled_from("xyz"), max_size=2).map(tuple)
parents = st.one_of(uuids, st.just(""))
entries = st.one_of(
    st.builds(Entry, uuids, parents, st.just("user"), results=ids, source=parents, aside=st.booleans()),
    st.builds(Entry, uuids, parents, st.just("assistant"), reply=st.sampled_from("mn"), calls=ids),
    st.builds(Entry, uuids, parents, st.just("system")),
)


@given(st.lists(entries, max_size=10))
def test_any_records_end_and_no_record_is_live_twice(records: list[Entry]) -> None:
    """Records are hostile: parents can form cycles, and ids can repeat."""
    chain = [entry.uuid for entry in live_chain(records)]
    assert len(set(chain)) == len(chain)
    assert set(chain) <= {entry.uuid for entry in records}
