"""What models cost a person: list prices, one line a request, one file a day, and ceilings for a day.

`<folder>/YYYY-MM-DD.jsonl`, the day in UTC, so that every process and machine means the same one. A line is
one append, which several processes may do at once; a line that cannot be read is passed over.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from gitmem.core.errors import EngineError
from gitmem.core.trailers import Usage
from gitmem.values import dataclass


class Meter(Protocol):
    """Counts what an engine spends, and holds it back where the day's ceiling is reached."""

    def begin(self) -> None:
        """Is told before each run: each piece of work for a flow.

        Raises:
            EngineError: no other run may begin today.
        """
        ...

    def allow(self) -> None:
        """Is asked before each request.

        Raises:
            EngineError: nothing more may be spent today.
        """
        ...

    def spent(self, job: str, model: str, usage: Usage) -> None:
        """Is told after each request.

        Args:
            job: `extract`, `select`, `consolidate`, `notes`, `document` or `test`.
        """
        ...


DAYS_KEPT = 400
"""Files of days before go: a year can be looked back on."""

LARGEST = 64 * 1024 * 1024
"""Bytes read of one day."""

CACHE_READ_SHARE = 10
"""Tokens read from the provider's cache count a tenth, as they are priced."""

_TEXT = 200
_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.jsonl")
_COUNTS = ("requests", "input", "cache_read", "cache_write", "output")


@dataclass(frozen=True)
class Spending:
    """One request, or a few that were made together.

    Attributes:
        time: when it was answered, epoch seconds.
        job: `extract`, `select`, `consolidate`, `notes`, `document` or `test`.
        run: whether it is the first of a run: of one piece of work for a flow.
        repository: the project's id; empty where none was known.
    """

    time: float
    job: str
    model: str
    usage: Usage
    run: bool = False
    repository: str = ""


@dataclass(frozen=True)
class Ceilings:
    """What may be spent in a day.

    Attributes:
        runs: extractions and dreams.
        tokens: see `counted_tokens`.
    """

    runs: int
    tokens: int


@dataclass(frozen=True)
class Today:
    """What a day has cost so far."""

    runs: int = 0
    tokens: int = 0
    usage: Usage = field(default_factory=Usage)


def counted_tokens(usage: Usage) -> int:
    """Tokens as they count against the ceiling."""
    return usage.input + usage.cache_write + usage.output + usage.cache_read // CACHE_READ_SHARE


@dataclass(frozen=True)
class Ledger:
    """The folder of a person's spending, whichever the repository."""

    folder: Path

    def add(self, one: Spending) -> None:
        """Appends a line.

        Raises:
            OSError: it cannot be written.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.folder / f"{_day(one.time)}.jsonl"
        fresh = not path.exists()
        line = json.dumps(_to_value(one), ensure_ascii=True).encode("ascii") + b"\n"
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                # A writer was stopped within its line.
                line = b"\n" + line
            file.write(line)
        if fresh:
            self._prune(one.time)

    def spendings(self, since: float, until: float) -> Iterator[Spending]:
        """Yields what was spent from one moment up to another, day by day."""
        day = datetime.fromtimestamp(since, UTC).date()
        while day <= datetime.fromtimestamp(until, UTC).date():
            for one in self._read(f"{day.isoformat()}.jsonl"):
                if since <= one.time <= until:
                    yield one
            day += timedelta(days=1)

    def today(self, now: float) -> Today:
        """What the day of a moment has cost."""
        runs, tokens, total = 0, 0, Usage()
        for one in self._read(f"{_day(now)}.jsonl"):
            runs += one.run
            tokens += counted_tokens(one.usage)
            total = total + one.usage
        return Today(runs, tokens, total)

    def _read(self, name: str) -> Iterator[Spending]:
        try:
            handle = os.open(self.folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        except OSError as error:
            raise EngineError(
                f"{self.folder / name} cannot be read: {error.strerror}",
                "It says what models cost today: make it readable, or remove it.",
            ) from error
        with os.fdopen(handle, "rb") as file:
            for line in file.read(LARGEST).splitlines():
                one = _from_line(line)
                if one is not None:
                    yield one

    def _prune(self, now: float) -> None:
        oldest = f"{_day(now - DAYS_KEPT * 86_400)}.jsonl"
        with suppress(OSError):
            for path in self.folder.iterdir():
                if _NAME.fullmatch(path.name) and path.name < oldest:
                    path.unlink(missing_ok=True)


class LedgerMeter:
    """Holds an engine to a day's ceilings, by the ledger. Two processes at once may pass them by a run."""

    def __init__(
        self, ledger: Ledger, ceilings: Ceilings, clock: Callable[[], float], repository: str = ""
    ) -> None:
        """Makes a meter.

        Args:
            clock: gives epoch seconds.
            repository: the project's id.
        """
        self._ledger, self._ceilings, self._clock = ledger, ceilings, clock
        self._repository = repository
        self._fresh = False
        self._trouble: OSError | None = None

    def begin(self) -> None:
        """Is told before each run, see `Meter`."""
        today = self._today()
        if today.runs >= self._ceilings.runs:
            raise self._over(f"{today.runs:,} of {self._ceilings.runs:,} runs", "maxRuns")
        self._hold_tokens(today)
        self._fresh = True

    def allow(self) -> None:
        """Is asked before each request, see `Meter`."""
        self._hold_tokens(self._today())

    def spent(self, job: str, model: str, usage: Usage) -> None:
        """Is told after each request, see `Meter`."""
        one = Spending(self._clock(), job, model, usage, self._fresh, self._repository)
        self._fresh = False
        try:
            self._ledger.add(one)
        except OSError as error:
            # What came of the request is not to be lost for that; but no other is made unseen.
            self._trouble = error

    def _today(self) -> Today:
        if self._trouble is not None:
            raise EngineError(
                f"{self._ledger.folder} cannot be written: {self._trouble.strerror}",
                "Without it no ceiling can be kept: make it writable for you.",
            )
        return self._ledger.today(self._clock())

    def _hold_tokens(self, today: Today) -> None:
        if today.tokens >= self._ceilings.tokens:
            raise self._over(f"{today.tokens:,} of {self._ceilings.tokens:,} tokens", "maxTokens")

    def _over(self, what: str, setting: str) -> EngineError:
        return EngineError(
            f"The ceiling for today is reached: {what}; it ends at {ends(self._clock())}",
            f"Wait, or raise it: git config --global gitmem.{setting} NUMBER",
        )


