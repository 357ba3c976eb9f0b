"""Commit → worker → memory: what a session teaches is stored once, in order, with its provenance."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from extract_ground import (
    ANN,
    ASKED,
    FIXTURES,
    KEY,
    RULE,
    Git,
    Killed,
    Scripted,
    change,
    edges,
    extract,
    history,
    kill_at,
    put,
    refs,
    session,
    tree,
    workspace,
)
from once import home_folder, once, place, tmp_path
from ran import Gitmem
from transcripts import Transcript

from gitmem.core import tombstone
from gitmem.core.change import ChangeOrigin
from gitmem.core.trailers import parse as parse_trailers
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.context import Edges, initialised_at, workspace_at
from gitmem.flows.extract.run import extract_sessions, foresee
from gitmem.flows.extraction import context_of
from gitmem.flows.suggestions import accept_suggestions
from gitmem.ledger.apply import Placed, land_change
from gitmem.ledger.layout import live_directory
from gitmem.ledger.save_plan import SaveRequest
from gitmem.ledger.suggestions import open_suggestions
from gitmem.ledger.working_copy import save
from gitmem.ledger.workspace import Workspace
from gitmem.transcripts.claude_home import slug

__all__ = ["edges", "home_folder", "once", "place", "tmp_path", "workspace"]


def test_what_was_asked_is_stored_and_shown_and_the_rest_waits(workspace, edges, home, repo, git) -> None:
    [outcome] = extract(workspace, edges, session(home, repo, ASKED, RULE))
    [message] = history(workspace)
    told = parse_trailers(message)
    assert message.startswith("We deploy from the release branch only")
    assert (told.op, told.writer, told.engine) == ("add", "extract", "offline")
    assert told.session == "00000001-0000-4000-8000-000000000000"
    assert told.messages == ("00000000-0000-4000-8000-000000000001",) * 2
    assert told.job.endswith(".1") and told.code_commit == git("-C", repo, "rev-parse", "HEAD")
    [waiting] = open_suggestions(workspace)
    assert "never mock the database" in waiting.change.body
    assert (waiting.scope, waiting.change.type) == ("local", "feedback")
    assert [one.id for one in outcome.parked] == [waiting.id]
    folder = home / ".claude/projects" / slug(repo) / "memory"
    [memory] = [path for path in folder.iterdir() if path.name != "MEMORY.md"]
    text = memory.read_text()
    assert "We deploy from the release branch only." in text and "**Why:**" in text
    assert f"]({memory.name})" in (folder / "MEMORY.md").read_text()
    assert tree(workspace)[f"main/{memory.name}"] == text


def test_no_folder_is_made_for_a_client_that_is_not_there(workspace, edges, home, repo, tmp_path) -> None:
    path = session(home, repo, ASKED).rename(tmp_path / "one.jsonl")
    for folder in sorted((home / ".claude").rglob("*"), reverse=True):
        folder.rmdir()
    (home / ".claude").rmdir()
    extract(workspace, edges, path)
    assert history(workspace) and not (home / ".claude").exists()


def test_running_twice_adds_nothing_also_where_every_cursor_is_lost(workspace, edges, home, repo) -> None:
    """Cursors can be deleted at no loss: the memory's own history tells which messages taught it."""
    path = session(home, repo, ASKED, RULE)
    extract(workspace, edges, path)
    before = refs(workspace)
    assert extract(workspace, edges, path) == () and refs(workspace) == before
    for file in (workspace.state / "cursors").iterdir():
        file.unlink()
    [outcome] = extract(workspace, edges, path)
    assert (outcome.plan.stored, outcome.parked) == ((), ())
    assert refs(workspace) == before


def test_what_was_taken_back_is_not_learned_without_cursors(workspace, edges, home, repo, gitmem) -> None:
    path = session(home, repo, ASKED)
    extract(workspace, edges, path)
    gitmem("undo")
    before = refs(workspace)
    for file in (workspace.state / "cursors").iterdir():
        file.unlink()
    extract(workspace, edges, path)
    assert refs(workspace) == before


def test_only_what_was_said_since_is_looked_at(workspace, edges, home, repo) -> None:
    path = session(home, repo, ASKED)
    extract(workspace, edges, path)
    session(home, repo, ASKED, "Remember that the staging bugs are tracked in Linear project OPS.")
    [outcome] = extract(workspace, edges, path)
    assert [m.text[:20] for m in outcome.plan.given.messages if m.role == "person"] == [
        "Remember that the st"
    ]
    assert len(history(workspace)) == 2


