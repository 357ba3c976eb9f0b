"""Counts the small mistakes in a room that its tests notice.

usage: python tests/bench/mutants.py [--rooms gitmem/core gitmem/rules] [--count 300] [--seed 15] [--skip N]
           [--leave PATH ...] [--tests PATH ...] [--again] [--list] [--only ID] [--out FILE]

Mutants are chosen evenly over the files and, within a file, over the operators of `mutation.py`; a seed
and an unchanged file give the same ones, and a smaller `--count` a beginning of the larger. Each is written
into a copy of the tree, and the tests that run the function it is in are run on it, near ones first, until
one fails. Which tests run which function is found by tracing them once, and again where a file of tests
changed. What the given tests let live may still die in the rest of the suite: the figure is a lower bound.

A mutant that no behaviour tells from the original belongs into `mutants_equivalent.toml`, with the reason.
`--again` runs those anew that lived in `--out`, `--only ID` shows one and runs it, `--list` runs nothing.
One process at a time; `nice -n 19` keeps a machine usable.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice, zip_longest
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from mutation import Mutant, mutants

ROOT = Path(__file__).parent.parent.parent
ROOMS = (
    "gitmem/core/merge.py", "gitmem/core/account.py", "gitmem/rules", "gitmem/ledger/land.py",
    "gitmem/ledger/merge.py", "gitmem/ledger/proposals.py", "gitmem/ledger/purge.py",
    "gitmem/ledger/consent.py", "gitmem/ledger/counterparts.py", "gitmem/ledger/replay.py",
    "gitmem/git/locks.py", "gitmem/search/candidates.py", "gitmem/search/gate.py",
    "gitmem/search/query.py", "gitmem/search/recall.py", "gitmem/search/score.py",
)  # fmt: skip
"""What may lose a claim, let something out, or find nothing: where a mistake costs most."""

TESTS = (
    "tests/core", "tests/git", "tests/ledger", "tests/rules", "tests/search",
    "tests/flows/test_acceptance.py", "tests/flows/test_purge_replay_clones.py",
    "tests/flows/test_check_bypass.py", "tests/flows/test_check_fates.py",
    "tests/flows/test_check_history.py",
    "tests/flows/test_dream_proof.py", "tests/flows/test_dream_proof_branch.py",
    "tests/flows/test_purge_consent.py", "tests/flows/test_purge.py",
    "tests/flows/test_purge_interrupted.py", "tests/flows/test_rule_text.py", "tests/flows/test_sync.py",
)  # fmt: skip
"""Those that run the rooms and not much else."""

WHOLE = ("tests/rules/test_redaction_exit.py",)
"""Those among them that run every verb, and take minutes."""

EQUIVALENT = Path(__file__).with_name("mutants_equivalent.toml")
NEEDED = ("gitmem", "tests", "hooks", "snapshots", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
CPU_SECONDS = 60
"""More than any test of a room needs: who runs longer hangs, and is killed."""

FAR_SECONDS = 3
"""What the tests that are not named after a mutant's module may take, all together."""

T = TypeVar("T")


def chosen(root: Path, rooms: Iterable[str], seed: int) -> list[Mutant]:
    """All mutants of the rooms in the order in which they are to be tried."""
    files = []
    for path in sorted(path for room in rooms for path in _modules(root / room)):
        name = path.relative_to(root).as_posix()
        operators: dict[str, list[Mutant]] = {}
        for mutant in sorted(mutants(name, path.read_text()), key=lambda one: _dealt(seed, one.id)):
            operators.setdefault(mutant.operator, []).append(mutant)
        turns = sorted(operators.values(), key=lambda some: _dealt(seed, some[0].id))
        files.append(_in_turn(turns))
    return _in_turn(files)


def _modules(room: Path) -> Iterable[Path]:
    return [room] if room.is_file() else room.rglob("*.py")


def _dealt(seed: int, id: str) -> str:
    return hashlib.sha256(f"{seed} {id}".encode()).hexdigest()


def _in_turn(rows: Iterable[Sequence[T]]) -> list[T]:
    return [one for turn in zip_longest(*rows) for one in turn if one is not None]


def equivalents() -> dict[tuple[str, str, str], str]:
    """The reason of each mutant that is none, by file, operator and what its lines become."""
    entries = tomllib.loads(EQUIVALENT.read_text())["equivalent"] if EQUIVALENT.exists() else []
    return {(one["file"], one["operator"], one["becomes"]): one["reason"] for one in entries}


