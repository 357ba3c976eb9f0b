"""`doctor`: finds what is broken, as values that say how each is mended, and mends one at a time.

Here are the order of all checks, those of what `init` set up (settings, the private repository, hooks, the
project's name), and of what lies beside memory: lock files that nobody holds, and jobs that nobody does.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from gitmem.app import spool
from gitmem.app.client_faults import client_faults
from gitmem.app.client_hooks import HookFile, apply_hooks, is_tracked, plan_hooks
from gitmem.app.client_setup import hooked_clients, plan_clients
from gitmem.app.doctor_memory import Damage, Patient, check_objects, check_refs, check_trees
from gitmem.app.file_edits import make_edits
from gitmem.app.git_drivers import plan_merge_setup
from gitmem.app.git_hooks import apply, inspect_git_hooks, plan_git_hooks, read_setup
from gitmem.app.launcher import Launcher
from gitmem.app.worker import Failed, failed_jobs, read_state, retry_failed
from gitmem.core.errors import GitmemError, RepositoryError, UsageError
from gitmem.core.text import counted, iso
from gitmem.flows.context import Edges
from gitmem.flows.engines import choice_for
from gitmem.flows.place import start_worker
from gitmem.flows.save import code_tree, directories, save_all
from gitmem.git.config import config_get
from gitmem.git.locks import ProcessIdentity, is_alive, locks_below, writer_lock
from gitmem.git.open import open_repository
from gitmem.git.remote import normalise_url
from gitmem.ledger.layout import LIVE_FOLDERS, read_record
from gitmem.ledger.workspace import CHOICES, DEFAULTS, MAIN, SHARED_REF, Settings, Workspace, read_settings
from gitmem.transcripts.privacy import compile_ignore

QUICK_SECONDS = 60.0
"""Git holds the lock of a ref for milliseconds; one as young as this is looked at again."""

LONG_SECONDS = 3600.0
"""Packing refs may take its time, and so may an editor that has the configuration open."""

SECOND_LOOK_SECONDS = 1.0

OURS = ("refs/gitmem", "refs/heads/gitmem", "refs/remotes")
"""Where a code repository's lock files may be gitmem's."""

SHARED = ("packed-refs.lock", "packed-refs.new", "config.lock", "reftable/tables.list.lock")
"""Locks that a git at work on something else takes, too."""

DREAM = ".consolidate-lock"


def check_settings(patient: Patient) -> list[Damage]:
    """Looks for values that mean nothing."""
    workspace = patient.workspace
    where = workspace.layout.common_dir
    values = read_settings(workspace.git, workspace.layout.worktree or where).values
    found = []
    for name, allowed in CHOICES.items():
        value = values.get(name, "").rsplit("\n", 1)[-1]
        if value and value not in allowed:
            what = f"gitmem.{name} is {value!r}, which means nothing"
            write = f"git config gitmem.{name} {DEFAULTS[name]}"
            write = "git mem engine set offline" if name == "engine" else write
            found.append(Damage("setting", what, f"set it to one of {', '.join(allowed)}: {write}"))
    settings = Settings(values)
    for number in ("extractEvery", "maxRuns", "maxTokens"):
        try:
            settings.number(number)
        except UsageError as error:
            found.append(Damage("setting", error.message, error.hint))
    try:
        compile_ignore(settings.all("ignore"))
    except UsageError as error:
        what = f"{error.message}; nothing is learned from sessions until it is mended"
        found.append(Damage("setting", what, error.hint))
    return found


def check_signing(patient: Patient) -> list[Damage]:
    """Looks whether signatures can be checked, and made, where settings want that."""
    from gitmem.git.commit_signatures import sign_trial
    from gitmem.ledger.signatures import find_signers, trusts  # few settings want it

    workspace = patient.workspace
    found = []
    if trusts(workspace) and (signers := find_signers(workspace)).trouble:
        what = f"no signature of shared memory can be checked: {signers.trouble}"
        found.append(Damage("signing", what, signers.remedy))
    if why := sign_trial(workspace.git, workspace.layout.common_dir):
        what = f"commit.gpgSign is set, and memory lands unsigned: {why}"
        mend = "add the key to ssh-agent; gitmem asks for no passphrase, and signs with SSH keys alone"
        found.append(Damage("signing", what, mend))
    return found


def check_engine(patient: Patient) -> list[Damage]:
    """Looks whether the engine in force can run."""
    chosen = choice_for(patient.workspace, patient.edges)
    return [
        Damage("engine", f"the engine {chosen.engine} cannot run: {lack.what}", lack.remedy)
        for lack in chosen.missing
    ]


def check_private_repository(patient: Patient) -> list[Damage]:
    """Looks whether the private repository is there, and closed to others."""
    workspace = patient.workspace
    path = workspace.private_path
    if not patient.private:
        backup = workspace.settings.get("backup")
        mend = "make it anew, and save what stands in live directories"
        mend += f"; then bring the rest back: git mem backup {backup}" if backup else ""

        def make() -> str:
            _ = workspace.private
            workspace.private_state.mkdir(parents=True, exist_ok=True)
            saved = save_all(workspace, patient.edges, everywhere=True)
            count = sum(len(one.written) for one in saved)
            return f"made {path}, with {counted(count, 'commit')} from live directories"

        return [Damage("private-repository", f"{path} is missing", mend, make, asks=True)]
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode == 0o700:
        return []

    def close() -> str:
        path.chmod(0o700)
        return f"{path} has mode 0700"

    what = f"{path} has mode {mode:04o}: others may get in"
    return [Damage("private-repository", what, "set mode 0700", close)]


def check_state(patient: Patient) -> list[Damage]:
    """Looks whether the state folder is there: without it every command takes `init` for never run."""
    state = patient.workspace.state
    if state.is_dir():
        return []

    def make() -> str:
        state.mkdir(parents=True, exist_ok=True)
        return f"made {state}"

    return [Damage("state-folder", f"{state} is missing", "make it anew", make)]


def check_hooks(patient: Patient) -> list[Damage]:
    """Looks at git's hooks and drivers, and those of the clients that are here, as `init` would."""
    workspace = patient.workspace
    common = workspace.layout.common_dir
    top = code_tree(workspace) or common
    return [
        *_launcher(patient),
        *_git_hooks(patient, top, common),
        *_client_hooks(patient),
        *_git_merge(patient, common),
    ]


