"""What writers do to a memory tree in the survival matrix, and what counts as lost afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement
from pathlib import PurePosixPath
from typing import NamedTuple

from gitmem.core import index
from gitmem.core.attributes import BRANCH_TEXT
from gitmem.core.memory import parse
from gitmem.core.names import INDEX, is_memory_file, kind

Files = dict[str, bytes]

OPERATIONS = ("add", "edit", "rename", "delete", "reorder", "prose")
NAMES = ("ann", "ben", "cas")
HEAD = "# What we know\n\nAsk before a release.\n\n"
AT = f"main/{INDEX}"


class Cell(NamedTuple):
    """One cell: an operation for each writer, on the same memory or on each one's own.

    `begun` is `together` where all started from one commit, `apart` where each began a memory alone.
    """

    operations: tuple[str, ...]
    where: str
    begun: str

    def __str__(self) -> str:
        return f"{' + '.join(self.operations)}, {self.where}, {self.begun}"


def cells(writers: int) -> list[Cell]:
    """All cells of so many writers; who does what makes no difference but by name."""
    return [
        Cell(operations, where, begun)
        for begun in ("together", "apart")
        for where in ("same", "own")
        for operations in combinations_with_replacement(OPERATIONS, writers)
    ]


def memory(name: str, *claims: str) -> bytes:
    """A memory file."""
    body = "\n\n".join(claims)
    head = f"---\nname: {name}\ndescription: What we know of {name}\ntype: project\n---\n"
    return f"{head}\n{body}\n".encode()


def base() -> Files:
    """What all start from: one memory in common, one for each writer, and the index."""
    files = {
        f"main/{name}.md": memory(
            name,
            f"The {name} service listens on port 80.",
            f"Restart {name} after a change of its settings.",
            "- Ask the on-call first.",
            f"- Say so in the channel of {name}.",
            f"**Why:** {name} lost data once.",
        )
        for name in ("shared", *NAMES)
    }
    entries = [index.entry(name, f"{name}.md", f"What we know of {name}") for name in ("shared", *NAMES)]
    return files | {AT: (HEAD + "".join(entries)).encode()}


def hosted(files: Mapping[str, bytes], attributes: bool = True) -> Files:
    """The tree of a memory branch with these files."""
    own = {".gitattributes": BRANCH_TEXT.encode()} if attributes else {}
    return {**files, **own, ".gitmem": b"format = 1\n"}


def side(cell: Cell, number: int) -> Files:
    """The files of one writer."""
    who = NAMES[number]
    target = "shared" if cell.where == "same" else who
    files = base()
    _DO[cell.operations[number]](files, target, who, cell.where)
    return files


def _add(files: Files, target: str, who: str, where: str) -> None:
    if where == "same":
        files[f"main/{target}.md"] += f"\n{who} saw it fail on a Monday.\n".encode()
        return
    name = f"lesson-of-{who}"
    files[f"main/{name}.md"] = memory(name, f"{who} learned to wait.", "Waiting helps.")
    listed = files[AT].decode()
    files[AT] = index.with_entry(listed, f"{name}.md", index.entry(name, f"{name}.md", "A lesson")).encode()


def _edit(files: Files, target: str, who: str, where: str) -> None:
    path = f"main/{target}.md"
    files[path] = files[path].replace(b"port 80.", f"port 80{len(who)}{ord(who[0])}.".encode())
    files[path] = files[path].replace(b"lost data once", f"lost data, says {who}".encode())


def _rename(files: Files, target: str, who: str, where: str) -> None:
    files[f"main/{target}-by-{who}.md"] = files.pop(f"main/{target}.md")
    files[AT] = files[AT].replace(f"({target}.md)".encode(), f"({target}-by-{who}.md)".encode())


def _delete(files: Files, target: str, who: str, where: str) -> None:
    del files[f"main/{target}.md"]
    files[AT] = index.without_entry(files[AT].decode(), f"{target}.md").encode()


def _reorder(files: Files, target: str, who: str, where: str) -> None:
    path = f"main/{target}.md"
    head, first, rest = files[path].decode().split("\n\n", 2)
    # Each writer has an order of its own.
    parts = [first, *rest.rstrip("\n").split("\n\n")]
    turned = parts[len(who) % 2 :: -1] + parts[len(who) % 2 + 1 :] if who == "ann" else parts[::-1]
    files[path] = ("\n\n".join([head, *turned]) + "\n").encode()
    listed = files[AT].decode().splitlines(keepends=True)
    lines = [line for line in listed if line.startswith("- ")]
    rest_of = [line for line in listed if not line.startswith("- ")]
    files[AT] = "".join([*rest_of, *(lines[::-1] if who == "ann" else lines[1:] + lines[:1])]).encode()


def _prose(files: Files, target: str, who: str, where: str) -> None:
    text = files[AT].decode()
    if where == "same":
        text = text.replace("Ask before a release.", f"Ask {who} before a release.")
    else:
        text += f"\nNote of {who}: keep this short.\n"
    files[AT] = text.encode()


_DO = {
    "add": _add,
    "edit": _edit,
    "rename": _rename,
    "delete": _delete,
    "reorder": _reorder,
    "prose": _prose,
}


def claims(files: Mapping[str, bytes]) -> frozenset[str]:
    """All that a tree says: claims of memories without their dispute marks, and the index's prose."""
    found: set[str] = set()
    for path, data in files.items():
        if kind(path) == "memory":
            found |= {claim.key for claim in parse(path, data).claims}
        elif kind(path) == "index":
            units = index.parse(data.decode())
            found |= {f"index: {unit.text.strip()}" for unit in units if not unit.target and unit.text}
    return frozenset(found)


def lost(start: Mapping[str, bytes], sides: list[Files], merged: Mapping[str, bytes]) -> set[str]:
    """Claims that a merge must have and has not.

    All that some side says must be there; but what stood in the common start and one side took out
    deliberately may go.
    """
    before, said, left = claims(start), [claims(files) for files in sides], claims(merged)
    taken_out = {claim for claim in before if any(claim not in one for one in said)}
    return set().union(*said) - taken_out - left


def is_inside_one(start: Mapping[str, bytes], sides: list[Files], path: str) -> bool:
    """Whether a conflict at a path is inside edits of one memory: at least two sides changed that one."""
    if kind(path) != "memory":
        return False
    name = PurePosixPath(path).stem.partition("-by-")[0]
    changed = [files for files in sides if _of(files, name) != _of(start, name)]
    return len(changed) > 1


def _of(files: Mapping[str, bytes], name: str) -> Files:
    """A memory wherever it stands."""
    return {
        path: data for path, data in files.items() if PurePosixPath(path).stem.partition("-by-")[0] == name
    }


def disorder(files: Mapping[str, bytes]) -> list[str]:
    """What is wrong with a tree that gitmem has tidied."""
    found = []
    listed = [unit.target for unit in index.parse(files[AT].decode()) if unit.target]
    hot = {PurePosixPath(path).name for path in files if path.startswith("main/") and path.count("/") == 1}
    standing = {name for name in hot if is_memory_file(name)}
    found += [f"{name} is not in the index" for name in sorted(standing - set(listed))]
    found += [f"the index lists {name}, which is gone" for name in sorted(set(listed) - standing)]
    found += [f"the index lists {name} twice" for name in sorted(set(listed)) if listed.count(name) > 1]
    for path, data in sorted(files.items()):
        if any(line.startswith((b"<<<<<<<", b">>>>>>>")) for line in data.splitlines()):
            found.append(f"{path} has conflict marks")
    return found