class Tracer:
    """A plugin of pytest that notes which functions of some rooms each test runs, and its time."""

    def __init__(self, copy: Path, rooms: Sequence[str]) -> None:
        self.starts = tuple(
            f"{copy}/{room}" if room.endswith(".py") else f"{copy}/{room}/" for room in rooms
        )
        self.copy = copy
        self.ran: dict[str, tuple[float, set[str]]] = {}
        self.failed: set[str] = set()
        self.codes: set[Any] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begins to watch."""
        self.codes, self.began = set(), time.process_time()
        sys.settrace(self._called)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remembers what must not be counted on."""
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Ends it."""
        sys.settrace(None)
        ran = {
            f"{Path(code.co_filename).relative_to(self.copy)}:{code.co_qualname.replace('.<locals>', '')}"
            for code in self.codes
            if code.co_filename.startswith(self.starts)
        }
        self.ran[nodeid] = (time.process_time() - self.began, ran)

    def _called(self, frame: FrameType, event: str, arg: object) -> None:
        self.codes.add(frame.f_code)


class Chosen:
    """A plugin of pytest that runs some tests in a given order, and looks for no smaller example."""

    def __init__(self, order: Sequence[str]) -> None:
        self.order = {nodeid: number for number, nodeid in enumerate(order)}

    def pytest_collection(self, session: Any) -> None:
        """Comes before the tests are imported, whose settings are taken from the profile."""
        from hypothesis import Phase, settings

        # Two mutants may be of one size and one second, and Python would take the other's bytecode.
        sys.dont_write_bytecode = True
        usual = settings.get_profile("ci")
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", usual, phases=phases, report_multiple_bugs=False)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keeps those that are wanted."""
        wanted = [item for item in items if item.nodeid in self.order]
        items[:] = sorted(wanted, key=lambda item: self.order[item.nodeid])