def _starts(patient: Patient) -> tuple[str, ...]:
    return Launcher(patient.workspace.around.data).argv


def _launcher(patient: Patient) -> Iterator[Damage]:
    launcher = Launcher(patient.workspace.around.data)
    if launcher.works and launcher.missed is None:
        return

    def write() -> str:
        launcher.write()
        return f"wrote {launcher.path}"

    what = f"{launcher.path}, by which hooks find gitmem, is missing, or starts one that is gone"
    yield Damage("launcher", what, "have it start this gitmem", write, asks=True)


def _git_hooks(patient: Patient, top: Path, common: Path) -> Iterator[Damage]:
    git = patient.workspace.git
    setup = read_setup(git, top)
    wrong = [one for one in inspect_git_hooks(common, _starts(patient), setup) if one.standing != "ours"]
    steps = plan_git_hooks(common, _starts(patient), setup)
    by_hand = [step for step in steps if not step.edit]
    can = [step for step in steps if step.edit]
    if wrong and can:

        def install() -> str:
            apply(plan_git_hooks(common, _starts(patient), read_setup(git, top)), git)
            return f"installed {', '.join(one.hook for one in wrong)}"

        what = "git hooks: " + ", ".join(f"{one.hook} is {_told(one.standing)}" for one in wrong)
        mend = "; ".join(dict.fromkeys(map(str, can)))
        yield Damage("git-hooks", what, mend, install, asks=True)
    if by_hand:
        what = "git hooks: " + ", ".join(f"{one.hook} is {_told(one.standing)}" for one in wrong)
        yield Damage("git-hooks", what, "; ".join(map(str, by_hand)))


def _told(standing: str) -> str:
    return {
        "foreign": "another tool's alone",
        "outdated": "an older gitmem's",
        "dead": "of a gitmem that is gone",
    }.get(standing, standing)


def _client_hooks(patient: Patient) -> Iterator[Damage]:
    workspace, environ = patient.workspace, patient.edges.environ
    for wanted in plan_clients(workspace, environ, _starts(patient), only=hooked_clients(workspace)):
        client = wanted.place.client
        kind = f"{client.name}-hooks"
        if wanted.by_hand:
            yield Damage(kind, f"{client.title}'s hooks: {wanted.path} cannot be changed", wanted.by_hand)
        elif wanted.after != wanted.before:

            def install(place: HookFile = wanted.place) -> str:
                again = plan_hooks(place, _starts(patient), is_tracked(place, workspace))
                apply_hooks(again, workspace.git)
                return f"added hooks to {place.path}"

            what = f"{client.title}'s hooks are not all in {wanted.path}"
            yield Damage(kind, what, str(wanted), install, asks=True)
    for one in client_faults(workspace, environ, _starts(patient)):
        if one.kind != "missing":
            yield Damage(f"{one.client.name}-hooks", one.what, one.remedy)


