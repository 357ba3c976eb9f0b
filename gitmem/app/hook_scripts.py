"""The text of the installed git hooks: shipped sh templates with this installation's paths filled in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import gitmem
from gitmem.core.errors import RepositoryError

BEGIN = b"# >>> gitmem >>>"
END = b"# <<< gitmem <<<"
SHEBANG = b"#!/bin/sh\n"
# In a file that gitmem made, and in one that stands before a hook kept aside: what removal may do with it.
MADE = b"# This file is gitmem's: `git mem uninstall` removes it."
KEPT = b"# This file is gitmem's: `git mem uninstall` puts the hook that was here back."

EVENTS = {
    "post-commit": "commit",
    "post-merge": "merge",
    "post-checkout": "checkout",
    "post-rewrite": "rewrite",
    "pre-push": "",
}
BESIDE_HOOKS = '"${0%/*}/../gitmem"'
INSIDE_STATE = '"${0%/*}/.."'

_FENCE = re.compile(
    rb"^" + re.escape(BEGIN) + rb"[^\n]*\n.*?^" + re.escape(END) + rb"[^\n]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PROGRAM = re.compile(rb"\[ -x ((?:'[^'\n]*'|\"'\"|[^\s'\"])+) \]")
# Shells that read the same script the same way; anything else is kept aside instead of edited.
_SH = re.compile(
    rb"#![ \t]*(?:/\S*/)?(?:env[ \t]+)?(?:/\S*/)?(?:sh|bash|dash|ash|ksh|zsh)(?:[ \t]+-[a-z]+)*[ \t]*\n"
)


def hooks_folder() -> Path:
    """The folder of shipped scripts: inside an installed package, beside it in a checkout."""
    package = Path(gitmem.__file__).parent
    inside = package / "_hooks"
    return inside if inside.is_dir() else package.parent / "hooks"


def fence(hook: str, argv: Sequence[str], kept: bool = False, made: bool = False) -> bytes:
    """Renders the block that stands in `<common git dir>/hooks/<hook>`.

    Args:
        hook: git's name of the hook.
        argv: the words that start gitmem; the first is an absolute path.
        kept: the hook that was there before stands aside and is run at the end.
        made: nothing was there before.
    """
    lines = [BEGIN, KEPT if kept else MADE if made else b"", _body(hook, argv, BESIDE_HOOKS)]
    if kept:
        lines.append(_template("git-kept.sh").replace("@HOOK@", hook).encode().rstrip(b"\n"))
    return b"\n".join([line for line in lines if line] + [END, b""])


def script(hook: str, argv: Sequence[str]) -> bytes:
    """Renders the free-standing script in `<common git dir>/gitmem/hooks/<hook>`, for git's own hook
    configuration and for a line in another tool's hook."""
    return SHEBANG + _body(hook, argv, INSIDE_STATE) + b"\n"


def program(data: bytes) -> Path | None:
    """The program that a script or block of ours starts; None where it names none, as for pushes."""
    found = _PROGRAM.search(data)
    words = shlex.split(found[1].decode(errors="surrogateescape")) if found else []
    return Path(words[0]) if len(words) == 1 else None


def is_sh(data: bytes) -> bool:
    """Whether a hook is a shell script that a block can be put into."""
    return _SH.match(data) is not None and b"\0" not in data and b"\r" not in data[: data.index(b"\n") + 1]


def has_fence(data: bytes) -> bool:
    """Whether the file holds a whole block of ours, or a stray mark of one."""
    return BEGIN in data or END in data


def with_fence(data: bytes, block: bytes) -> bytes:
    """Puts the block where one already stands, else right below the first line.

    Above the rest of the script it runs whatever that does: `exit`, `exec` or `cd`.
    """
    without = without_fence(data)
    found = _FENCE.search(data)
    at = found.start() if found else without.index(b"\n") + 1
    return without[:at] + block + without[at:]


def without_fence(data: bytes) -> bytes:
    """The file without our blocks."""
    return _FENCE.sub(b"", data)


def blocks(data: bytes) -> list[bytes]:
    """Our whole blocks in the file."""
    return [found.group() for found in _FENCE.finditer(data)]


def _body(hook: str, argv: Sequence[str], state: str) -> bytes:
    if not argv or not Path(argv[0]).is_absolute():
        raise RepositoryError(
            f"a git hook cannot start gitmem as {shlex.join(argv)!r}: it needs an absolute path",
            "Run `git mem init` with the gitmem of an installed environment.",
        )
    names = ["git-pre-push.sh"] if hook == "pre-push" else ["git-post.sh"]
    if hook == "post-rewrite":
        names.insert(0, "git-rewrite-stdin.sh")
    text = "".join(_template(name) for name in names)
    filled = {
        "@STATE@": state,
        "@EVENT@": EVENTS[hook],
        "@PROGRAM@": shlex.quote(argv[0]),
        "@COMMAND@": shlex.join(argv),
    }
    return (
        re.sub("@[A-Z]+@", lambda found: filled[found.group()], text)
        .encode(errors="surrogateescape")
        .rstrip(b"\n")
    )


@cache
def _template(name: str) -> str:
    path = hooks_folder() / name
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RepositoryError(
            f"{path}: a script that gitmem installs is missing ({error.strerror})", "Install gitmem again."
        ) from error
