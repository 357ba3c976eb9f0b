"""Finds labelled pairs of statements again: which say the same, which amend, and which only look so.

DATA holds `sde`, `devmembench`, `memory` and `history/click.bundle`; this repository's changelog and
snapshots are read by git, as blobs, whose names stay when commits are written anew. `pairs.jsonl` has no
text but says where each stands, with a hash that it is checked by; a pair whose source is absent is left
out. The kinds:

- same: one claim twice, reworded or with more detail, nothing contradictory.
- amends: the later statement changes what the earlier one says of the same thing, or overtakes its state.
- alike: one form, one series or one subject, but two things: neither says or changes the other.
- unrelated: a word, a number or a name in common.

Each pair was cut out, read and judged by itself, without a look at the rules that are measured by it. Rules
may be tuned on `tuned` alone. `time` is empty where a source has no dates; the memory `MEMORY` is an index,
whose line says in short what a memory says.
"""

from __future__ import annotations

import functools
import hashlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAIRS = HERE / "pairs.jsonl"
OWN = "own"
"""What the file of a statement is called that stands in this repository's history."""

_SHOWN = ("time", "memory", "who")


def git(top: Path, *words: str) -> str:
    """What a command of git prints.

    Raises:
        CalledProcessError: git fails, as for a commit that a shallow clone lacks.
    """
    command = ["git", "-C", str(top), *words]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


def reader(data: Path, repository: Path, scratch: Path) -> Callable[[Mapping[str, Any]], str]:
    """A function that reads the text in which a statement stands.

    Args:
        data: The folder of real inputs.
        repository: A checkout of this repository.
        scratch: An empty folder, in which bundles are unpacked.

    Returns:
        The function. It raises OSError or CalledProcessError where a source is absent.
    """

    @functools.cache
    def unpacked(bundle: str) -> Path:
        (data / bundle).stat()  # what is absent is told without a process of git
        top = scratch / Path(bundle).stem
        git(scratch, "clone", "-q", "--bare", str(data / bundle), str(top))
        return top

    @functools.cache
    def committed(file: str, commit: str, path: str) -> str:
        return git(repository if file == OWN else unpacked(file), "show", f"{commit}:{path}")

    @functools.cache
    def turns(file: str) -> dict[str, list[str]]:
        """Record to the texts of its turns, of a file of chats or of sessions."""
        text = (data / file).read_text(encoding="utf-8")
        if file.endswith(".jsonl"):
            chats = [json.loads(line) for line in text.splitlines()]
            return {chat["id"]: [turn["text"] for turn in chat["turns"]] for chat in chats}
        sessions = json.loads(text)
        return {one["sessionId"]: [message["content"] for message in one["messages"]] for one in sessions}

    def read(place: Mapping[str, Any]) -> str:
        file: str = place["file"]
        if "blob" in place:
            return git(repository, "cat-file", "blob", place["blob"])
        if "commit" in place:
            return committed(file, place["commit"], place["path"])
        if "record" in place:
            said: list[str] = turns(file)[place["record"]]
            return said[int(place["turn"])]
        return (data / file).read_text(encoding="utf-8")

    return read


def pairs(data: Path, repository: Path = HERE.parent.parent, half: str = "all") -> Iterator[dict[str, Any]]:
    """The labelled pairs with their texts, as far as their sources are there.

    Args:
        data: The folder of real inputs.
        repository: A checkout of this repository, for what stands in its history.
        half: `tuned`, `held` or `all`.

    Yields:
        Each pair: id, half, kind, source, why, earlier and later; of the latter two text, time and memory,
        and in chats who.

    Raises:
        ValueError: A source is there, but says something else where a statement stood.
    """
    with tempfile.TemporaryDirectory() as scratch:
        read = reader(data, repository, Path(scratch))

        def statement(place: Mapping[str, Any]) -> dict[str, Any]:
            text = " ".join(read(place)[place["start"] : place["end"]].split())
            if hashlib.sha256(text.encode()).hexdigest()[: len(place["sha"])] != place["sha"]:
                raise ValueError(f"{place['file']}: another text than was labelled")
            return {"text": text, **{key: place[key] for key in _SHOWN if key in place}}

        for line in PAIRS.read_text(encoding="utf-8").splitlines():
            pair = json.loads(line)
            if half in ("all", pair["half"]):
                try:
                    pair.update({side: statement(pair[side]) for side in ("earlier", "later")})
                except (OSError, subprocess.CalledProcessError):
                    continue
                yield pair