def _git_merge(patient: Patient, common: Path) -> Iterator[Damage]:
    git = patient.workspace.git
    wanted = plan_merge_setup(git, common, _starts(patient))
    if wanted.changes:

        def install() -> str:
            make_edits(plan_merge_setup(git, common, _starts(patient)).edits, git)
            return "git merges and shows memory claim by claim"

        what = "git merges memory as text here: gitmem's drivers are missing, or an older gitmem's"
        yield Damage("git-merge", what, str(wanted), install, asks=True)
    if wanted.by_hand:
        yield Damage("git-merge", "git's attributes cannot be changed", wanted.by_hand)


def check_project_id(patient: Patient) -> list[Damage]:
    """Looks for other repositories on this machine that use this one's name in the private repository."""
    workspace = patient.workspace
    mine = _origin(patient, workspace.layout.common_dir)
    ours = {tree.path for tree in workspace.worktrees}
    found = []
    for top in sorted(_other_tops(workspace.private_state) - ours):
        told = config_get(workspace.git, top, "gitmem.projectId", scope="local")
        if told == workspace.project_id and _origin(patient, top) != mine:
            what = (
                f"{top} has another origin and the same gitmem.projectId, {told}: both share local memory"
            )
            advice = f"name one of them anew: git config gitmem.projectId {told}-2, then git mem init"
            found.append(Damage("project-id", what, advice))
    return found


def _other_tops(state: Path) -> set[Path]:
    """Work trees that records of private memory name and that exist."""
    tops = set()
    for path in (state / "live").glob("*.json"):
        record = read_record(state, path.stem)
        parents = Path(record.path).parents if record else ()
        if record and len(parents) > 2 and Path(record.path).parent.name == LIVE_FOLDERS["local"]:
            tops |= {parents[2]} if (parents[2] / ".git").exists() else set()
    return tops


def _origin(patient: Patient, folder: Path) -> str:
    url = config_get(patient.workspace.git, folder, "remote.origin.url") or ""
    return normalise_url(url, folder) if url else ""


def check_locks(patient: Patient) -> list[Damage]:
    """Looks for lock files that block writers, or make them wait."""
    found: list[Damage] = []
    for repo, _ in patient.repositories:
        found += _of_git(patient, repo.git_dir)
        for path in sorted((repo.git_dir / "gitmem").glob("turn-*.lock")):
            who = ProcessIdentity.parse(_body(path))
            if who is None or not is_alive(who):
                what = f"{path} was left by a writer who is gone"
                found.append(Damage("left-over-lock", what, "remove it", _removal(path)))
    for state in dict.fromkeys(scope.state for scope in patient.scopes):
        for path in sorted((state / "dream").glob(f"*/{DREAM}")):
            found += _of_dream(path)
    return found


def _of_git(patient: Patient, git_dir: Path) -> Iterator[Damage]:
    private = git_dir != patient.workspace.layout.common_dir
    shared = {git_dir / name for name in SHARED}
    # The file system's clock, not that of the edges: it is file times that are compared.
    now = time.time()
    found = {}
    for path in [*_ref_locks(git_dir, private), *shared]:
        with suppress(OSError):
            found[path] = now - path.lstat().st_mtime
    if any(age < QUICK_SECONDS for age in found.values()):
        time.sleep(SECOND_LOOK_SECONDS)
    for path, age in sorted(found.items()):
        if (path in shared and not private and age < LONG_SECONDS) or not path.exists():
            continue
        # By its moment, since an age makes another finding of it at the next look.
        what = f"{path} (of {iso(now - age)}) blocks every write"
        yield Damage(
            "left-over-lock", what, "remove it, if no git is at work here", _removal(path), asks=True
        )


def _ref_locks(git_dir: Path, private: bool) -> list[Path]:
    """Lock files on refs of memory: in the private repository on all."""
    if private:
        return [*locks_below(git_dir, "refs"), git_dir / "HEAD.lock"]
    found = [path for root in OURS for path in locks_below(git_dir, root)]
    found = [path for path in found if "gitmem" in path.relative_to(git_dir).parts]
    return [*found, *(git_dir / f"{root}.lock" for root in OURS[:2])]


def _removal(path: Path) -> Callable[[], str]:
    before = _state(path)

    def remove() -> str:
        if _state(path) != before:
            raise RepositoryError(f"{path} changed meanwhile, so somebody holds it", "Run doctor again.")
        if path.name.startswith("turn-"):
            with writer_lock(path.parent, path.stem, blocking=False):
                path.unlink(missing_ok=True)
        else:
            path.unlink(missing_ok=True)
        return f"removed {path}"

    return remove


