"""Edit and Write: the memory alone, in memory alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import parse, problems
from gitmem.core.names import collision_key, is_memory_file
from gitmem.engines.sandbox.budget import Problem, Refusal
from gitmem.engines.sandbox.view import MEMORY, View
from gitmem.rules.paths import check_path
from gitmem.store.workspace import SCOPES

CHANGED_FILES = 50
"""Memories that one run may touch: what a conversation teaches is a handful."""


@dataclass(frozen=True)
class Writable:
    """What may be written.

    Attributes:
        agents: folder names of those whose memories these are.
        scopes: names of the scopes that they are in.
        files: how many memories one run may touch.
        only: the one file, `<scope>/<agent>/<name>.md`, that may be written, whatever its form, and not be
            taken out; empty for any memory of these.
        size: bytes of one file, at most.
    """

    agents: Collection[str] = ("main",)
    scopes: Collection[str] = SCOPES
    files: int = CHANGED_FILES
    only: str = ""
    size: int = MEMORY_BYTES


class Writer:
    """Changes memories.

    Args:
        may: whose, and how many.
    """

    def __init__(self, view: View, may: Writable) -> None:
        self._view = view
        self._may = may
        self._touched: set[str] = set()
        self.read: set[str] = set()

    def edit(self, path: object, old: object, new: object, replace_all: bool) -> str:
        """Replaces a text in a memory.

        Returns:
            what was done, for the model.

        Raises:
            Problem: the text is not there, or more than once, or the file was not read before.
            Refusal: it may not be written.
        """
        plain = self._writable(path)
        before, after = _text(old, "old_string"), _text(new, "new_string")
        if not self._view.is_file(plain):
            raise Problem(f"{plain} does not exist; use Write to make it")
        if plain not in self.read:
            raise Problem(f"read {plain} before you change it")
        if before == after or not before:
            raise Problem("old_string is empty, or the same as new_string")
        whole = self._whole(plain)
        if "\r\n" in whole and "\r\n" not in before:
            before, after = before.replace("\n", "\r\n"), after.replace("\n", "\r\n")
        count = whole.count(before)
        if not count:
            raise Problem(f"old_string is not in {plain}; it must be there letter by letter")
        if count > 1 and not replace_all:
            raise Problem(f"old_string is in {plain} {count} times: give more of it, or set replace_all")
        if len(whole) + count * (len(after) - len(before)) > self._may.size:
            raise Refusal(f"{plain} would be larger than {self._may.size:,} bytes")
        return self._put(plain, whole.replace(before, after))

    def write(self, path: object, content: object) -> str:
        """Makes a memory or replaces it whole; a blank content takes it out.

        Returns:
            what was done, for the model.

        Raises:
            Problem: one that exists was not read before.
            Refusal: it may not be written.
        """
        plain = self._writable(path)
        text = _text(content, "content")
        if self._view.is_file(plain) and plain not in self.read:
            raise Problem(f"{plain} exists: read it first, then Edit it")
        if not self._view.is_file(plain):
            self._check_new(plain)
            if not text.strip():
                raise Problem("the content is empty")
        return self._put(plain, text)

    def _whole(self, path: str) -> str:
        try:
            return self._view.data(path).decode("utf-8")
        except UnicodeDecodeError:
            raise Refusal(f"{path} is not UTF-8: a person has to put it right first") from None

    def _writable(self, given: object) -> str:
        path = self._view.resolve(given)
        if not path.startswith(f"{MEMORY}/"):
            raise Refusal(f"only files in memory/ can be written, and {path or 'that'} is none")
        if ".." in str(given).split("/"):
            raise Refusal("a path that is written to holds no `..`")
        reason = check_path(path.removeprefix(f"{MEMORY}/"))
        if reason is not None:
            raise Refusal(f"{path!a} cannot be written: {reason}")
        if self._may.only and path != f"{MEMORY}/{self._may.only}":
            raise Refusal(f"{path!a} cannot be written: only {MEMORY}/{self._may.only} is")
        scope, agent, *file = [*path.split("/")[1:], "", ""]
        own = f"memory/{_either(self._may.scopes)}/{_either(self._may.agents)}/<name>.md"
        if (
            scope not in self._may.scopes
            or agent not in self._may.agents
            or file[1:] != ["", ""]
            or not is_memory_file(file[0])
        ):
            raise Refusal(f"{path!a} cannot be written: memories are {own}; indexes are made by gitmem")
        return path

    def _check_new(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        key = collision_key(name)
        for known in self._view.children(folder):
            if collision_key(known) == key:
                raise Refusal(f"{path} would be the same file as {known} on some systems: edit that one")

    def _put(self, path: str, text: str) -> str:
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError:
            raise Refusal("the content is no Unicode text") from None
        if len(data) > self._may.size:
            raise Refusal(f"{path} would be larger than {self._may.size:,} bytes")
        if len(self._touched | {path}) > self._may.files:
            raise Refusal(f"more than {self._may.files} memories cannot be changed in one go")
        self._touched.add(path)
        if not text.strip():
            if self._may.only:
                raise Refusal(f"{path} cannot be deleted")
            self._view.put(path, None)
            return f"{path} is deleted."
        new = not self._view.is_file(path)
        self._view.put(path, data)
        self.read.add(path)
        wrong = () if self._may.only else problems(parse(path, data))
        note = f" Put right: {', '.join(wrong)}." if wrong else ""
        return f"{path} is {'written' if new else 'changed'}.{note}"


def _either(names: Collection[str]) -> str:
    return next(iter(names)) if len(names) == 1 else f"<{'|'.join(names)}>"


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise Refusal(f"{name} is text")
    if any(char < " " and char not in "\n\t\r" for char in value) or "\x7f" in value:
        raise Refusal(f"{name} holds control characters")
    return value
