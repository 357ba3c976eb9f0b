"""Reads commits, and what is staged, for checks of documents: listings, blobs, and the words in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from gitmem.core.errors import GitmemError, RepositoryError
from gitmem.docs import commands, hunks
from gitmem.docs.places import Places
from gitmem.integrations.code_looks import PROSE, Looker
from gitmem.store.git import GitCommand, layout
from gitmem.store.git_backend import ObjectReader
from gitmem.store.repository import MissingObject

STAGED = ":"
"""Stands for what is staged, in the place of a revision."""

SECONDS = 60.0
"""For all questions of one check that git could take longer for."""

MOST_FILE_BYTES = 4 << 20
"""Size of a file in which words are sought."""

FEW = 20

_TOKEN = re.compile(rb"--[a-z][a-z0-9]*(?:-[a-z0-9]+)*|[A-Za-z_\x80-\xff][\w\x80-\xff]*")


class Ground:
    """One repository while documents are checked; `close` ends its process.

    Args:
        top: top of the work tree, or a bare repository.
        index: the index file of what is staged; None for the usual one.
        seconds: for what git could take long for.
    """

    def __init__(
        self, git: GitCommand, top: Path, index: str | None = None, seconds: float = SECONDS
    ) -> None:
        self.git = replace(git, fetches=False)
        self.top = top
        self.look = Looker(self.git, top, seconds)
        self._index = {"GIT_INDEX_FILE": index} if index else None
        where = layout(self.git, top)
        self._common = where.common_dir
        self._reader = ObjectReader(
            self.git, where.common_dir, 64 if where.object_format == "sha256" else 40
        )
        self._places: dict[str, Places] = {}
        self.worktree = where.worktree
        self.complete = True

    def close(self) -> None:
        """Ends what was started."""
        self._reader.close()

    @property
    def shallow(self) -> bool:
        """Whether the history is cut off somewhere."""
        try:
            return (self._common / "shallow").stat().st_size > 0
        except OSError:
            return False

    def commit(self, rev: str) -> str:
        """The commit whose history counts for a revision; empty before the first.

        Raises:
            RepositoryError: there is no such revision.
        """
        name = "HEAD" if rev == STAGED else rev
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        result = self.git.run(words, cwd=self.top, check=False)
        if result.returncode and rev not in (STAGED, "HEAD"):
            raise RepositoryError(f"There is no commit {rev}", "git log shows those that there are.")
        return "" if result.returncode else result.text.strip()

    def places(self, rev: str) -> Places:
        """The files of a commit, or those that are staged."""
        if rev not in self._places:
            self._places[rev] = self._staged() if rev == STAGED else self._listed(rev)
        return self._places[rev]

    def _listed(self, rev: str) -> Places:
        rows = self.git.run(["ls-tree", "-r", "-z", "--full-tree", rev], cwd=self.top).text.split("\0")
        return _places(
            (about.split(" ")[0], about.split(" ")[2], path)
            for row in rows
            if (about := row.partition("\t")[0]) and (path := row.partition("\t")[2])
        )

    def _staged(self) -> Places:
        words = ["ls-files", "-s", "-z", "--full-name", ":/"]
        rows = self.git.run(words, cwd=self.top, env=self._index).text.split("\0")
        return _places(
            (about.split(" ")[0], about.split(" ")[1], path)
            for row in rows
            if (about := row.partition("\t")[0]) and (path := row.partition("\t")[2])
        )

    def having(self, rev: str, text: str, suffixes: Collection[str]) -> tuple[str, ...]:
        """Files with some suffixes that have a text."""
        which = ["--cached"] if rev == STAGED else [rev]
        names = [f":(top,icase)*.{suffix}" for suffix in suffixes]
        words = ["grep", "-a", "-l", "-z", "-F", "--full-name", "--no-color"]
        words += ["--no-recurse-submodules", "-e", text]
        result = self.git.run([*words, *which, "--", *names], cwd=self.top, check=False, env=self._index)
        if result.stderr:  # a partial clone may lack some of them
            self.complete = False
        begin = "" if rev == STAGED else f"{rev}:"
        return tuple(sorted(path.removeprefix(begin) for path in result.text.split("\0") if path))

    def staged_changes(self) -> tuple[dict[str, str], str]:
        """Renames that are staged, by git's own reckoning, and the patch of all that is."""
        words = ["--no-ext-diff", "--no-color", "-M", "HEAD"]
        begin = ["-c", "diff.noprefix=false", "diff-index", "--cached"]
        raw = self.git.run(
            [*begin, "-z", "--diff-filter=R", "--name-status", "--no-rename-empty", *words],
            cwd=self.top,
            env=self._index,
            check=False,
        )
        patch = self.git.run(
            [*begin, "-p", "-U0", "--no-textconv", *words], cwd=self.top, env=self._index, check=False
        )
        return pairs(raw.text), patch.stdout.decode("utf-8", "replace")

    def blob(self, oid: str) -> bytes:
        """A file's content; nothing where it is not at hand, as in a partial clone."""
        try:
            return self._reader.read(oid)[1]
        except (MissingObject, GitmemError):
            self.complete = False
            return b""

    def text(self, oid: str) -> str:
        """A file's content as text."""
        return self.blob(oid).decode("utf-8", "replace")

    def words(
        self,
        files: Mapping[str, str],
        words: Collection[str],
        verbs: Collection[str] = (),
        *,
        defined: bool = False,
    ) -> tuple[set[str], set[str]]:
        """Seeks words in files of code, until all are found.

        Args:
            files: path to object; what tells of code and is none is passed over.
            words: identifiers and flags.
            verbs: words that a program is given, sought outside of tests.
            defined: whether a word counts only where a line brings it into being.

        Returns:
            Which words and which verbs were found.
        """
        sought, unsaid = {word.encode() for word in words}, set(verbs)
        for path, oid in files.items():
            if not sought and not unsaid:
                break
            if is_prose(path):
                continue
            data = self.blob(oid)
            if len(data) > MOST_FILE_BYTES or b"\0" in data[:8000]:
                continue
            # To seek a few is quicker than to cut the file into words.
            if len(sought) > FEW or any(word in data for word in sought):
                found = sought.intersection(_TOKEN.findall(data))
                sought -= {word for word in found if not defined or _defines(data, word.decode())}
            if unsaid and not _TESTS.search(path):
                unsaid -= commands.given_words(data)
        return {word for word in words if word.encode() not in sought}, set(verbs) - unsaid

    def defining(self, files: Mapping[str, str], word: str) -> tuple[str, ...]:
        """The files of code, none of them a test, that bring a name into being."""
        return tuple(
            path
            for path, oid in files.items()
            if not _TESTS.search(path) and self.words({path: oid}, [word], defined=True)[0]
        )


_TESTS = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|fixtures?|testdata)/|(?:^|/)test_[^/]*$|[._]test\.\w+$"
)


def _defines(data: bytes, word: str) -> bool:
    lines = data.decode("utf-8", "replace").split("\n")
    return any(word in line and hunks.defines(line, word) for line in lines)


def is_prose(path: str) -> bool:
    """Whether a file tells of code and is none, by its name."""
    return path.rpartition(".")[2].lower() in PROSE


def pairs(text: str) -> dict[str, str]:
    """Reads `--name-status -z` of renames."""
    fields = iter(text.split("\0"))
    found = {}
    for field in fields:
        if re.fullmatch(r"R\d{3}", field.strip("\n")):
            old, now = next(fields, ""), next(fields, "")
            found[old] = now
    return found


def _places(rows: Iterator[tuple[str, str, str]]) -> Places:
    files: dict[str, str] = {}
    closed: list[str] = []
    for mode, oid, path in rows:
        if mode in ("120000", "160000"):
            closed.append(path)
        else:
            files[path] = oid
    return Places(files, closed)
