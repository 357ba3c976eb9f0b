"""What each step of `gitmem demo` claims, checked with plain git and on disk, not by gitmem's own word."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gitmem.app.demo import DOCUMENT, SESSION, TWINS, Person, Stage
from gitmem.core.errors import CheckFailed
from gitmem.transcripts.claude_home import memory_folder

PROJECT_REFS = ("refs/heads/gitmem/project", "refs/gitmem/project")
SHARED_CLAIM = "Keep pull requests small: one concern each."
OWN_CLAIM = "Reviewers give up at 400 lines."
DANGLING = "gone.md"

RULE_FILE = "CLAUDE.md"

_ID = re.compile(r"^([a-z]-\S+) +(\w+) +(.*)$", re.MULTILINE)


def claim(holds: object, what: str) -> None:
    """Raises CheckFailed unless something holds."""
    if not holds:
        raise CheckFailed(what)


def says(text: str, *words: str) -> None:
    """Raises CheckFailed unless all of the words were written."""
    for word in words:
        claim(word in text, f"{word!r} was not shown")


def must(person: Person, *words: str) -> str:
    """Runs a command that has to succeed, and returns what it wrote, stripped."""
    return person.run(words).strip()


def worked(stage: Stage, text: str) -> None:
    """The command succeeded; that is all there is to it."""


# What is there, by plain git.


def project_files(person: Person) -> dict[str, str]:
    """Files of the project scope: path to text."""
    there = must(person, "git", "for-each-ref", "--format=%(refname)").split()
    return next((_files(person, (), ref) for ref in PROJECT_REFS if ref in there), {})


def local_files(person: Person) -> dict[str, str]:
    """Files of the local scope, which is in the private repository."""
    return _files(person, _private(person), _local_ref(person))


def _files(person: Person, where: tuple[str, ...], ref: str) -> dict[str, str]:
    listed = must(person, "git", *where, "ls-tree", "-r", "--name-only", ref).splitlines()
    return {path: must(person, "git", *where, "show", f"{ref}:{path}") for path in listed}


def _private(person: Person) -> tuple[str, ...]:
    return (f"--git-dir={person.home / '.local/share/gitmem/private.git'}",)


def _local_ref(person: Person) -> str:
    return f"refs/heads/local/{must(person, 'git', 'config', 'gitmem.projectId')}"


def _local_head(person: Person) -> str:
    return must(person, "git", *_private(person), "rev-parse", _local_ref(person))


def _bodies(files: Mapping[str, str]) -> str:
    return "\n".join(text for path, text in files.items() if path.endswith(".md") and "MEMORY" not in path)


def _waiting(text: str, kind: str) -> dict[str, str]:
    """Ids of one kind that `review` lists, with their titles."""
    return {id: title for id, what, title in _ID.findall(text) if what == kind}


# Alone, on one machine.


def initialised(stage: Stage, text: str) -> None:
    """Hooks, settings and the private repository are there, and git sees no change in the work tree."""
    you = stage.you
    says(text, "git mem uninstall")
    private = you.home / ".local/share/gitmem/private.git"
    claim(private.stat().st_mode & 0o777 == 0o700, "the private repository can be read by others")
    claim((you.clone / ".claude/settings.local.json").is_file(), "no Claude Code hooks")
    heads = must(you, "git", "ls-remote", "origin").split()[1::2]
    claim(set(heads) <= {"HEAD", "refs/heads/main"}, f"something left for the remote: {heads}")


def extracted(stage: Stage, text: str) -> None:
    """The commit said nothing; the worker stored what was asked to be remembered, and nothing else."""
    claim(not text.strip(), "the hook spoke during the commit")
    bodies = _bodies(local_files(stage.you))
    claim("staging database" in bodies, "what was asked to be remembered is not stored")
    claim("mock the database" not in bodies, "what nobody asked to be remembered was stored unasked")
    message = must(stage.you, "git", *_private(stage.you), "log", "--format=%B", _local_ref(stage.you))
    says(message, "Gitmem-Writer: extract", f"Gitmem-Session: {SESSION}", "Gitmem-Engine: offline")


def logged(stage: Stage, text: str) -> None:
    """The log says what was learned and that an extraction taught it."""
    says(text, "staging", "extract")


def recalled(stage: Stage, text: str) -> None:
    """The memory is found by words of a question."""
    says(text, "staging database", "Sunday")


def suggested(stage: Stage, text: str) -> None:
    """One suggestion waits: the standing instruction."""
    found = _waiting(text, "suggestion")
    claim(len(found) == 1, f"{len(found)} suggestions wait instead of one")
    says(*found.values(), "mock")


def accepted(stage: Stage, text: str) -> None:
    """It is stored, in the ref and for the agent to read."""
    stored = [path for path, text in local_files(stage.you).items() if "mock the database" in text]
    names = [
        path.rpartition("/")[2].removesuffix(".md") for path in stored if not path.endswith("MEMORY.md")
    ]
    claim(len(names) == 1, "the suggestion is not stored")
    laid_out = "".join(
        path.read_text() for path in memory_folder(stage.you.home / ".claude", stage.you.clone).glob("*.md")
    )
    says(laid_out, "mock the database", "staging database")


def remembered(stage: Stage, text: str) -> None:
    """File and index line are in one commit."""
    files = project_files(stage.you)
    says(files.get("main/deploy-day.md", ""), "Tuesdays", "When deploys go out")
    says(files.get("main/MEMORY.md", ""), "deploy-day.md")


def forgotten(stage: Stage, text: str) -> None:
    """Memory and index line are gone, and a tombstone keeps it away."""
    files = project_files(stage.you)
    claim("main/deploy-day.md" not in files, "the memory is still there")
    claim("deploy-day.md" not in files.get("main/MEMORY.md", ""), "the index still names it")
    claim(files.get("main/.tombstones"), "no tombstone")


def undone(stage: Stage, text: str) -> None:
    """It is there again."""
    remembered(stage, text)
    claim(not project_files(stage.you).get("main/.tombstones"), "the tombstone is still there")


# A dream, and what was before it.


def saved(stage: Stage, text: str) -> None:
    """Both are in the ref now."""
    files = local_files(stage.you)
    for name in TWINS:
        says(" ".join(files.get(f"main/{name}.md", "").split()), SHARED_CLAIM)


def dreamt(stage: Stage, text: str) -> None:
    """A branch of proposals stands beside the memory, which did not change."""
    claim(_local_head(stage.you).startswith(stage.facts["before_dream"]), "the dream changed memory")
    listed = must(stage.you, "git", *_private(stage.you), "for-each-ref", "--format=%(refname)")
    claim("refs/heads/dream/" in listed, "there is no dream branch")
    found = re.search(r"\bd-[0-9a-zA-Z-]+", text)
    claim(found, "the dream has no name")


def dream_shown(stage: Stage, text: str) -> None:
    """Every claim that it touches is accounted for."""
    says(text, *TWINS)


def dream_accepted(stage: Stage, text: str) -> None:
    """One memory is left of the two, with all that they said; the index names what is there."""
    files = local_files(stage.you)
    left = [name for name in TWINS if f"main/{name}.md" in files]
    claim(len(left) == 1, f"{len(left)} of the two are left")
    says(files[f"main/{left[0]}.md"], SHARED_CLAIM, OWN_CLAIM)
    claim(_bodies(files).count(SHARED_CLAIM) == 1, "the claim still stands twice")
    claim(DANGLING not in files["main/MEMORY.md"], "the index still names a file that is not there")


def restored(stage: Stage, text: str) -> None:
    """The memory that the dream merged away is back, and what came since stayed."""
    files = local_files(stage.you)
    says(" ".join(files.get(f"main/{stage.facts['twin']}.md", "").split()), SHARED_CLAIM)
    says(_bodies(files), "staging database", "mock the database")


# What the code says, too.


def promoted(stage: Stage, text: str) -> None:
    """The rule is in the work tree for the person to commit; nothing is staged, and memory is as it was."""
    says((stage.you.clone / RULE_FILE).read_text(encoding="utf-8"), "mock the database")
    claim(not must(stage.you, "git", "diff", "--cached", "--name-only"), "something was staged")
    claim(f"main/{stage.facts['standing']}.md" in local_files(stage.you), "the memory is gone already")


def rule_committed(stage: Stage, text: str) -> None:
    """The commit says where the rule comes from; the memory points to it, where it is not recalled."""
    says(must(stage.you, "git", "log", "-1", "--format=%B"), stage.facts["standing"])
    files = local_files(stage.you)
    name = f"{stage.facts['standing']}.md"
    found = [path for path in files if path.startswith("main/archive/") and path.endswith(f"/{name}")]
    claim(len(found) == 1 and f"main/{name}" not in files, "the memory is not in the archive")
    says(files[found[0]], "mock the database", f"]({RULE_FILE})")


def document_proposed(stage: Stage, text: str) -> None:
    """A branch above the commit has the new name; the work tree does not."""
    proposed = must(stage.you, "git", "show", "refs/heads/gitmem/docs:LAYOUT.md")
    says(proposed, "`orders.py`")
    here = (stage.you.clone / "LAYOUT.md").read_text(encoding="utf-8")
    claim(here == DOCUMENT, "the work tree was changed")


def document_waits(stage: Stage, text: str) -> None:
    """It is listed with everything else that waits."""
    [title] = _waiting(text, "document").values()
    says(title, "LAYOUT.md")


def document_taken(stage: Stage, text: str) -> None:
    """The document says the new name, and nothing about it waits any more."""
    says((stage.you.clone / "LAYOUT.md").read_text(encoding="utf-8"), "`orders.py`")
    claim(not _waiting(must(stage.you, "git", "mem", "review"), "document"), "it still waits")


# With a teammate.


def snapshot_made(stage: Stage, text: str) -> None:
    """The snapshot holds the project's memory and none of the private ones."""
    folder = stage.you.clone / ".claude/agent-memory-snapshots/main"
    says((folder / "snapshot.json").read_text(encoding="utf-8"), "updatedAt", "digest")
    says((folder / "deploy-day.md").read_text(encoding="utf-8"), "Tuesdays")
    text = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file())
    claim("staging database" not in text, "private memory is in the snapshot")


