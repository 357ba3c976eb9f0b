"""One live directory: what an agent writes in it, what is saved of it, what others commit to its ref."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from memory_files import files_of, learned

from gitmem.core.trailers import Op, Provenance
from gitmem.git.repository import Signature
from gitmem.ledger.layout import LiveDirectory
from gitmem.ledger.save_plan import SaveRequest
from gitmem.ledger.working_copy import Saved, save

ANN = Signature("Ann", "ann@example.com", 1_800_000_000)


def memory(name: str, *more: str) -> str:
    """A memory of one fact, and of these claims behind it."""
    head = f"---\nname: {name}\ndescription: About {name}\ntype: project\n---\n\nThe {name} fact.\n"
    return head + "".join(f"\n{claim}\n" for claim in more)


@dataclass
class LiveGround:
    """The folder of the subagent `reviewer`, and the scope that it belongs to."""

    live: LiveDirectory
    patch: pytest.MonkeyPatch
    now: float = 1_900_000_000.0

    def file(self, name: str) -> Path:
        return self.live.path / name

    def put(self, name: str, text: str) -> None:
        """An agent writes a file, at any depth."""
        self.file(name).parent.mkdir(parents=True, exist_ok=True)
        self.file(name).write_text(text)

    def write(self, *names: str) -> None:
        for name in names:
            self.file(f"{name}.md").write_text(memory(name))

    def add(self, name: str, *more: str) -> None:
        """An agent writes the memory with these claims behind its first one."""
        self.file(f"{name}.md").write_text(memory(name, *more))

    def save(self, **changes: Any) -> Saved:
        """Saves it at a moment that moves on each time by more than a displaced file is kept."""
        self.now += 100
        return save(replace(SaveRequest(self.live, self.now, ANN), **changes))

    def push(self, edits: dict[str, str | None], op: Op = "sync") -> None:
        """Somebody else commits these files of the agent to the ref."""
        rooted = {f"{self.live.agent}/{name}": text for name, text in edits.items()}
        learned(self.live.scope, rooted, ANN.time, "Change", Provenance(op=op, writer="human"))

    def begin(self, name: str = "a", *more: str) -> None:
        """The memory is saved; then somebody else adds claims to it on the ref."""
        self.write(name)
        self.save()
        if more:
            self.push({f"{name}.md": memory(name, *more)})

    @property
    def tip(self) -> str:
        found = self.live.scope.repo.ref(self.live.scope.ref)
        assert found is not None
        return found

    @property
    def stored(self) -> dict[str, str]:
        """What the ref has of the agent."""
        return files_of(self.live.scope, self.live.agent)

    @property
    def shown(self) -> dict[str, str]:
        """What lies in the folder, less gitmem's own files."""
        files = (path for path in self.live.path.iterdir() if path.is_file())
        return {path.name: path.read_text() for path in files if not path.name.startswith(".")}

    def claims(self, name: str = "a") -> set[str]:
        """The lines of a memory, which are the same in the folder and on the ref."""
        assert self.shown == self.stored
        return set(self.stored[f"{name}.md"].splitlines())
