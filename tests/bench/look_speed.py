"""What looking at many memories costs, beside git reading the same tree.

usage: python tests/bench/look_speed.py [--memories N] [--rounds N] [--json]

CPU of whole processes, less what the same command takes where there is one memory; the reference is `git
archive` of the same tree, less what that takes of the small one. At the tip and some commits back, with a
catalog that knows the blobs, and without one (cold).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from figures import Figure, bench, medians
from ground import REF, Home, service, tree

BACK = 5
"""Commits that the past revision lies behind the tip."""

LOOKS = {"list -a": ("list", "-a"), "show": ("show", "service-0"), "status": ("status",)}


def made(folder: Path, memories: int) -> Home:
    """A repository with memories, the last of which changed some times."""
    home = Home(folder)
    home.gitmem("init")
    files = tree(map(service, range(memories)))
    home.fill(files)
    path = f"main/{service(memories - 1).path}"
    for number in range(2 * BACK):
        home.fill({path: files[path] + f"\nMore {number}.\n".encode()})
    home.git("gc", "-q")
    return home


def forget(home: Home) -> None:
    """Deletes the catalog."""
    for file in (home.repo / ".git/gitmem").glob("catalog.sqlite*"):
        file.unlink()


def measure(memories: int, rounds: int, folder: Path) -> Iterator[Figure]:
    """All figures."""
    homes = {"one": made(folder / "one", 1), "many": made(folder / "many", memories)}
    cases: dict[str, Callable[[], float]] = {}
    for size, home in homes.items():
        for when, at in (("tip", "~0"), ("past", f"~{BACK}")):
            cases[f"{size} git {when}"] = lambda h=home, at=at: h.run("git", "archive", REF + at).cpu  # type: ignore[misc]
            for look, words in LOOKS.items():
                then = ["--at", at] if when == "past" and look != "status" else []
                cases[f"{size} {look} {when}"] = lambda h=home, w=(*words, *then): h.gitmem(*w).cpu  # type: ignore[misc]
    times = medians(cases, rounds)

    def over(what: str) -> float:
        return times[f"many {what}"] - times[f"one {what}"]

    for when in ("tip", "past"):
        for look in LOOKS:
            if (look, when) != ("status", "past"):
                yield Figure(
                    f"{look}, {when}", "ms CPU", over(f"{look} {when}"), over(f"git {when}"), "git archive"
                )
    for look, words in LOOKS.items():
        cold = []
        for home in homes.values():
            forget(home)
            cold.append(home.gitmem(*words).cpu)
        yield Figure(f"{look}, tip, cold", "ms CPU", cold[1] - cold[0], over("git tip"), "git archive")


if __name__ == "__main__":
    bench(__doc__, measure, memories=10_000, rounds=9)