def pushed(stage: Stage, text: str) -> None:
    """Only the code branch left the machine."""
    heads = must(stage.you, "git", "ls-remote", "origin").split()[1::2]
    claim(set(heads) == {"HEAD", "refs/heads/main"}, f"the remote holds {heads}")


def taken_in(stage: Stage, text: str) -> None:
    """The teammate's agent knows what the snapshot says, and nothing private."""
    files = project_files(stage.mate)
    says(files.get("main/deploy-day.md", ""), "Tuesdays")
    claim("staging database" not in _bodies(files), "private memory reached the teammate")


def shared(stage: Stage, text: str) -> None:
    """Sharing is on, and still nothing was sent by that."""
    says(text, "git mem share --off")


def synced(stage: Stage, text: str) -> None:
    """The remote has the memory branch, and no private memory on it."""
    files = _files(stage.you, (f"--git-dir={stage.folder / 'remote.git'}",), "refs/heads/gitmem/project")
    says(files.get("main/deploy-day.md", ""), "Deploys go out on")
    claim("staging database" not in _bodies(files), "private memory left the machine")


def disputed(stage: Stage, text: str) -> None:
    """Both versions stand in the merged memory."""
    text = project_files(stage.mate).get("main/deploy-day.md", "")
    says(text, "Wednesdays", "Thursdays", "*(disputed ")


