"""A repository with everything that the page shows, the page served on loopback, and requests to it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from memory_files import learned, proposed
from once import Once
from ran import Command

from gitmem.app.context import real_edges
from gitmem.core.trailers import Provenance
from gitmem.flows.context import initialised_at
from gitmem.git.repository import Signature
from gitmem.ledger.suggestions import OFFLINE, propose, suggest
from gitmem.ledger.workspace import Workspace
from gitmem.view.server import ViewServer

START = 1_795_000_000


def memory(name: str, body: str, description: str = "", type: str = "project") -> str:
    """A memory file."""
    about = description or f"About {name}"
    return f"---\nname: {name}\ndescription: {about}\ntype: {type}\n---\n\n{body}\n"


def workspace(repo: Path) -> Workspace:
    """The memory of a repository in which `init` has run."""
    return initialised_at(real_edges(repo))


def learn(
    repo: Path,
    files: Mapping[str, str | None],
    subject: str = "Learn",
    *,
    scope: str = "project",
    who: str = "Ann",
    writer: str = "agent",
    after: int = 0,
) -> str:
    """Commits files (path from the root of the tree) to a memory ref, some seconds after the start."""
    where = workspace(repo).scope(scope)
    told = Provenance(op="add", writer=writer)  # type: ignore[arg-type]
    return learned(where, files, START + after, subject, told, who).commit


def wait_for(repo: Path, *names: str, body: str = "", scope: str = "project") -> None:
    """Parks a suggestion for each name."""
    made = [
        proposed(
            name,
            body=body or f"The {name} fact, said in passing.",
            reason="said so in a session",
            agent="reviewer",
        )
        for name in names
    ]
    found = [suggest(one, scope, "2026-11-20T10:00:00Z", OFFLINE) for one in made]
    propose(workspace(repo), found, Signature("Ann", "ann@example.com", START))


DISPUTED = memory(
    "deploy-day",
    "Deploys go out on Tuesdays. *(disputed 1a2b3c4d)*\n\n"
    "Deploys go out on Thursdays. *(disputed 1a2b3c4d)*",
)
TWICE = {
    "reviewer/build-time.md": memory(
        "build-time", "The whole build takes nine minutes on the shared runner."
    ),
    "reviewer/build-takes.md": memory(
        "build-takes", "The whole build takes nine minutes on the shared runner."
    ),
}


@dataclass(frozen=True)
class Answer:
    """What the server answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Client:
    """Asks a page as a browser does, unless told otherwise."""

    page: ViewServer

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Sends one request, with no headers but `Host` and those given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.page.server_port, timeout=60)
        try:
            connection.request(method, path, body, dict(headers or {}))
            found = connection.getresponse()
            return Answer(found.status, dict(found.getheaders()), found.read())
        finally:
            connection.close()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.page.server_port}"

    def path(self, name: str) -> str:
        return f"/{self.page.token}/{name}"

    def read(self, name: str, /, **given: str) -> Any:
        """A value, as the page asks for it."""
        from urllib.parse import urlencode

        found = self.ask("GET", self.path(f"api/{name}?{urlencode(given)}"))
        assert found.status == 200, found.body
        return found.json

    def send(self, name: str, given: Mapping[str, Any], status: int = 200) -> Any:
        """Does something, as the page asks for it."""
        headers = {"Content-Type": "application/json", "Origin": self.origin}
        found = self.ask("POST", self.path(f"api/{name}"), json.dumps(given).encode(), headers)
        assert found.status == status, (found.status, found.body)
        return found.json


@contextmanager
def served(repo: Path, at: str = "") -> Iterator[Client]:
    """The page of a repository, answered in threads of this process."""
    page = ViewServer(repo, at)
    thread = threading.Thread(target=page.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield Client(page)
    finally:
        page.shutdown()
        thread.join()
        page.stop()


def furnish(repo: Path, gitmem: Command) -> None:
    """Puts something of each kind into a repository: memories of two people, a dispute, what waits."""
    gitmem("init", "-y")
    learn(
        repo,
        {
            "reviewer/no-mocks.md": memory(
                "no-mocks",
                "Tests run against a real database.\n\n**Why:** mocks hid a broken migration.\n\n"
                "See [[build-time]] and `src/store.py`.",
                "Use the real database in tests",
                "feedback",
            ),
            **TWICE,
        },
        "Learn how tests and builds go",
    )
    learn(
        repo,
        {
            "reviewer/deploy-day.md": DISPUTED,
            "ops/rollback.md": memory("rollback", "Roll back with `make back`."),
        },
        "Learn when deploys go out",
        who="Bob",
        writer="extract",
        after=90_000,
    )
    learn(
        repo,
        {"reviewer/mine.md": memory("mine", "Only for me.")},
        "Learn of me",
        scope="local",
        after=95_000,
    )
    wait_for(repo, "release-branch", "code-owners")
    gitmem("dream", "--force", "--scope", "project")


@pytest.fixture
def full(repo: Path, gitmem: Command, once: Once[int]) -> Path:
    """A repository with something of each kind."""

    def make() -> int:
        furnish(repo, gitmem)
        return gitmem.now

    return _again(repo, gitmem, once("full", make))


@pytest.fixture
def plain(repo: Path, gitmem: Command, once: Once[int]) -> Path:
    """A repository with one memory."""

    def make() -> int:
        gitmem("init", "-y")
        learn(repo, {"reviewer/ports.md": memory("ports", "The server listens on 8080.")})
        return gitmem.now

    return _again(repo, gitmem, once("plain", make))


def _again(repo: Path, gitmem: Command, now: int) -> Path:
    gitmem.now = now
    gitmem.patch.chdir(repo)
    return repo
