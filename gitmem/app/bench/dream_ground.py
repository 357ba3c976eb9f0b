"""A throw-away repository in which memories arrive and dreams are made, proved and accepted as ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from gitmem.app.bench.dream_corpus import Arriving
from gitmem.core import index
from gitmem.core.errors import CheckFailed
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Fate, Provenance, parse
from gitmem.dream.review import accept, find_dream
from gitmem.engines.engine import Engine, Tell, untold
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.dream import DreamOutcome, dream
from gitmem.git.command import GitCommand
from gitmem.git.config import config_set
from gitmem.git.trees import read_files
from gitmem.ledger.land import Write, land
from gitmem.ledger.workspace import Scope, Workspace, store_project_id

SCOPE = "user"
"""The one scope that is about no code: there is none here, and nothing may be missing in it."""

_KEPT_VARIABLES = ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
_IDENTITY = {"user.name": "bench", "user.email": "bench@localhost"}


@dataclass(frozen=True)
class LandedNight:
    """What was accepted of one dream.

    Attributes:
        fates: what is said of claims, commit after commit.
        refused: why a change was not accepted, a line each.
        trees: what was remembered after each of these commits.
    """

    fates: tuple[tuple[Fate, ...], ...]
    refused: tuple[str, ...]
    trees: tuple[Mapping[str, bytes], ...]


class ThrowAway:
    """The repository; a home directory of its own keeps the person's memory and settings out of it."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        home, self._repo = folder / "home", folder / "repo"
        home.mkdir()
        kept = {name: environ[name] for name in _KEPT_VARIABLES if name in environ}
        self._environ = {
            **kept,
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "CLAUDE_CONFIG_DIR": str(home / "claude"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        git = GitCommand(self._environ)
        git.run(["init", "--quiet", "--template=", str(self._repo)])
        for key, value in _IDENTITY.items():
            config_set(git, None, key, value, git_dir=self._repo / ".git")
        self.workspace: Workspace = store_project_id(workspace_at(self.edges(0.0)))
        self.workspace.state.mkdir()
        self._who = self.workspace.author(self.edges(0.0).now)

    def edges(self, now: float) -> Edges:
        """The world of the throw-away repository at a moment."""
        return Edges(self._environ, self._repo, now)

    @property
    def scope(self) -> Scope:
        """Where the memories are."""
        return self.workspace.scope(SCOPE)

    def files(self) -> dict[str, bytes]:
        """All that is remembered."""
        tip = self.scope.repo.ref(self.scope.ref)
        return read_files(self.scope.repo, self.scope.repo.commit(tip).tree) if tip else {}

    def learn(self, arriving: Sequence[Arriving], now: float) -> dict[str, bytes]:
        """Commits new memories; one whose place was taken meanwhile gets another.

        Returns:
            path to content, as they came to stand.
        """
        here = self.files()
        fresh: dict[str, bytes] = {}
        edits: dict[str, bytes | None] = {}
        for one in arriving:
            path = _free(one.path, {*here, *fresh})
            fresh[path] = one.data
            agent, _, file = path.partition("/")
            listing = f"{agent}/{index.INDEX}"
            before = edits.get(listing) or here.get(listing, b"")
            line = one.line if path == one.path else one.line.replace(one.path.partition("/")[2], file)
            edits[listing] = encode(index.with_entry(decode(before), file, line))
        if fresh:
            write = Write(edits | fresh, "Learn", Provenance(op="add", writer="agent"))
            who = replace(self._who, time=int(now))
            land(self.scope, lambda _: write, who)
        return fresh

    def dream(self, engine: Engine, now: float, tell: Tell = untold) -> DreamOutcome:
        """Dreams; raises as `flows.dream.dream` does."""
        return dream(self.workspace, self.edges(now), scope=SCOPE, force=True, engine=engine, tell=tell)

    def accept(self, id: str, now: float) -> LandedNight:
        """Accepts a dream: the whole where it is proved, else each change that is."""
        waiting = find_dream(self.workspace, id)
        fates: list[tuple[Fate, ...]] = []
        refused: list[str] = []
        trees: list[Mapping[str, bytes]] = []
        for numbers in (None, *((change.n,) for change in waiting.changes)):
            try:
                landed = accept(self.workspace, id, numbers, self._who, now)
            except CheckFailed as error:
                refused.append(error.message)
                continue
            if landed.written:
                fates.append(parse(self.scope.repo.commit(landed.written.commit).message).claims)
                trees.append(self.files())
            if landed.closed:
                break
        return LandedNight(tuple(fates), tuple(refused), tuple(trees))

    def close(self) -> None:
        """Lets go of the repositories."""
        self.workspace.close()


def _free(path: str, taken: set[str]) -> str:
    pure = PurePosixPath(path)
    number = 1
    while path in taken:
        number += 1
        path = str(pure.with_name(f"{pure.stem}-{number}{pure.suffix}"))
    return path
