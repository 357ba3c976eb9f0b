"""How often `git mem check --code` speaks over a project's history, and how often rightly.

usage: python tests/bench/code_check.py BUNDLE [--years 2014-2026] [--every N] [--verbose] [--json]

Each year memories are made of what the code of that day has: one for each file of the package, one for
each public function and class. Then first-parent commits of the year that touch it are checked: all
that take one of these names away, and of the others each n-th. A word of it is right where the name stood
in the package before the commit and does not after, looked up by other means: `git ls-tree` for files, and
a definition found by `git grep` for symbols.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, options, say

from gitmem.app.context import real_edges
from gitmem.core.memory import create
from gitmem.core.trailers import Provenance
from gitmem.flows.code_check import check_code
from gitmem.flows.context import workspace_at
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files
from gitmem.ledger.land import Tip, Write, land
from gitmem.ledger.workspace import Workspace, store_project_id

DEFINED = re.compile(r"^(?:def|class) ([A-Za-z]\w{3,})", re.MULTILINE)
PACKAGE = re.compile(r"(?:src/)?click/[\w/]+\.py")


def git(top: Path, *words: str) -> str:
    """Output of a git command; empty where it finds nothing."""
    return subprocess.run(
        ["git", "-C", str(top), *words], capture_output=True, text=True, check=False
    ).stdout


def paths(top: Path, commit: str) -> set[str]:
    """Files of the package."""
    return set(filter(PACKAGE.fullmatch, git(top, "ls-tree", "-r", "--name-only", commit).split("\n")))


def symbols(top: Path, commit: str) -> set[str]:
    """Public functions and classes of the package."""
    words = ("grep", "-h", "-E", r"^(def|class) [A-Za-z]", commit, "--", "click/", "src/click/")
    return {name for name in DEFINED.findall(git(top, *words)) if not name.startswith("test")}


def remember(workspace: Workspace, top: Path, commit: str) -> int:
    """Makes the memories of a day, in the place of those of before; returns how many."""
    scope = workspace.scope("project")
    made = {
        f"main/file-{n}.md": f"What `{path}` does is told here."
        for n, path in enumerate(sorted(paths(top, commit)))
    }
    made |= {
        f"main/name-{n}.md": f"Call `{name}()` for it."
        for n, name in enumerate(sorted(symbols(top, commit)))
    }
    files = {path: create(path[5:-3], text, "project", text, path).render() for path, text in made.items()}

    def plan(tip: Tip) -> Write:
        gone = dict.fromkeys(read_files(scope.repo, tip.tree, "main"))
        return Write({**gone, **files}, "Remember", Provenance(op="add", writer="human"))

    land(scope, plan, Signature("Ann", "ann@example.com", 1_800_000_000))
    return len(files)


def measure(top: Path, first: int, last: int, every: int, verbose: bool) -> Iterator[Figure]:
    """Counts over the years; what is wrong or missed is named on standard error."""
    workspace = store_project_id(workspace_at(real_edges(top)))
    total: Counter[str] = Counter()
    wrong: list[str] = []
    for year in range(first, last + 1):
        start = git(top, "rev-list", "-1", "--first-parent", f"--before={year}-01-01", "HEAD").strip()
        if not start:
            start = git(top, "rev-list", "--first-parent", "--reverse", "HEAD").split()[100]
        remember(workspace, top, start)
        words = ("rev-list", "--first-parent", "--reverse", f"--before={year + 1}-01-01", f"{start}..HEAD")
        changes = git(top, *words, "--", "click/*.py", "src/click/*.py").split()
        for number, commit in enumerate(changes):
            before, after = (
                {"file": paths(top, rev), "word": symbols(top, rev)} for rev in (f"{commit}^", commit)
            )
            gone = {(what, name) for what in before for name in before[what] - after[what]}
            known = {(what, name) for what, name in gone if _is_known(workspace, name)}
            total["takes away"] += bool(known)
            if not known and number % every:
                continue
            report = check_code(workspace, f"{commit}^..{commit}", "project")
            total["spoke"] += bool(report.affected)
            total["needlessly"] += bool(report.affected) and not known
            said = {
                (one.kind, one.name.removesuffix("()")): one
                for each in report.affected
                for one in each.untrue
            }
            for (what, name), one in said.items():
                ends = [
                    any(f"/{path}".endswith(f"/{name}") for path in side["file"])
                    for side in (before, after)
                ]
                right = (what, name) in gone or (what == "file" and ends == [True, False])
                total["names"] += 1
                total["right"] += right
                if not right:
                    wrong.append(f"wrong: {commit[:9]} {name}")
                if one.now:
                    total["repairs"] += 1
                    total["repair right"] += one.now.removesuffix("()") in after[what]
            total["missed"] += len(known - said.keys())
            total["known"] += len(known)
            wrong += [f"missed: {commit[:9]} {name}" for what, name in sorted(known - said.keys())]
    print(*wrong if verbose else (), sep="\n", file=sys.stderr)
    yield Figure(
        "check --code: names that are gone, rightly said", "", total["right"], total["names"], "said"
    )
    yield Figure(
        "check --code: names that are gone, missed", "", total["missed"], total["known"], "known ones"
    )
    yield Figure(
        "check --code: changes told of in vain", "", total["needlessly"], total["spoke"], "told of"
    )
    yield Figure(
        "check --code: repairs that are right", "", total["repair right"], total["repairs"], "offered"
    )


def _is_known(workspace: Workspace, name: str) -> bool:
    scope = workspace.scope("project")
    tip = scope.repo.ref(scope.ref) or ""
    if tip != _KNOWN.get("tip"):
        files = read_files(scope.repo, scope.repo.commit(tip).tree, "main").values()
        _KNOWN.update(tip=tip, text=b"\n".join(files).decode())
    return f"`{name}`" in _KNOWN["text"] or f"`{name}()`" in _KNOWN["text"]


_KNOWN: dict[str, str] = {}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--years", default="2014-2026")
    parser.add_argument("--every", type=int, default=1, help="of changes that take no name away, each n-th")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    first, last = map(int, given.years.split("-"))
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "code"
        subprocess.run(["git", "clone", "-q", str(given.bundle), str(top)], check=True)
        say(measure(top, first, last, given.every, given.verbose), given.json)


if __name__ == "__main__":
    main()
