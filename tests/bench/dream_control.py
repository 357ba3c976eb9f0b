"""Plants known faults into folders of real memory, and counts what the offline engine mends.

usage: python tests/bench/dream_control.py FOLDER [--json]

Planted are: files that are copies of another, claims that stand twice in a file, claims of one file that
stand in another as well (every other one with small words changed), and links to names that lack an end,
have a type in front, or slip. The faults are the same for the same folders; FOLDER holds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from figures import Figure, options, say

from gitmem.core.account import claims_at, path_of
from gitmem.core.memory import parse
from gitmem.engines.engine import ConsolidateInput, DreamChange
from gitmem.engines.offline.consolidate import consolidate
from gitmem.engines.offline.similar import said

TEN = 10


def measure(real: Mapping[str, bytes]) -> Iterator[Figure]:
    """Plants, dreams without a limit of changes, and counts."""
    files = dict(real)
    paths = sorted(real)
    copies = {f"main/{PurePosixPath(path).stem}-2.md": path for path in paths[:TEN]}
    files |= {copy: real[path] for copy, path in copies.items()}
    # A link is planted where nothing else is.
    free = iter(paths[TEN:])
    twice = dict(_claims(real, free))
    for path, text in twice.items():
        files[path] = real[path].rstrip(b"\n") + f"\n\n{text}\n".encode()
    moved: dict[str, tuple[str, str]] = {}
    for number, (path, text) in enumerate(_claims(real, iter(paths))):
        name = f"main/planted-{number:02}.md"
        changed = text.replace(" the ", " ").rstrip(".") + "!" if number % 2 else text
        title = parse(path, real[path]).description
        body = f"---\nname: planted-{number:02}\ndescription: {title}\nmetadata:\n  type: "
        files[name] = f"{body}{parse(path, real[path]).type}\n---\n\n{changed}\n".encode()
        moved[name] = path, text
        if len(moved) == TEN + 3:
            break
    links = _links(paths[:TEN])
    for number, (link, _) in enumerate(links):
        files[f"main/linking-{number:02}.md"] = f"Ask there first: [[{link}]] number {number}.\n".encode()
    made = consolidate(ConsolidateInput(files, most=1_000))
    offers = [one for one in made.changes if one.kind != "question"]
    ends = {_ends(one) for one in offers}
    found = {
        "copies": (sum(bool({one, one[::-1]} & ends) for one in copies.items()), len(copies)),
        "claims twice in a file": (sum((path, path) in ends for path in twice), len(twice)),
        "claims in two files": (sum(any(name in pair for pair in ends) for name in moved), len(moved)),
        "links": (sum(_led(offers, number, to) for number, (_, to) in enumerate(links)), len(links)),
    }
    for what, counts in found.items():
        yield Figure(f"planted {what} that are mended", "", *counts, "planted")
    yield Figure("other offers", "", len(offers) - len(ends), len(offers), "all offers")
    yield Figure("questions", "", len(made.changes) - len(offers), len(files), "files")


def _claims(real: Mapping[str, bytes], paths: Iterator[str]) -> Iterator[tuple[str, str]]:
    """A claim of each of ten memories that stands for itself."""
    found = 0
    for path in paths:
        for claim in claims_at(path, real[path]):
            if said(claim.text).plain and not claim.item and len(claim.text) > 60:
                yield path, claim.text
                found += 1
                break
        if found == TEN + 3:
            return


def _links(paths: list[str]) -> list[tuple[str, str]]:
    """Names that no memory has, and the path that each must mean."""
    found = []
    for number, path in enumerate(paths):
        stem = PurePosixPath(path).stem
        parts = stem.replace("_", "-").split("-")
        forms = (
            "-".join(parts[:-1]) if len(parts) > 3 else f"reference-{stem}",
            f"feedback-{stem}",
            f"{stem}s",
        )
        found.append((forms[number % len(forms)], path))
    return found


def _ends(change: DreamChange) -> tuple[str, str]:
    fate = change.fates[0]
    return path_of(fate.source), path_of(fate.target) if fate.target else ""


def _led(offers: list[DreamChange], number: int, to: str) -> bool:
    """Whether a planted link was led to its memory, or to the copy of it that stays."""
    path, stem = f"main/linking-{number:02}.md", PurePosixPath(to).stem
    texts = [
        (one.edits[path] or b"").decode() for one in offers if one.kind == "link" and path in one.edits
    ]
    return any(f"[[{stem}" in text for text in texts)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    paths = (path for path in sorted(given.folder.rglob("*.md")) if path.name != "MEMORY.md")
    say(measure({f"main/{path.name}": path.read_bytes() for path in paths}), given.json)


if __name__ == "__main__":
    main()
