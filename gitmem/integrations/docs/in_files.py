"""Symbols that a document tells of together with their file: whether that file has them still."""

from __future__ import annotations

import re

from gitmem.docs.check import Outcome
from gitmem.docs.document import Doc
from gitmem.docs.places import Places
from gitmem.docs.statements import Statement
from gitmem.integrations.docs.git_reader import Ground, is_prose

DOTTED = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)+")


def module_of(places: Places, one: Statement) -> tuple[str, str]:
    """The file that a dotted name or its beginning means, and the rest of the name."""
    name, _, last = one.name.rpartition(".")
    if file := places.module(one.name):
        return file, ""
    if "." in name and (file := places.module(name)):
        return file, last
    return "", ""


def file_of(places: Places, doc: Doc, one: Statement) -> str:
    """The one file of code that a document says a symbol is in; empty where it names none, or more.

    It says so by a dotted name, or by a line that names one file.
    """
    if one.kind != "symbol":
        return ""
    if DOTTED.fullmatch(one.name):
        file, rest = module_of(places, one)
        return file if rest else ""
    targets = {other.target for other in doc.statements if (other.line, other.kind) == (one.line, "file")}
    meant = places.meant(targets.pop(), doc.path.rpartition("/")[0]) if len(targets) == 1 else ()
    return meant[0] if len(meant) == 1 and meant[0] in places.files and not is_prose(meant[0]) else ""


def lacks(ground: Ground, places: Places, file: str, one: Statement) -> bool:
    """Whether a file is at hand and does not so much as mention a symbol."""
    text = ground.text(places.files[file])
    return bool(text.strip()) and not re.search(rf"(?<!\w){re.escape(one.parts[-1])}(?!\w)", text)


def defines(ground: Ground, places: Places, file: str, one: Statement) -> bool:
    """Whether a file brings a symbol into being."""
    oid = places.files.get(file, "")
    return bool(oid) and ground.words({file: oid}, one.parts[-1:], defined=True)[0] == {one.parts[-1]}


def elsewhere(ground: Ground, here: Places, file: str, one: Statement) -> Outcome:
    """What became of a symbol that its file has no longer: in the one file that defines it, if any."""
    code = {path: oid for path, oid in here.files.items() if not here.is_aside(path)}
    having = ground.defining(code, one.parts[-1])
    return Outcome(
        "moved" if len(having) == 1 else "gone", having[0] if len(having) == 1 else "", out_of=file
    )