def ends(now: float) -> str:
    """When the day of a moment ends, for a person."""
    day = datetime.fromtimestamp(now, UTC).date() + timedelta(days=1)
    return f"{day.isoformat()} 00:00 UTC"


def _day(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).date().isoformat()


def _to_value(one: Spending) -> dict[str, Any]:
    usage = one.usage
    value: dict[str, Any] = {"time": one.time, "job": one.job[:_TEXT], "model": one.model[:_TEXT]}
    value |= {name: getattr(usage, name) for name in _COUNTS}
    value |= {"dollars": usage.dollars, "repository": one.repository[:_TEXT]}
    return value | ({"run": True} if one.run else {})


def _from_line(line: bytes) -> Spending | None:
    try:
        value = json.loads(line)
        counts = [value[name] for name in _COUNTS]
        dollars, time = value["dollars"], value["time"]
        numbers = [*counts, time, *([] if dollars is None else [dollars])]
        if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
            return None
        if not all(isinstance(n, int) for n in counts) or not all(0 <= n < 2**53 for n in numbers):
            return None
        texts = [value["job"], value["model"], value["repository"]]
        if not all(isinstance(text, str) for text in texts):
            return None
        usage = Usage(**dict(zip(_COUNTS, counts, strict=True)), dollars=dollars)
        return Spending(time, texts[0], texts[1], usage, value.get("run") is True, texts[2])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


LONG_PROMPT = 100_000
"""Prompt tokens, cached ones included, above which a request to Haiku 5.5 costs its second price."""


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens.

    Attributes:
        input, output: tokens read anew and written.
        write_5m, write_1h: tokens written to the cache, by lifetime.
        read: tokens read from the cache.
        long: the price of a request whose prompt is over `LONG_PROMPT`; None where it is the same.
    """

    input: float
    output: float
    write_5m: float
    write_1h: float
    read: float
    long: Price | None = None


PRICES: Mapping[str, Price] = {
    "claude-haiku-5-5": Price(0.10, 0.50, 0.125, 0.20, 0.01, long=Price(0.50, 2.50, 0.625, 1.00, 0.05)),
    "claude-sonnet-5-5": Price(2.00, 10.00, 2.50, 4.00, 0.10),
    "claude-opus-5-5": Price(4.00, 20.00, 5.00, 8.00, 0.20),
    "claude-sonnet-5": Price(2.00, 10.00, 2.50, 4.00, 0.20),
    "claude-opus-5": Price(5.00, 25.00, 6.25, 10.00, 0.50),
    "claude-haiku-4-5": Price(1.00, 5.00, 1.25, 2.00, 0.10),
}
"""List prices of the model pages at platform.claude.com/docs/en/models/<model>/overview, as of 2026-11-22;
cache reads of Sonnet 5.5 as lowered on 2026-10-07, which the release notes of two price tables name
(claudit 1.9.2, PromptFuel 1.0.23)."""


def dollars(model: str, usage: Usage, hour: int) -> float | None:
    """Returns what a request costs at the list price, None where the price is unknown.

    Args:
        usage: its tokens.
        hour: how many of those that were written to the cache are kept there for an hour.
    """
    price = PRICES.get(bare(model))
    if price is None:
        return None
    if price.long is not None and usage.input + usage.cache_write + usage.cache_read > LONG_PROMPT:
        price = price.long
    return (
        usage.input * price.input
        + usage.output * price.output
        + (usage.cache_write - hour) * price.write_5m
        + hour * price.write_1h
        + usage.cache_read * price.read
    ) / 1_000_000


def bare(model: str) -> str:
    """A model's id without the mark of a long context (`[1m]`) or a date."""
    name = model.partition("[")[0]
    stem, _, date = name.rpartition("-")
    return stem if len(date) == 8 and date.isdigit() else name