@pytest.mark.parametrize("order", [("resumed", "forked"), ("forked", "resumed")])
def test_messages_that_a_fork_repeats_count_once(workspace, edges, order: tuple[str, str]) -> None:
    outcomes = extract(workspace, edges, *(FIXTURES / f"{name}.jsonl" for name in order))
    looked = [uuid for outcome in outcomes for uuid in outcome.plan.handled]
    assert len(looked) == len(set(looked))
    bodies = [one.change.body for one in open_suggestions(workspace)]
    assert len(bodies) == len(set(bodies)) >= 1


def test_who_changes_their_mind_changes_the_memory(workspace, edges, home, repo) -> None:
    """What is to be forgotten goes at once, with its provenance; a correction waits, and then replaces."""
    for name, rule in (("tabs", "Indent with tabs"), ("pnpm", "Use pnpm for installing packages")):
        text = f"---\nname: {name}\ndescription: {rule}\ntype: feedback\n---\n\n{rule}.\n"
        put(workspace, {f"main/{name}.md": text})
    said = ("please forget what I said about tabs", "actually use bun, not pnpm")
    extract(workspace, edges, session(home, repo, *said))
    assert "main/tabs.md" not in tree(workspace)
    told = parse_trailers(history(workspace)[0])
    assert (told.op, told.writer, told.session[:8]) == ("delete", "extract", "00000001")
    assert "Use pnpm" in tree(workspace)["main/pnpm.md"]
    [waiting] = open_suggestions(workspace)
    assert accept_suggestions(workspace, edges, [waiting])[0].written is not None
    assert tree(workspace)["main/pnpm.md"].endswith("---\n\nUse bun, not pnpm.\n")


def test_a_turn_in_which_the_agent_wrote_memory_is_left_to_it(workspace: Workspace, edges: Edges) -> None:
    path = FIXTURES / "memory.jsonl"
    [outcome] = extract(workspace, edges, path)
    assert outcome.plan.covered and not outcome.plan.stored and not outcome.parked
    assert extract(workspace, edges, path) == ()


MEMORY = "/home/dev/.claude/projects/-home-dev-app/memory"


@pytest.mark.parametrize(
    ("tool", "given", "stored"),
    [
        # The agent kept it, in whatever words and by whatever tool.
        ("Write", {"content": "Deploys go out from the release branch only.\n"}, []),
        ("Edit", {"old_string": "x", "new_string": "Deploy from the release branch only."}, []),
        ("Bash", {"command": f"echo 'we deploy only from the release branch' >> {MEMORY}/x.md"}, []),
        # It wrote something else, or less, or the opposite.
        ("Write", {"content": "The user is a data engineer.\n"}, [True]),
        ("Edit", {"old_string": "We deploy from the release branch only.", "new_string": "x"}, [True]),
        ("Write", {"content": "We never deploy from the release branch.\n"}, [True]),
    ],
)
def test_what_was_asked_is_dropped_only_where_the_agent_wrote_it(
    workspace: Workspace, edges: Edges, tmp_path: Path, tool: str, given: dict[str, str], stored: list[bool]
) -> None:
    made = Transcript(cwd="/home/dev/app")
    made.user("Remember that we deploy from the release branch only.")
    made.call("t1", tool, file_path=f"{MEMORY}/x.md", **given)
    made.result("t1", "ok")
    path = made.write(tmp_path / "s.jsonl")
    [outcome] = extract(workspace, edges, path)
    assert [placed.change.asked for placed in outcome.plan.stored] == stored
    assert bool(outcome.plan.covered) != bool(stored)
    assert extract(workspace, edges, path) == ()


