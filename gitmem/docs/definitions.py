"""What files define that a document can name: commands (of make, npm, console scripts) and headings."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from gitmem.core.references import without_fences

DEFINING = frozenset({"Makefile", "makefile", "GNUmakefile", "package.json", "pyproject.toml", "setup.cfg"})
"""Names of files that define commands."""

LONGEST_HEADING = 400
"""Characters of a heading, or of a tag with an anchor, that are read."""

_VERB_FILE = re.compile(r"(?:^|/)(?:cli|cmds?|commands?|verbs?)/([\w-]+)\.\w+$")
_TARGET = re.compile(r"(?m)^([A-Za-z0-9][\w./ -]*?)[ \t]*:(?!=)")
_ENTRY = re.compile(r"(?m)^[ \t]+([\w.-]+)[ \t]*=[ \t]*([\w.]+:[\w.]+)[ \t\r]*$")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t](.*)")
_LINE = re.compile(r" {0,3}(?:=+|-+)[ \t\r]*")
_OTHER = re.compile(r" {0,3}[#>|-]")
_SET = re.compile(r"(?:<a\b[^<>]{0,400}?\b(?:name|id)|\bid)=[\"']?([^\"'>\s]{1,400})|\{#([^{}\s]{1,400})\}")


def commands(files: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    """Reads what commands some files define.

    Args:
        files: path to text; only those whose name is in `DEFINING` count.

    Returns:
        Words of each command, `("make", "test")` or `("name",)` for a console script, to what it runs.
    """
    found: dict[tuple[str, ...], str] = {}
    for path, text in files.items():
        name = path.rpartition("/")[2]
        if name.lower().endswith("makefile"):
            for match in _TARGET.finditer(text):
                found |= {
                    ("make", one): text[match.end() :].partition("\n\n")[0] for one in match[1].split()
                }
        with suppress(ValueError, TypeError, AttributeError, KeyError, RecursionError):
            if name == "package.json":
                found |= _npm(json.loads(text))
            elif name == "pyproject.toml":
                project = tomllib.loads(text)
                poetry = project.get("tool", {}).get("poetry", {}).get("scripts", {})
                scripts = project.get("project", {}).get("scripts", {}) | poetry
                found |= {(str(one),): str(runs) for one, runs in scripts.items()}
            elif name == "setup.cfg":
                found |= {
                    (one,): runs for one, runs in _ENTRY.findall(text.partition("console_scripts")[2])
                }
    return found


def _npm(package: dict[str, object]) -> dict[tuple[str, ...], str]:
    scripts, programs = package.get("scripts"), package.get("bin")
    found: dict[tuple[str, ...], str] = {}
    if isinstance(scripts, dict):
        found |= {("npm", str(one)): str(runs) for one, runs in scripts.items()}
    if isinstance(programs, dict):
        found |= {(str(one),): str(runs) for one, runs in programs.items()}
    elif isinstance(programs, str):
        found[(str(package["name"]).rpartition("/")[2],)] = programs
    return found


def command_renamed(
    words: tuple[str, ...], before: Mapping[tuple[str, ...], str], now: Mapping[tuple[str, ...], str]
) -> tuple[str, ...]:
    """The only new command of that kind that runs what an old one ran; empty where there is none."""
    alike = [
        other
        for other, runs in now.items()
        if other not in before
        and len(other) == len(words)
        and other[:-1] == words[:-1]
        and runs == before[words]
    ]
    return alike[0] if len(alike) == 1 and before[words].strip() else ()


def verb_files(paths: Iterable[str]) -> dict[str, str]:
    """The words of programs that have a file each, by the name of its folder, to that file."""
    return {match[1]: path for path in paths if (match := _VERB_FILE.search(path))}


def beside(paths: Iterable[str], file: str) -> tuple[str, ...]:
    """Files that may give a program the words that `file` gave it: those of its folder, and just above."""
    folder = file.rpartition("/")[0]
    above = folder.rpartition("/")[0]
    return tuple(
        path for path in paths if path.startswith(f"{folder}/") or path.rpartition("/")[0] == above
    )


def anchors(text: str) -> tuple[str, ...]:
    """The anchors of a text in their order, as GitHub makes them; a second one alike ends in `-1`."""
    found: dict[str, int] = {}
    for title in _titles(without_fences(text)):
        slug = name = _slug(title[:LONGEST_HEADING])
        while name in found:
            found[slug] += 1
            name = f"{slug}-{found[slug]}"
        found[name] = 0
    return (*found, *(one or other for one, other in _SET.findall(text)))


def _titles(plain: str) -> Iterator[str]:
    """What stands behind `#`, or above a line of `=` or `-`. Line by line, so that no text takes long."""
    above = ""
    for line in plain.split("\n"):
        if heading := _HEADING.match(line):
            title = heading[1].strip()
            if title := title.rstrip("#").rstrip() or title:
                yield title
        elif above.strip() and _LINE.fullmatch(line) and not _OTHER.match(above):
            yield above.strip()
        above = line


def heading_renamed(before: str, now: str, anchor: str) -> str:
    """What a heading is called now that is gone: the only new one, at the same place; else empty."""
    then, new = anchors(before), anchors(now)
    gone, come = set(then) - set(new), set(new) - set(then)
    if gone != {anchor} or len(come) != 1 or len(then) != len(new):
        return ""
    found = come.pop()
    return found if then.index(anchor) == new.index(found) else ""


def _slug(title: str) -> str:
    plain = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", title)
    plain = re.sub(r"[^\w\- ]", "", plain.strip().lower())
    return plain.replace(" ", "-")