def _of_dream(path: Path) -> Iterator[Damage]:
    body = _body(path)
    who = ProcessIdentity.parse(body)
    if who is None or is_alive(who):
        return

    def release() -> str:
        with writer_lock(path.parent, "taking"):
            if _body(path) != body:
                raise RepositoryError(f"{path} changed meanwhile", "Run doctor again.")
            prior = float(body.split()[2])
            if prior > 0:
                path.write_bytes(b"")
                os.utime(path, (prior, prior))
            else:
                path.unlink()
        return f"released {path}"

    what = f"{path} is held by process {who.pid}, which is gone: a dream did not end"
    yield Damage("left-over-lock", what, "release it, as if that dream had not begun", release)


def _body(path: Path) -> str:
    with suppress(OSError), os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read(200).decode("ascii", "replace")
    return ""


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def check_folders(patient: Patient) -> list[Damage]:
    """Looks for memory that no folder of this work tree shows, as after the repository moved."""
    workspace, edges = patient.workspace, patient.edges
    if not patient.private:
        return []  # to look would make one
    shown = {live.path for live in directories(workspace)}
    new = (one for one in directories(workspace, fresh=True) if one.path not in shown)
    lacking = [one for one in new if one.agent == MAIN]

    def lay_out() -> str:
        save_all(workspace, edges, fresh=True)
        return f"laid out memory in {', '.join(str(one.path) for one in lacking)}"

    return [
        Damage(
            "folder", f"{one.path} is missing: agents see no {one.scope.name} memory", "lay it out", lay_out
        )
        for one in lacking
    ]


def check_worker(patient: Patient) -> list[Damage]:
    """Looks at the jobs that wait with no worker, and those that were given up."""
    workspace = patient.workspace
    common = workspace.layout.common_dir
    folder = workspace.state / "spool"
    found: list[Damage] = []
    state = read_state(common)
    works = state is not None and is_alive(state.process)
    waiting = len(spool.take(folder))

    def start() -> str:
        start_worker(common, patient.edges.environ)
        return "started the worker"

    if waiting and not works:
        what = f"{counted(waiting, 'job')} in {folder} with no worker to do them"
        found.append(Damage("waiting-jobs", what, "start the worker", start, later=True))
    failed = failed_jobs(common)
    if failed:

        def again() -> str:
            number = retry_failed(common)
            start()
            return f"{counted(number, 'job')} will run again"

        what = f"{counted(len(failed), 'job')} failed for good: {_reasons(failed)}"
        found.append(Damage("failed-jobs", what, "run them again", again, asks=True))
    return found


def _reasons(failed: Sequence[Failed]) -> str:
    said = (one.reason for one in failed[-3:])
    return "; ".join(dict.fromkeys(filter(None, said))) or "no report is left"


CHECKS: tuple[Callable[[Patient], Sequence[Damage]], ...] = (
    check_settings,
    check_engine,
    check_signing,
    check_state,
    check_private_repository,
    check_locks,
    check_objects,
    check_refs,
    check_trees,
    check_folders,
    check_worker,
    check_hooks,
    check_project_id,
)
"""In the order in which their mends build on one another."""


def plan(workspace: Workspace, edges: Edges) -> tuple[Damage, ...]:
    """Finds what is wrong; nothing is written.

    Raises:
        RepositoryError: `init` never ran here.
    """
    if not workspace.settings.get("projectId"):
        raise RepositoryError(f"{workspace.layout.worktree} has no gitmem memory yet", "Run: git mem init")
    patient = _patient(_usable(workspace), edges)
    found: list[Damage] = []
    for check in CHECKS:
        try:
            found += check(patient)
        except (GitmemError, OSError) as error:
            hint = error.hint if isinstance(error, GitmemError) else ""
            found.append(Damage("unreadable", str(error), hint or "see what git says: git fsck"))
    return tuple(found)


def carry_out(finding: Damage) -> str:
    """Mends one; returns what was done.

    Raises:
        RepositoryError: it cannot be done; what was there still is.
    """
    if finding.act is None:
        raise RepositoryError(finding.what, finding.mend)
    try:
        return finding.act()
    except OSError as error:
        raise RepositoryError(
            f"{error.filename or 'a file'}: {error.strerror}", "Make it writable for you."
        ) from error


def _patient(workspace: Workspace, edges: Edges) -> Patient:
    there = workspace.has_private
    if there:
        # Opened by its own property, it would get mode 0700 before anybody looked at that.
        vars(workspace)["private"] = open_repository(workspace.private_path, workspace.git, bare=True)
    return Patient(workspace, edges, there)


def _usable(workspace: Workspace) -> Workspace:
    """The same with a sharing that means something, so that there is a ref to look at."""
    if workspace.settings.values.get("share", "off").rsplit("\n", 1)[-1] in ("off", "review", "direct"):
        return workspace
    shared = workspace.code.ref(SHARED_REF) is not None
    return workspace.with_settings(share="review" if shared else "off")
