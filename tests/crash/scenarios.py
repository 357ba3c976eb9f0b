"""What is killed: each verb with something real to do, and what a person or hook runs next."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stage import NOW, Stage
from transcripts import Transcript

from gitmem.app.spool import Job, put
from gitmem.core.trailers import Provenance
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.repository import Signature
from gitmem.ledger.land import Ref, Write, land
from gitmem.transcripts.claude_home import slug

ANN = Signature("Ann", "ann@example.com", NOW - 86_400)
CONFIG = "[user]\n\tname = Ann\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n"
SAID = (
    "Remember that we deploy from the release branch only, since main can hold open migrations.",
    "From now on never mock the database in tests, because mocks hid a broken migration.",
)
TWICE = {
    "no-mocks": "Never mock the database in integration tests.",
    "real-database": "Never mock the database in integration tests.\n\n**Why:** a mock hid a bug.",
}


@dataclass(frozen=True)
class Scenario:
    """One command to be killed.

    Attributes:
        prepare: makes what it works on.
        words: the command.
        then: what runs next; each has to succeed.
        repeats: whether `then` ends what was begun; else the command runs again where it changed nothing.
        every: of how many of its calls one is tried, where it shares most of its way with another.
    """

    prepare: Callable[[Stage], None]
    words: tuple[str, ...]
    then: tuple[tuple[str, ...], ...]
    repeats: bool = True
    every: int = 1


def memory(name: str, body: str, about: str = "") -> str:
    told = about or f"About {name}"
    return f"---\nname: {name}\ndescription: {told}\nmetadata:\n  type: project\n---\n\n{body}\n"


def untouched(stage: Stage, object_format: str = "sha1") -> None:
    """A repository without gitmem, in which an agent has a memory of three files."""
    stage.home.mkdir()
    (stage.home / ".claude").mkdir()
    (stage.home / ".gitconfig").write_text(CONFIG)
    subprocess.run(
        ["git", "init", "-q", f"--object-format={object_format}", stage.repo], env=stage.environ, check=True
    )
    (stage.repo / "README").write_text("code\n")
    stage.git("add", "README")
    stage.git("commit", "-q", "-m", "first")
    for name in ("alpha", "beta", "gamma"):
        write(stage, f"{name}.md", memory(name, f"The {name} fact.\n\nAnd more of {name}."))


def begin(stage: Stage, object_format: str = "sha1") -> None:
    """The same with gitmem, and the memory saved."""
    untouched(stage, object_format)
    must(stage, "init", "-y")
    must(stage, "save")


def must(stage: Stage, *words: str) -> None:
    stage.now += 100
    done = stage.gitmem(*words)
    assert done.code == 0, f"{words}: {done}"


def write(stage: Stage, file: str, text: str) -> None:
    path = stage.repo / ".claude/agent-memory/reviewer" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def learn(stage: Stage, repo: Path, ref: str, files: Mapping[str, str]) -> None:
    """Commits to a ref as another clone or work tree would."""
    git = GitCommand(stage.environ)
    store = open_repository(repo, git, "git", bare=repo == stage.bare)
    write = Write({path: text.encode() for path, text in files.items()}, "Learn", Provenance(op="add"))
    assert land(Ref(store, ref), lambda _: write, ANN)
    store.close()


def edited(stage: Stage) -> None:
    """An edit, a new file and a deletion in the live directory, and news on the ref: both ways at once."""
    begin(stage)
    _edit(stage)


def edited_sha256(stage: Stage) -> None:
    begin(stage, "sha256")
    _edit(stage)


def _edit(stage: Stage) -> None:
    news = {
        "reviewer/beta.md": memory("beta", "The beta fact, corrected.\n\nAnd more of beta."),
        "reviewer/delta.md": memory("delta", "A fact from elsewhere."),
    }
    learn(stage, stage.repo, "refs/gitmem/project", news)
    write(stage, "alpha.md", memory("alpha", "The alpha fact.\n\nAnd more of alpha.\n\nSaid by the agent."))
    write(stage, "epsilon.md", memory("epsilon", "A fact of the agent."))
    (stage.repo / ".claude/agent-memory/reviewer/gamma.md").unlink()
    stage.now += 1000


def recorded(stage: Stage) -> None:
    """A session to learn from, and the job that a hook left."""
    begin(stage)
    id = "11111111-0000-4000-8000-000000000000"
    made = Transcript(id, str(stage.repo))
    for text in SAID:
        made.user(text)
        made.agent("Done.")
    folder = stage.home / ".claude/projects" / slug(stage.repo)
    folder.mkdir(parents=True, exist_ok=True)
    path = made.write(folder / f"{id}.jsonl")
    put(stage.repo / ".git/gitmem/spool", Job("stop", str(stage.repo), str(path), id, "main", NOW))
    stage.now += 1000


def repeated(stage: Stage) -> None:
    """Memories that say a thing twice."""
    begin(stage)
    files = {
        f"main/{name}.md": memory(name, body, about="Never mock the database")
        for name, body in TWICE.items()
    }
    index = "".join(f"- [{name}]({name}.md) — Never mock the database\n" for name in sorted(TWICE))
    learn(stage, stage.repo, "refs/gitmem/project", {**files, "main/MEMORY.md": index})
    must(stage, "save")
    stage.now += 1000


def changed_twice(stage: Stage) -> None:
    """A memory with a past, and an edit that is not saved yet."""
    begin(stage)
    write(stage, "alpha.md", memory("alpha", "The alpha fact, changed."))
    must(stage, "save")
    write(stage, "beta.md", memory("beta", "The beta fact.\n\nAnd more of beta.\n\nNot saved yet."))
    stage.now += 1000


def shared(stage: Stage) -> None:
    """A remote, with news on both sides."""
    begin(stage)
    stage.git("clone", "-q", "--bare", stage.repo, stage.bare)
    stage.git("remote", "add", "origin", stage.bare)
    must(stage, "share", "--mode", "direct", "-y")
    must(stage, "sync", "-y")
    learn(
        stage,
        stage.bare,
        "refs/heads/gitmem/project",
        {"reviewer/beta.md": memory("beta", "The beta fact, corrected.\n\nAnd more of beta.")},
    )
    write(stage, "alpha.md", memory("alpha", "The alpha fact.\n\nAnd more of alpha.\n\nSaid by the agent."))
    stage.now += 1000


SAVE = (("status",), ("save",))
WORKER = ("worker", "--git-dir", "{git_dir}")
REMEMBER = ("remember", "Tests use the real database.", "--name", "real-database")
REMEMBER_TEAM = (*REMEMBER, "--agent", "reviewer", "--scope", "project", "--type", "project")

SCENARIOS = {
    "init": Scenario(untouched, ("init", "-y"), (("init", "-y"), *SAVE), every=2),
    "save": Scenario(edited, ("save",), SAVE),
    "save in a SHA-256 repository": Scenario(edited_sha256, ("save",), SAVE, every=2),
    "remember": Scenario(begin, REMEMBER, (*SAVE, REMEMBER)),
    "remember in a SHA-256 repository": Scenario(
        lambda stage: begin(stage, "sha256"), REMEMBER_TEAM, (*SAVE, REMEMBER_TEAM)
    ),
    "the worker's extraction": Scenario(recorded, WORKER, (("status",), WORKER)),
    "extract": Scenario(recorded, ("extract",), (("status",), ("extract",), WORKER), every=4),
    "dream": Scenario(repeated, ("dream", "--force", "--scope", "project"), SAVE, False),
    "restore": Scenario(changed_twice, ("restore", "alpha", "--at", "2026-11-18"), SAVE, False, 2),
    "sync": Scenario(shared, ("sync", "-y"), (("status",), ("sync", "-y"), ("save",))),
    "undo": Scenario(changed_twice, ("undo", "{tip}"), SAVE, False, 2),
}
