"""People who share memory: a machine each, with a clone of one bare repository and gitmem on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from git_config import GIT_CONFIG
from machines import Machine, begin

PROJECT = "refs/heads/gitmem/project"


class Team:
    """A bare repository, and whoever clones it.

    Attributes:
        bare: the repository, below the folder that a server may serve.
        folder: empty, and the same path for each test, so that a state can be put back.
    """

    def __init__(
        self,
        folder: Path,
        git: Callable[..., str],
        patch: pytest.MonkeyPatch,
        capture: pytest.CaptureFixture[str],
    ) -> None:
        self.folder, self.git, self.patch, self.capture = folder, git, patch, capture
        self.served = folder / "served"
        self.bare = self.served / "team.git"
        begin(folder, "served", self._seed, patch, capture)

    def _seed(self) -> tuple[()]:
        self.served.mkdir()
        seed = self.folder / "seed"
        self.git("init", "-q", seed)
        (seed / "README").write_text("code\n")
        self.git("-C", seed, "add", "README")
        self.git("-C", seed, "commit", "-q", "-m", "first")
        self.git("clone", "-q", "--bare", seed, self.bare)
        return ()

    def people(self, **modes: str) -> list[Machine]:
        """Machines as `person` makes them, by name and mode of sharing; a test's first step."""
        what = "-".join(f"{who}-{mode}" for who, mode in modes.items())
        make = lambda: [self.person(who, mode=mode) for who, mode in modes.items()]  # noqa: E731
        return begin(self.folder, f"people-{what}", make, self.patch, self.capture)

    def person(
        self,
        who: str,
        url: str = "",
        *,
        mode: str = "direct",
        words: tuple[str, ...] = (),
        config: Mapping[str, str] | None = None,
    ) -> Machine:
        """A machine with a clone, on which memory is shared.

        Args:
            url: where the clone comes from; the bare repository as a file URL where empty.
            mode: of sharing; empty to leave it off.
            words: options of the clone.
            config: further settings in the person's own configuration.
        """
        one = Machine(self.folder / who, self.patch, self.capture)
        (one.home / ".gitconfig").write_text(
            GIT_CONFIG.replace("ann@", f"{who}@").replace("Ann", who.title())
        )
        one.code.mkdir()
        for key, value in (config or {}).items():
            one.git("config", "--global", key, value)
        one.git("clone", "-q", *words, url or self.bare.as_uri(), ".")
        one.run("init", "-y")
        if mode:
            one.run("share", "--mode", mode, "-y")
        return one

    def refs(self, where: Path | None = None) -> dict[str, str]:
        rows = self.git("-C", where or self.bare, "for-each-ref", "--format=%(refname) %(objectname)")
        return dict(row.split() for row in rows.splitlines())

    def files(self, ref: str = PROJECT, where: Path | None = None) -> set[str]:
        return set(self.git("-C", where or self.bare, "ls-tree", "-r", "--name-only", ref).split())


@pytest.fixture
def team(place, git, monkeypatch, capsys) -> Team:
    """The repository, and nobody yet."""
    return Team(place, git, monkeypatch, capsys)


def refuse(bare: Path, pattern: str) -> Path:
    """Makes a repository refuse pushes to refs that match; returns the hook that does."""
    hook = bare / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ncase $1 in {pattern}) echo 'GH006: protected here' >&2; exit 1;; esac\n")
    hook.chmod(0o755)
    return hook


def teach(one: Machine, name: str, text: str = "A fact.", agent: str = "reviewer") -> None:
    """Lets an agent write a project memory into its live directory, with an index line of its own."""
    folder = one.code / ".claude/agent-memory" / agent
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(
        f"---\nname: {name}\ndescription: About {name}\ntype: project\n---\n\n{text}\n"
    )
    index = folder / "MEMORY.md"
    line = f"- [{name}]({name}.md) — as the agent put it\n"
    if not index.exists() or line not in index.read_text():
        index.write_text((index.read_text() if index.exists() else "") + line)


def live(one: Machine, agent: str = "reviewer") -> dict[str, str]:
    """What stands in an agent's live directory."""
    folder = one.code / ".claude/agent-memory" / agent
    return {path.name: path.read_text() for path in folder.iterdir()} if folder.is_dir() else {}
