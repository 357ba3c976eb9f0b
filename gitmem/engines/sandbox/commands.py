"""The commands that a model may run: small readings of files and folders."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gitmem.engines.sandbox.bash_command import Command, Run
from gitmem.engines.sandbox.bash_find import find
from gitmem.engines.sandbox.bash_grep import grep
from gitmem.engines.sandbox.bash_options import Given, Spec, number, read_options
from gitmem.engines.sandbox.bash_parse import Word
from gitmem.engines.sandbox.budget import Problem

_LS = Spec("aA1lRdhFp", long={"all": "a", "almost-all": "A", "recursive": "R", "directory": "d"})
_CAT = Spec("n", long={"number": "n"})
_WC = Spec("lwcm", long={"lines": "l", "words": "w", "bytes": "c", "chars": "m"})
_ENDS = Spec("qv", "nc", {"lines": "n", "bytes": "c", "quiet": "q", "silent": "q", "verbose": "v"}, "n")
_TEN = "10"


def ls(run: Run, words: tuple[Word, ...]) -> str:
    """Lists folders; sizes with `-l`, no owners and no times."""
    given = read_options(run.name, _LS, words)
    named = tuple(run.operands(given.operands)) or (".",)
    files: list[str] = []
    folders: list[str] = []
    for path in named:
        plain = run.view.resolve(path)
        if run.view.is_folder(plain) and not given.has("d"):
            folders += [path] if not given.has("R") else _below(run, path)
        elif run.view.is_file(plain) or run.view.is_folder(plain):
            files.append(_entry(run, path, plain, given))
        else:
            run.complain(Problem(f"{path}: no such file or folder"))
    parts = ["".join(files)] if files else []
    for path in folders:
        heading = f"{path}:\n" if len(folders) > 1 or files else ""
        parts.append(heading + "".join(_listed(run, path, given)))
    return "\n".join(parts)


def _below(run: Run, path: str) -> list[str]:
    top = run.view.resolve(path)
    found = (plain for plain in run.view.walk(top) if run.view.is_folder(plain))
    return [path.rstrip("/") + plain[len(top) :] if top else _under(path, plain) for plain in found]


def _under(path: str, plain: str) -> str:
    return f"{path.rstrip('/')}/{plain}" if plain else path


def _listed(run: Run, path: str, given: Given) -> Iterator[str]:
    folder = run.view.resolve(path)
    for name in run.view.children(folder):
        if name[0] != "." or given.has("aA"):
            yield _entry(run, name, f"{folder}/{name}" if folder else name, given)


def _entry(run: Run, shown: str, plain: str, given: Given) -> str:
    folder = run.view.is_folder(plain)
    mark = "/" if folder and given.has("Fp") and not shown.endswith("/") else ""
    if not given.has("l"):
        return f"{shown}{mark}\n"
    size = None if folder else run.view.size(plain)
    return f"{'d' if folder else '-'} {'-' if size is None else size:>9} {shown}{mark}\n"


def cat(run: Run, words: tuple[Word, ...]) -> str:
    """Shows files whole."""
    given = read_options(run.name, _CAT, words)
    text = "".join(text for _, text in run.files(given))
    if given.has("n"):
        lines = text.splitlines(keepends=True)
        return "".join(f"{at:6}\t{line}" for at, line in enumerate(lines, start=1))
    return text


def wc(run: Run, words: tuple[Word, ...]) -> str:
    """Counts lines, words, bytes."""
    given = read_options(run.name, _WC, words)
    shown = [letter for letter in "lwmc" if given.has(letter)] or ["l", "w", "c"]
    total = dict.fromkeys("lwmc", 0)
    lines = []
    for path, text in run.files(given):
        counts = {
            "l": text.count("\n"),
            "w": len(text.split()),
            "m": len(text),
            "c": len(text.encode("utf-8", "replace")),
        }
        total = {letter: total[letter] + counts[letter] for letter in total}
        lines.append(_counted(counts, shown, "" if path == "-" else path))
    if len(lines) > 1:
        lines.append(_counted(total, shown, "total"))
    return "".join(lines)


def _counted(counts: dict[str, int], shown: list[str], name: str) -> str:
    return " ".join(f"{counts[letter]:7}" for letter in shown) + f" {name}".rstrip() + "\n"


def ends(run: Run, words: tuple[Word, ...], *, first: bool) -> str:
    """Shows the first or the last lines, or characters, of files."""
    given = read_options(run.name, _ENDS, words)
    unit = "c" if given.has("c") else "n"
    wanted = given.last(unit) or _TEN
    count = number(run.name, wanted, "+-")
    shown = list(run.files(given))
    parts = []
    for path, text in shown:
        units = list(text) if unit == "c" else text.splitlines(keepends=True)
        if first:
            kept = units[: max(0, len(units) - count)] if wanted[0] == "-" else units[:count]
        elif wanted[0] == "+":
            kept = units[max(0, count - 1) :]
        else:
            kept = units[max(0, len(units) - count) :]
        named = given.has("v") or (len(shown) > 1 and not given.has("q"))
        parts.append((f"==> {path} <==\n" if named else "") + "".join(kept))
    return "\n".join(parts) if len(parts) > 1 and not given.has("q") else "".join(parts)


def stat(run: Run, words: tuple[Word, ...]) -> str:
    """Tells what a path is and how large; there are no times and owners here."""
    given = read_options(run.name, Spec(), words)
    lines = []
    for path in run.operands(given.operands):
        plain = run.view.resolve(path)
        if run.view.is_folder(plain):
            lines.append(f"  File: {path}\n  Type: folder of {len(run.view.children(plain))}\n")
            continue
        try:
            size = len(run.view.data(plain))
        except Problem as problem:
            run.complain(problem)
            continue
        lines.append(f"  File: {path}\n  Type: file\n  Size: {size}\n")
    return "".join(lines)


COMMANDS: dict[str, Command] = {
    "cat": cat,
    "find": find,
    "grep": grep,
    "head": partial(ends, first=True),
    "ls": ls,
    "stat": stat,
    "tail": partial(ends, first=False),
    "wc": wc,
}