def test_a_secret_is_stored_nowhere(workspace, edges, home, repo, git) -> None:
    path = session(home, repo, f"Remember that the deploy token is {KEY} for staging.", ASKED)
    [outcome] = extract(workspace, edges, path)
    assert [refused.kind for refused in outcome.plan.refused] in ([], ["secret"])
    assert KEY not in str(outcome.plan.refused) and len(history(workspace)) == 1
    private = workspace.private.git_dir
    names = git(f"--git-dir={private}", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    for name in names.split():
        assert KEY not in git(f"--git-dir={private}", "cat-file", "-p", name)
    for file in (file for file in workspace.state.rglob("*") if file.is_file()):
        assert KEY.encode() not in file.read_bytes()


@pytest.mark.parametrize("kind", ["forgot", "rejected"])
@pytest.mark.parametrize("scope", ["local", "user"])
def test_what_was_forgotten_or_rejected_does_not_come_back(
    workspace: Workspace, edges: Edges, home: Path, repo: Path, kind: tombstone.Kind, scope: str
) -> None:
    path = session(home, repo, ASKED)
    (foreseen,) = foresee(context_of(workspace, edges, by_hand=True), OfflineEngine(), [path])
    key = foreseen.plan.stored[0].change.body.split("\n")[0]
    stone = tombstone.bury(key, "0" * 16, "2026-11-20", kind)
    put(workspace, {"main/.tombstones": tombstone.with_stones("", [stone])}, scope)
    before = refs(workspace)
    [outcome] = extract(workspace, edges, path)
    assert [refused.kind for refused in outcome.plan.refused] == ["tombstone"]
    assert refs(workspace) == before


def test_a_tombstone_that_comes_between_plan_and_commit_counts(workspace: Workspace) -> None:

    stone = tombstone.bury("A fact.", "0" * 16, "2026-11-20", "forgot")
    put(workspace, {"main/.tombstones": tombstone.with_stones("", [stone])})
    placed, scope = Placed("local", change("A fact.")), workspace.scope("local")
    assert land_change(scope, placed, ANN, parse_trailers("")) is None
    assert land_change(scope, placed, ANN, parse_trailers(""), lift=True) is not None
    assert "main/.tombstones" not in tree(workspace)


@pytest.mark.parametrize("days", [-200, 0, 200, None])
def test_a_change_is_as_old_as_the_words_that_it_stems_from(workspace: Workspace, days: int | None) -> None:
    """A session may be looked through long after it was held; nothing was said in the future."""
    now = datetime.fromtimestamp(ANN.time, UTC)
    said = None if days is None else now + timedelta(days=days)
    made = replace(change("A fact."), origin=ChangeOrigin("s1", "a", "b", said))
    written = land_change(workspace.scope("local"), Placed("local", made), ANN, parse_trailers(""))
    assert written
    commit = workspace.private.commit(written.commit)
    assert commit.committer.time == ANN.time
    assert commit.author.time == ANN.time + min(0, days or 0) * 86_400


@pytest.mark.parametrize(("mode", "stored", "waiting"), [("auto", 2, 0), ("suggest", 1, 1), ("off", 0, 0)])
def test_the_setting_says_what_is_stored(
    workspace: Workspace,
    edges: Edges,
    home: Path,
    repo: Path,
    git: Git,
    mode: str,
    stored: int,
    waiting: int,
) -> None:
    git("-C", repo, "config", "gitmem.extract", mode)
    extract(initialised_at(edges), edges, session(home, repo, ASKED, RULE))
    assert (len(history(workspace)), len(open_suggestions(workspace))) == (stored, waiting)


def test_what_is_asked_for_later_no_longer_waits(workspace, edges, home, repo) -> None:
    said = change("We ship on Fridays.", asked=False)
    extract_sessions(context_of(workspace, edges), Scripted(said), [session(home, repo, "One.", number=1)])
    assert len(open_suggestions(workspace)) == 1
    asked = replace(said, asked=True)
    extract_sessions(context_of(workspace, edges), Scripted(asked), [session(home, repo, "Two.", number=2)])
    assert open_suggestions(workspace) == () and "main/the-name.md" in tree(workspace)


def test_a_changed_number_takes_the_place_of_the_old_with_a_record(workspace, edges, home, repo) -> None:
    extract(workspace, edges, session(home, repo, "Remember that the grpc port is 7000."))
    extract(workspace, edges, session(home, repo, "Remember that the grpc port is 7001.", number=2))
    files = tree(workspace)
    (text,) = (text for path, text in files.items() if path.endswith(".md") and "MEMORY" not in path)
    assert "grpc port is 7001." in text and "is 7000" not in text
    assert "port is 7001" in files["main/MEMORY.md"] and "is 7000" not in files["main/MEMORY.md"]
    fates = parse_trailers(history(workspace)[0]).claims
    assert fates and {fate.kind for fate in fates} == {"superseded"}


def test_a_job_is_found_again_after_another_writer_came_between(workspace, edges, home, repo) -> None:
    engine, path = Scripted(change("We ship on Fridays.")), session(home, repo, "One.")
    with pytest.raises(Killed):
        extract_sessions(context_of(workspace, edges), engine, [path], watch=kill_at("park"))
    put(workspace, {"main/the-name.md": "---\nname: the-name\n---\n\nSomebody made another fact of it.\n"})
    extract_sessions(context_of(workspace, edges), engine, [])
    assert [path for path in tree(workspace) if path.startswith("main/the-name")] == ["main/the-name.md"]


def test_a_damaged_changeset_is_put_aside_and_its_session_read_again(workspace, edges, home, repo) -> None:
    folder = workspace.state / "spool/changesets"
    folder.mkdir(parents=True)
    (folder / "0123.json").write_text('{"version": 1, "job"')
    extract(workspace, edges, session(home, repo, ASKED))
    assert [file.name for file in folder.iterdir()] == ["0123.damaged"]
    assert len(history(workspace)) == 1
    assert "damaged" in (workspace.state / "log").read_text()


def test_without_an_identity_nothing_is_done_and_nothing_lost(workspace, edges, home, repo) -> None:
    from gitmem.core.errors import RepositoryError

    path = session(home, repo, ASKED)
    config = (home / ".gitconfig").read_text()
    (home / ".gitconfig").write_text("[init]\n\tdefaultBranch = main\n")
    with pytest.raises(RepositoryError, match="no email was given"):
        extract(workspace_at(edges), edges, path)
    (home / ".gitconfig").write_text(config)
    extract(workspace_at(edges), edges, path)
    assert len(history(workspace)) == 1


def test_an_edit_on_disk_and_an_extraction_meet_without_loss(workspace, edges, home, repo) -> None:
    live = live_directory(workspace, "local", "main")
    assert live is not None
    live.path.mkdir(parents=True)
    (live.path / "mine.md").write_text("---\nname: mine\ndescription: Mine\n---\n\nMy own.\n")
    save(SaveRequest(live, edges.now, ANN))
    (live.path / "mine.md").write_text(
        "---\nname: mine\ndescription: Mine\n---\n\nMy own.\n\nMore of it.\n"
    )
    extract(workspace, edges, session(home, repo, ASKED))
    assert "More of it." in tree(workspace)["main/mine.md"]
    assert len(list(live.path.glob("*.md"))) == 3


def test_every_work_tree_that_shows_the_scope_gets_it(workspace, edges, home, repo, git, tmp_path) -> None:
    git("-C", repo, "worktree", "add", "-q", tmp_path / "other", "-b", "other")
    folders = [top / ".claude/agent-memory-local/reviewer" for top in (repo, tmp_path / "other")]
    for folder in folders:
        folder.mkdir(parents=True)
    engine = Scripted(change("We ship on Fridays.", agent="reviewer"))
    extract_sessions(context_of(initialised_at(edges), edges), engine, [session(home, repo, "One.")])
    assert all((folder / "the-name.md").is_file() for folder in folders)


def test_by_hand_from_any_file_and_a_dry_run_answers_whatever_came_before(workspace, gitmem) -> None:
    words = ("extract", "--session", FIXTURES / "plain.jsonl")
    ran = gitmem(*words)
    assert "local/main/deploy-release-branch-only.md" in ran.out
    assert ran.out.count("suggested s-") == 1 and "undo: git mem undo" in ran.err
    before = refs(workspace)
    ran = gitmem(*words)
    assert ran.out == "" and "nothing new" in ran.err
    [told] = gitmem(*words, "-n", "--json").json["sessions"]
    assert not told["stored"] and not told["suggested"]
    left_out = [f"left out: {one['name']}: {one['reason']}" for one in told["known"]]
    assert left_out and gitmem(*words, "-n").out.splitlines() == left_out
    assert refs(workspace) == before
    ran = gitmem("extract", "--session", "no.jsonl", ok=False)
    assert ran.code == 2 and "no.jsonl" in ran.err


def test_a_dry_run_tells_all_and_writes_nothing(workspace: Workspace, repo: Path, gitmem: Gitmem) -> None:
    before = set(repo.joinpath(".git").rglob("*"))
    words = ("extract", "-n", "--session", FIXTURES / "plain.jsonl")
    told = gitmem(*words).out
    assert "would store local/main/deploy-release-branch-only.md" in told
    assert "would suggest" in told
    [told] = gitmem(*words, "--json").json["sessions"]
    assert list(told) == ["session", "path", "stored", "suggested", "refused", "known", "left_to_the_agent"]
    assert told["stored"][0]["commit"] is None
    assert refs(workspace) == {} and set(repo.joinpath(".git").rglob("*")) == before