def dispute_shown(stage: Stage, text: str) -> None:
    """Both versions are shown with their numbers."""
    says(text, "Wednesdays", "Thursdays")
    numbers = re.findall(r"^\s*(\d+)\. .*Thursdays", text, re.MULTILINE)
    claim(len(numbers) == 1, "the version to keep has no number")


def settled(stage: Stage, text: str) -> None:
    """One version is left, without a mark."""
    text = project_files(stage.mate).get("main/deploy-day.md", "")
    says(text, "Thursdays")
    claim("Wednesdays" not in text and "disputed" not in text, "the dispute still stands")


def agreed(stage: Stage, text: str) -> None:
    """Both clones hold the same tree."""
    trees = {
        must(person, "git", "rev-parse", "refs/heads/gitmem/project^{tree}")
        for person in (stage.you, stage.mate)
    }
    claim(len(trees) == 1, "the two clones differ")
    settled(stage, text)


def quiet(stage: Stage, text: str) -> None:
    """Nothing is left undone."""
    claim("waiting for you" not in text, "something still waits")
    claim("not saved" not in text, "something is not saved")


CHECKS = (
    *(initialised, extracted, logged, recalled, suggested, accepted, remembered, forgotten, undone),
    *(saved, dreamt, dream_shown, dream_accepted, restored, worked, promoted, worked, rule_committed),
    *(
        document_proposed,
        document_waits,
        document_taken,
        snapshot_made,
        worked,
        worked,
        pushed,
        worked,
        taken_in,
    ),
    *(
        shared,
        synced,
        shared,
        synced,
        worked,
        worked,
        synced,
        disputed,
        dispute_shown,
        settled,
        synced,
        agreed,
    ),
    quiet,
)
"""One for each step, in order."""
