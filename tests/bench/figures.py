"""What a benchmark says: rows of one table, each figure beside its reference in the same run."""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_TESTS = ("", "recorder", "engines", "flows")
sys.path += [str(ROOT / "tests" / folder) for folder in _TESTS]  # for what is imported after this
sys.path.insert(0, str(ROOT))

HEAD = f"{'figure':46} {'unit':7} {'gitmem':>9} {'reference':>10} {'ratio':>7}  beside"


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    Attributes:
        ours, theirs: the two figures; None for no reference, or nothing to compare with.
        reference: what theirs is.
    """

    label: str
    unit: str
    ours: float
    theirs: float | None = None
    reference: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours as a multiple of theirs."""
        return round(self.ours / self.theirs, 3) if self.theirs else None

    def line(self) -> str:
        """The row, as wide as `HEAD`."""
        numbers = f"{shown(self.ours):>9} {shown(self.theirs):>10} {shown(self.ratio):>7}"
        return f"{self.label:46} {self.unit:7} {numbers}  {self.reference}".rstrip()


def shown(number: float | None) -> str:
    """A number as the table has it."""
    return "-" if number is None else f"{number:,.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def options(doc: str | None) -> argparse.ArgumentParser:
    """The options that each benchmark has, under the text of its module."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    return parser


def say(rows: Iterable[Figure], as_json: bool) -> None:
    """Prints the table, or its rows as JSON."""
    if as_json:
        print(json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows], indent=1))
        return
    print(HEAD)
    for row in rows:
        print(row.line(), flush=True)


def bench(
    doc: str | None, measure: Callable[..., Iterable[Figure]], *paths: str, **more: int | str
) -> None:
    """Runs a benchmark in a folder that goes afterwards.

    Args:
        paths: what it must be given.
        more: what it may be given, with the defaults; False for a word without a value.
    """
    parser = options(doc)
    for name in paths:
        parser.add_argument(name, type=Path)
    for name, default in more.items():
        if default is False:
            parser.add_argument(f"--{name}", action="store_true")
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    given = vars(parser.parse_args())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        say(measure(**{name: given[name] for name in (*paths, *more)}, folder=Path(folder)), given["json"])


def medians(cases: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of each case.

    Cases take turns, so that a busy moment hits all; what fills caches, one round before, is not counted.
    """
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(rounds + 1):
        for name, case in cases.items():
            spent = case()
            if number:
                taken[name].append(spent)
    return {name: statistics.median(times) for name, times in taken.items()}


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of a call, with those of the processes that it waited for."""
    before = _used()
    work()
    return _used() - before


def _used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def quantile(times: Sequence[float], share: float) -> float:
    """That of some times, as one of them."""
    return sorted(times)[int(len(times) * share)]
