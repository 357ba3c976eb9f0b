"""Whether what was taught on a commit of the code holds for the one checked out: the decision, without git.

A memory that was learned on a branch describes code that other branches do not have. It is told where its
commit is, or where an equal change is: squashed, rebased or picked, found by what it changes. Whatever
cannot be decided is told: a memory that is hidden by mistake is missed by nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitmem.values import dataclass

Change = Mapping[str, tuple[str, str]]
"""What a commit changes: path to the blobs before and after."""

Lines = Mapping[str, tuple[str, ...]]
"""The same in lines: header of a file's patch to its lines that go and come, in order."""


@dataclass(frozen=True)
class Sight:
    """What is seen of a code commit from HEAD.

    Attributes:
        here: whether the object is there at all.
        ancestor: of HEAD; None where that could not be found out.
        holder: a ref that has it, or a commit equal to it; empty where none has.
        equal: whether HEAD has an equal change; None where that could not be found out.
    """

    here: bool = False
    ancestor: bool | None = None
    holder: str = ""
    equal: bool | None = None


def is_told(sight: Sight) -> bool:
    """Whether memory that was taught on a commit is told where it is seen so."""
    return not sight.here or sight.ancestor is not False or not sight.holder or sight.equal is not False


def branch(holder: str) -> str:
    """A ref as a person names it: `refs/remotes/origin/x` is `origin/x`."""
    for family in ("refs/heads/", "refs/remotes/", "refs/tags/", "refs/"):
        if holder.startswith(family):
            return holder.removeprefix(family)
    return holder


def same_files(one: Change, other: Change) -> bool:
    """Whether two changes touch the same files: where not, neither can be the other."""
    return one.keys() == other.keys()


def same_blobs(one: Change, other: Change) -> bool:
    """Whether two changes turn the same files from the same contents into the same."""
    return dict(one) == dict(other)


def read_changes(output: bytes) -> Sequence[Change]:
    """Reads `git diff-tree --stdin --always -r -z --raw`: a change for each line of its input."""
    found: list[dict[str, tuple[str, str]]] = []
    fields = iter(output.decode("utf-8", "surrogateescape").split("\0"))
    for word in fields:
        if word.startswith(":"):
            _, _, old, new, *_ = word.split(" ")
            found[-1][next(fields)] = old, new
        elif _is_name(word):
            found.append({})
    return found


def read_lines(output: bytes) -> Sequence[Lines]:
    """Reads `git diff-tree --stdin --always -p -U0`: a patch for each line of its input.

    Where in a file something changes is left out, for above it other lines may have come.
    """
    found: list[dict[str, tuple[str, ...]]] = []
    header = ""
    for line in output.decode("utf-8", "surrogateescape").split("\n"):
        if _is_name(line):
            found.append({})
        elif line.startswith("diff --git "):
            header = line
            found[-1][header] = ()
        elif line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- ")):
            found[-1][header] += (line,)
    return found


def _is_name(word: str) -> bool:
    return len(word) in (40, 64) and not word.strip("0123456789abcdef")
