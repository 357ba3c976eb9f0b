"""Commands that code defines: targets of make, scripts of npm, console scripts and their words."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress

DEFINING = frozenset({"Makefile", "makefile", "GNUmakefile", "package.json", "pyproject.toml", "setup.cfg"})
"""Names of files that define commands."""

_VERB_FILE = re.compile(r"(?:^|/)(?:cli|cmds?|commands?|verbs?)/([\w-]+)\.\w+$")
_QUOTED = re.compile(rb"[\"']([a-z][a-z0-9:_-]*)[\"']")
_FUNCTION = re.compile(rb"\b(?:def|fn|func|function) +([a-z][a-z0-9_]*?)_?\b")
_TARGET = re.compile(r"(?m)^([A-Za-z0-9][\w./ -]*?)[ \t]*:(?!=)")
_ENTRY = re.compile(r"(?m)^[ \t]+([\w.-]+)[ \t]*=[ \t]*([\w.]+:[\w.]+)[ \t\r]*$")


def defined(files: Mapping[str, str]) -> dict[tuple[str, ...], str]:
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


def renamed(
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


def of_files(paths: Iterable[str]) -> dict[str, str]:
    """The words of programs that have a file each, by the name of its folder, to that file."""
    return {match[1]: path for path in paths if (match := _VERB_FILE.search(path))}


def beside(paths: Iterable[str], file: str) -> tuple[str, ...]:
    """Files that may give a program the words that `file` gave it: those of its folder, and just above."""
    folder = file.rpartition("/")[0]
    above = folder.rpartition("/")[0]
    return tuple(
        path for path in paths if path.startswith(f"{folder}/") or path.rpartition("/")[0] == above
    )


def given_words(code: bytes) -> set[str]:
    """Which words some code may give to a program: in quotes, or as functions of their own."""
    return {word.decode() for pattern in (_QUOTED, _FUNCTION) for word in pattern.findall(code)}
