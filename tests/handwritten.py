"""Indexes as people and agents write them: 200 generated ones, and where real ones stand."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

from gitmem.core import index
from gitmem.core.claim import with_dispute
from gitmem.core.memory import create

REAL = Path(os.environ.get("GITMEM_TEST_DATA", "")) / "memory"
"""Real memory folders, where the variable names a folder of them."""
GENERATED = 200

Files = dict[str, bytes]


def memory(name: str, about: str = "", body: str = "Body.") -> bytes:
    return create(name, about or f"About {name}", "project", body, f"{name}.md").render()


def own(name: str) -> str:
    return f"- [{name}]({name}.md) — About {name}\n"


def by_hand(rng: Random, names: list[str], mark: str) -> str:
    """A line as people and agents write them."""
    one, two = rng.sample(names, 2)
    return rng.choice(
        [
            f"# Heading {mark}\n",
            f"> **Warning**: never touch {mark} on a Friday.\n",
            f"Prose on {mark} with [a link]({one}.md) in it, long enough to be cut {'x' * 160}.\n",
            f"- [{one}]({one}.md) and [{two}]({two}.md): both about {mark}\n",
            f"- **{mark}**: {one}.md, {two}.md — grouped\n",
            f"- [{one}]({one}.md) — {mark}, more than it describes {'y' * 150} [[{two}]]\n",
            f"- [{one}]({one}.md) — {mark}\n  - ⚠ child of {mark}\n",
            f"| {mark} | [{one}]({one}.md) |\n",
        ]
    )


def world(seed: int) -> tuple[Files, list[str]]:
    rng = Random(seed)
    names = [f"m{n}" for n in range(rng.randint(3, 9))]
    lines = [own(name) for name in names if rng.random() < 0.7]
    lines += [by_hand(rng, names, f"h{n}") for n in range(rng.randint(1, 8))]
    rng.shuffle(lines)
    text = "".join(line + ("\n" if rng.random() < 0.2 else "") for line in lines)
    return {"main/MEMORY.md": text.encode()} | {f"main/{n}.md": memory(n) for n in names}, names


def written_by_gitmem(*sides: Files) -> set[str]:
    """The whole lines that gitmem writes for memories as some sides have them."""
    return {
        index.entry_of(path.rpartition("/")[2], data).strip()
        for side in sides
        for path, data in side.items()
        if not path.endswith("MEMORY.md")
    }


def handwritten(files: Files, *others: Files) -> Counter[str]:
    """The lines that gitmem would not write for any version of a memory, without marks and spacing."""
    made = written_by_gitmem(files, *others)
    text = files["main/MEMORY.md"].decode()
    units = [with_dispute(unit.text.rstrip(), "") for unit in index.parse(text)]
    return Counter(unit for unit in units if unit and unit not in made)
