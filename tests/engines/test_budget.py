"""The ledger and the ceilings of a day."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from talk import person

from gitmem.core.errors import EngineError
from gitmem.core.trailers import Usage
from gitmem.engines import budget
from gitmem.engines.engine import ExtractInput
from gitmem.engines.task import ModelEngine, Task, TaskOutcome

NOON = 1_795_003_200.0 - 1_795_003_200 % 86_400 + 43_200
DAY = 86_400
ONE = Usage(1, 100, 1000, 50, 10, 0.01)


def meter(folder: Path, runs: int = 2, tokens: int = 1000, now: float = NOON) -> budget.LedgerMeter:
    return budget.LedgerMeter(budget.Ledger(folder), budget.Ceilings(runs, tokens), lambda: now, "project")


def test_a_request_is_one_line_that_is_read_again(tmp_path: Path) -> None:
    meter(tmp_path / "new").spent("extract", "haiku", ONE)
    ledger = budget.Ledger(tmp_path / "new")
    (one,) = ledger.spendings(NOON - DAY, NOON + DAY)
    assert one == budget.Spending(NOON, "extract", "haiku", ONE, False, "project")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert list(ledger.spendings(NOON + 1, NOON + DAY)) == []


def test_cache_reads_count_a_tenth() -> None:
    assert budget.counted_tokens(ONE) == 100 + 100 + 50 + 10


def test_no_request_is_made_over_the_days_tokens_and_the_next_day_is_new(tmp_path: Path) -> None:
    for _ in range(4):
        one = meter(tmp_path)
        one.allow()
        one.spent("extract", "haiku", ONE)
    with pytest.raises(EngineError, match="1,040 of 1,000 tokens") as caught:
        meter(tmp_path).allow()
    assert "gitmem.maxTokens" in caught.value.hint and budget.ends(NOON) in caught.value.message
    meter(tmp_path, now=NOON + DAY).allow()


class Asking(ModelEngine):
    """Makes some requests in each extraction."""

    def __init__(self, meter: budget.LedgerMeter, requests: int) -> None:
        self.meter, self.requests = meter, requests

    def begin(self) -> None:
        self.meter.begin()

    def run(self, task: Task) -> TaskOutcome:
        for _ in range(self.requests):
            self.meter.allow()
            self.meter.spent("extract", "haiku", Usage(1, 1))
        return TaskOutcome(task.tree, ("nothing",))


def test_runs_are_counted_by_extractions_and_not_by_requests(tmp_path: Path) -> None:
    given = ExtractInput((person(1, "thanks"),))
    held = meter(tmp_path)
    engine = Asking(held, 3)
    engine.extract(given)
    Asking(held, 0).extract(given)
    engine.extract(given)
    assert budget.Ledger(tmp_path).today(NOON).runs == 2
    with pytest.raises(EngineError, match="2 of 2 runs") as caught:
        engine.extract(given)
    assert "gitmem.maxRuns" in caught.value.hint


def test_damaged_lines_are_passed_over_and_never_swallow_the_next(tmp_path: Path) -> None:
    meter(tmp_path).spent("extract", "haiku", ONE)
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    bad = [
        b"{", b"\xff\xfe", b"null", b"[" * 100_000, good.replace(b'"input": 100', b'"input": -5').strip(),
        good.replace(b'"input": 100', b'"input": 1e300').strip(), good.replace(b"0.01", b"NaN").strip(),
        good.strip()[: len(good) // 2],
    ]  # fmt: skip
    path.write_bytes(b"\n".join([good.strip(), *bad]))
    meter(tmp_path).spent("select", "haiku", ONE)
    assert [one.job for one in budget.Ledger(tmp_path).spendings(NOON, NOON)] == ["extract", "select"]
    assert budget.Ledger(tmp_path).today(NOON) == budget.Today(0, 520, ONE + ONE)


def _append(folder: str) -> None:
    for _ in range(50):
        meter(Path(folder)).spent("extract", "haiku", ONE)


def test_several_processes_lose_no_line(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_append, args=(str(tmp_path),)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert budget.Ledger(tmp_path).today(NOON).usage.requests == 200


def test_days_long_past_go(tmp_path: Path) -> None:
    (tmp_path / "2020-01-01.jsonl").write_text("")
    (tmp_path / "notes").write_text("mine")
    meter(tmp_path).spent("extract", "haiku", ONE)
    assert sorted(path.name for path in tmp_path.iterdir())[1:] == ["notes"]


def test_where_nothing_can_be_written_no_second_request_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    one = meter(tmp_path / "file")
    one.spent("extract", "haiku", ONE)
    with pytest.raises(EngineError, match="cannot be written"):
        one.allow()


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    meter(tmp_path).spent("extract", "haiku", ONE)
    (path,) = tmp_path.iterdir()
    target = tmp_path / "target"
    path.rename(target)
    path.symlink_to(target)
    before = target.read_bytes()
    with pytest.raises(EngineError, match="cannot be read"):
        meter(tmp_path).allow()
    meter(tmp_path).spent("extract", "haiku", ONE)
    assert target.read_bytes() == before