def in_child(
    copy: Path, args: Sequence[str], plugin: object, after: Callable[[], None] = lambda: None
) -> str:
    """Runs pytest on the copy in a child of this process, which has loaded all but gitmem.

    Returns:
        `lived`, `killed` or `hung`.
    """
    child = os.fork()
    if not child:
        code = 3
        try:
            os.setsid()
            log = os.open(copy / "pytest.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            if not isinstance(plugin, Tracer):
                resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            os.environ |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
            os.chdir(copy)
            sys.path[0] = str(copy)
            import pytest

            plain = ["-o", "addopts=", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line"]
            plain += [
                "-W",
                "ignore::pytest.PytestAssertRewriteWarning",
                "-m",
                "not long and not client and not browser",
            ]
            code = int(pytest.main([*plain, *args], plugins=[plugin]))
            after()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    ended = _wait(child, 20 * CPU_SECONDS if isinstance(plugin, Chosen) else 36_000)
    if ended is None or os.WIFSIGNALED(ended):
        return "hung"
    return "lived" if os.waitstatus_to_exitcode(ended) in (0, 5) else "killed"


def _wait(child: int, seconds: float) -> int | None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def traced(
    copy: Path, rooms: Sequence[str], tests: Iterable[str], cache: Path
) -> dict[str, tuple[float, set[str]]]:
    """Each test that passes to its seconds and the functions it runs; files that changed are traced."""
    known: dict[str, Any] = json.loads(cache.read_text()) if cache.exists() else {}
    files = sorted(
        {file for path in tests for file in _test_files(copy / path)} - {copy / one for one in WHOLE}
    )
    found: dict[str, tuple[float, set[str]]] = {}
    for file in files:
        name = file.relative_to(copy).as_posix()
        key = f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()[:12]} {' '.join(rooms)}"
        if key not in known:
            print(f"tracing {name}", file=sys.stderr, flush=True)
            tracer = Tracer(copy, rooms)
            out = copy / "traced.json"
            out.unlink(missing_ok=True)

            def write(tracer: Tracer = tracer, out: Path = out) -> None:
                passed = {test: row for test, row in tracer.ran.items() if test not in tracer.failed}
                out.write_text(json.dumps({test: [row[0], sorted(row[1])] for test, row in passed.items()}))

            in_child(copy, [name], tracer, write)
            if not out.exists():
                raise SystemExit((copy / "pytest.log").read_text())
            known[key] = json.loads(out.read_text())
            cache.write_text(json.dumps(known))
        found |= {test: (seconds, set(ran)) for test, (seconds, ran) in known[key].items()}
    return found


def _test_files(path: Path) -> Iterator[Path]:
    yield from path.rglob("test_*.py") if path.is_dir() else [path]


def tests_of(mutant: Mutant, ran: Mapping[str, tuple[float, set[str]]]) -> tuple[list[str], list[str]]:
    """The tests that run a mutant's function (of a constant: its module): near ones and others, fast first.

    Near are those in a file that is named after the module; of the others as many as take `FAR_SECONDS`.
    """
    here = f"{mutant.path}:{mutant.function}"
    held = {test for test, (_, functions) in ran.items() if here in functions}
    # The body of a class runs with the module.
    if not held or mutant.function.rpartition(".")[2].lstrip("_")[:1].isupper():
        held = {test for test, row in ran.items() if _runs(mutant.path, row[1]) or _is_near(test, mutant)}
    ordered = sorted(held, key=lambda test: (ran[test][0], test))
    near = [test for test in ordered if _is_near(test, mutant)]
    others = [test for test in ordered if test not in near]
    spent = accumulate(ran[test][0] for test in others)
    return near, [test for test, seconds in zip(others, spent, strict=True) if seconds < FAR_SECONDS]


def _runs(path: str, functions: Iterable[str]) -> bool:
    return any(function.startswith(f"{path}:") for function in functions)


def _is_near(test: str, mutant: Mutant) -> bool:
    return Path(mutant.path).stem in Path(test.partition("::")[0]).stem


def run(mutant: Mutant, copy: Path, tests: Sequence[Sequence[str]]) -> str:
    """Whether some test fails on the mutant: `killed`, `hung`, `lived`; `untested` where there is none."""
    if not any(tests):
        return "untested"
    file = copy / mutant.path
    before = file.read_bytes()
    for compiled in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
        compiled.unlink()
    file.write_text(mutant.source)
    try:
        for some in tests:
            files = dict.fromkeys(test.partition("::")[0] for test in some)
            if some and (how := in_child(copy, ["-x", *files], Chosen(some))) != "lived":
                return how
        return "lived"
    finally:
        file.write_bytes(before)


def shown(mutant: Mutant) -> str:
    """The mutant as a difference."""
    before = (ROOT / mutant.path).read_text().splitlines()
    after = mutant.source.splitlines()
    where = f"{mutant.path}:{mutant.at}"
    return "\n".join(
        difflib.unified_diff(before, after, where, f"{mutant.operator} {mutant.id}", "", "", 2, "")
    )


def told(results: Iterable[Mapping[str, Any]]) -> str:
    """The rate, and what lived."""
    rows = list(results)
    counts = {
        how: sum(row["how"] == how for row in rows)
        for how in ("killed", "hung", "lived", "untested", "equivalent")
    }
    judged = len(rows) - counts["equivalent"]
    dead = counts["killed"] + counts["hung"]
    lines = [
        f"{row['id']} {row['how']} {row['file']}:{row['at']} {row['function']} [{row['operator']}]\n"
        f"    {row['line']}\n    {row['becomes']}"
        for row in rows
        if row["how"] in ("lived", "untested")
    ]
    rate = f"{dead} of {judged} killed ({100 * dead / max(1, judged):.1f} %)"
    return "\n".join([*lines, f"{rate}; {', '.join(f'{number} {how}' for how, number in counts.items())}"])


def main() -> None:
    """Runs what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rooms", nargs="+", default=ROOMS)
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--leave", nargs="+", default=[])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "mutants.json")
    asked = parser.parse_args()

    every = chosen(ROOT, asked.rooms, asked.seed)
    if asked.only:
        some = [one for one in every if one.id == asked.only]
    else:
        some = list(islice((one for one in every if one.is_code), asked.skip, asked.count))
        some = [one for one in some if not one.path.startswith(tuple(asked.leave))]
    if asked.list or asked.only:
        print("\n\n".join(f"{one.id}\n{shown(one)}" for one in some))
    if asked.list:
        return
    earlier = {row["id"]: row for row in json.loads(asked.out.read_text())} if asked.out.exists() else {}
    none = equivalents()
    results = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder).resolve()
        for name in NEEDED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, copy / name)
        _load()
        ran = traced(copy, asked.rooms, asked.tests, asked.out.with_suffix(".traced.json"))
        for number, mutant in enumerate(some, 1):
            began = time.monotonic()
            if (mutant.path, mutant.operator, mutant.becomes) in none:
                how = "equivalent"
            elif asked.again and earlier.get(mutant.id, {}).get("how") in ("killed", "hung"):
                how = earlier[mutant.id]["how"]
            else:
                how = run(mutant, copy, tests_of(mutant, ran))
            row = {
                "id": mutant.id, "how": how, "file": mutant.path, "at": mutant.at,
                "function": mutant.function,
            }  # fmt: skip
            row |= {"operator": mutant.operator, "line": mutant.line, "becomes": mutant.becomes}
            results.append(row | {"seconds": round(time.monotonic() - began, 2)})
            earlier[mutant.id] = results[-1]
            print(
                f"{number}/{len(some)} {how} {mutant.id} {mutant.path}:{mutant.at}",
                file=sys.stderr,
                flush=True,
            )
            if not asked.only:
                half = asked.out.with_suffix(".half")
                half.write_text(json.dumps(list(earlier.values()), indent=1))
                half.replace(asked.out)
    print(told(results))


def _load() -> None:
    """Loads once what every child would load anew; gitmem itself is loaded by each from the copy."""
    import filelock  # noqa: F401
    import hypothesis.stateful  # noqa: F401
    import markdown_it  # noqa: F401
    import psutil  # noqa: F401
    import pygit2  # noqa: F401
    import pytest  # noqa: F401
    import typer  # noqa: F401
    import yaml  # noqa: F401


if __name__ == "__main__":
    main()
