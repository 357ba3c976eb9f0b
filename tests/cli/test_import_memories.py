"""Moving in from other tools: what each format becomes, and that nothing lands by itself."""

from __future__ import annotations

import json
import os
import sqlite3
import zipfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from cli_ground import Ground, memory
from planted_secrets import GITHUB

from gitmem.core.trailers import parse
from gitmem.flows.imports.formats import FORMATS

MEM0: dict[str, Any] = {
    "results": [
        {
            "id": "a1",
            "memory": "Ann prefers pnpm to npm.",
            "created_at": "2025-10-01T10:00:00Z",
            "categories": ["preferences"],
            "user_id": "ann",
        },
        {
            "id": "a2",
            "memory": "The release is cut on Tuesdays.",
            "updated_at": "2025-10-02T10:00:00+00:00",
        },
    ]
}


def store(path: Path, project: str = "repo", rows: int = 1) -> Path:
    """A database as claude-mem keeps it."""
    with closing(sqlite3.connect(path)) as opened:
        opened.execute(
            "CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text,"
            " type TEXT, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read,"
            " files_modified TEXT, prompt_number INTEGER, created_at TEXT, created_at_epoch INTEGER)"
        )
        opened.execute(
            "CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT,"
            " request TEXT, learned TEXT, next_steps TEXT, notes TEXT, created_at_epoch INTEGER)"
        )
        for n in range(1, rows + 1):
            opened.execute(
                "INSERT INTO observations"
                " VALUES (?, 's-9', ?, NULL, 'bugfix', ?, NULL, ?, ?, ?, '[]', ?, 4, ?, ?)",
                (n, project, f"Cache key {n} lacked the locale", json.dumps(["The key has no locale."]),
                 f"Pages of two locales were mixed up {n}.", json.dumps(["gotcha"]), '["src/cache.py"]',
                 "2025-11-01T09:00:00.000Z", 1_761_987_600_000),
            )  # fmt: skip
        opened.execute(
            "INSERT INTO session_summaries"
            " VALUES (1, 's-9', ?, 'Mend the cache', 'Purge by tag works.', 'x', NULL, ?)",
            (project, 1_761_987_700_000),
        )
        opened.commit()
    return path


def graph() -> str:
    """What the memory server of MCP keeps."""
    rows: list[dict[str, Any]] = [
        {"type": "entity", "name": "Payments", "entityType": "service", "observations": ["Uses Stripe."]},
        {"type": "relation", "from": "Payments", "to": "Ledger", "relationType": "writes to"},
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


SAID: dict[str, Any] = {
    "id": "m",
    "recipient": "bio",
    "create_time": 1_750_000_000,
    "content": {"parts": ["Ann likes short answers."]},
}
ISSUE = {
    "id": "bd-1",
    "title": "Retry the upload",
    "issue_type": "bug",
    "status": "closed",
    "close_reason": "The host resets after 60 s.",
}
SAMPLES: dict[str, dict[str, str]] = {
    "mem0": {"export.json": json.dumps(MEM0)},
    "claude-export": {"memories.json": json.dumps([{"conversations_memory": "Ann works on gitmem."}])},
    "chatgpt": {"conversations.json": json.dumps([{"id": "c", "mapping": {"n": {"message": SAID}}}])},
    "beads": {"issues.jsonl": json.dumps(ISSUE) + "\n"},
    "mcp-memory": {"memory.jsonl": graph()},
    "claude-code": {
        "MEMORY.md": "- [Ports](ports.md) — which ports\n- The staging host is slow.\n",
        "ports.md": memory("ports", "The port is 8080."),
    },
    "basic-memory": {
        "notes/Coffee Notes.md": "---\ntitle: Coffee Notes\ntype: note\npermalink: notes/coffee\n"
        "tags: [gotcha]\n---\n\n- [method] Grind late #fresh\n- pairs_with [[Cake]]\n"
    },
    "memfs": {"system/human.md": "---\ndescription: Who Ann is\nlimit: 2000\n---\nAnn writes Python.\n"},
    "okf": {
        "index.md": '---\nokf_version: "0.2"\n---\n',
        "tables/users.md": "---\ntype: Table\ntitle: Users\n"
        "description: All accounts\n---\n\nOne row an account.\n",
    },
    "rules": {
        "AGENTS.md": "# Rules\n\n## Tests\n\n- Run them with tox.\n\n## Style\n\nTabs.\n",
        ".cursor/rules/api.mdc": "---\ndescription: API style\nglobs: src/api/**\n---\nReturn JSON.\n",
    },
    "markdown": {"a note.md": "# Deploys\n\nDeploys go out at noon.\n"},
    "list": {"pasted.txt": "```\n[2025-03-01] - Ann lives in Graz.\n- Likes tea.\n```\n"},
}
CLAIMS = {
    "mem0": "Ann prefers pnpm to npm.",
    "claude-export": "Ann works on gitmem.",
    "chatgpt": "Ann likes short answers.",
    "beads": "The host resets after 60 s.",
    "mcp-memory": "writes to [[Ledger]]",
    "claude-code": "The staging host is slow.",
    "basic-memory": "- [method] Grind late #fresh",
    "memfs": "Ann writes Python.",
    "okf": "One row an account.",
    "rules": "**How to apply:** in src/api/**",
    "markdown": "Deploys go out at noon.",
    "list": "Ann lives in Graz.",
}


def sample(folder: Path, files: dict[str, str]) -> Path:
    """Writes files; where it is one, that is what is named."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / next(iter(files)) if len(files) == 1 and "/" not in next(iter(files)) else folder


@pytest.mark.parametrize(
    "name", [one.name for one in FORMATS if not one.name.startswith(("gitmem", "claude-mem"))]
)
def test_each_format_is_recognised_and_waits_and_lands_once(ground, tmp_path, name: str) -> None:
    """Nothing lands before a person accepts it, and the same import again brings nothing."""
    source = sample(tmp_path / "in", SAMPLES[name])
    told = ground.run("import", source, "--json").json
    assert told["format"] == name
    assert told["new"] and not told["refused"]
    assert ground.tip("local") == ""
    again = ground.run("import", source, "--json").json
    assert again["id"] is None and again["known"] == told["found"]
    ground.run("review", "accept", told["id"])
    text = "\n".join(ground.tree("local").values())
    assert CLAIMS[name] in text
    after = ground.run("import", source, "--json").json
    assert after["id"] is None and after["known"] == told["found"]
    assert all(one["field"] and one["becomes"] and one["count"] for one in told["fields"])


def test_the_queue_names_an_import_and_reads_none_of_its_memories(ground: Ground, tmp_path: Path) -> None:
    """There may be ten thousand, and `status` looks at the queue; who asks for it is shown them."""
    source = tmp_path / "m.json"
    source.write_text(
        json.dumps([{"id": f"a{n}", "memory": f"Queue q{n} is drained at {n}."} for n in range(3)])
    )
    id = ground.run("import", source, "--json").json["id"]
    with ground.patch.context() as patch:
        patch.setattr("gitmem.ledger.imports._rows", None)
        assert "Import 3 memories from mem0" in ground.run("status").out
        assert ground.run("review", "--json").json[0]["id"] == id
    told = ground.run("review", "show", id, "--json").json
    assert [one["n"] for one in told["memories"]] == [1, 2, 3] and told["scope"] == "local"


def test_a_database_of_claude_mem_tells_who_learned_what_when(ground: Ground, tmp_path: Path) -> None:
    """Source, session and the original time stand in the commit; the database is not written to."""
    path = store(tmp_path / "claude-mem.db", ground.repo.name)
    before = path.read_bytes()
    id = ground.run("import", path, "--json").json["id"]
    ground.run("review", "accept", id)
    where = ground.workspace.scope("local")
    commits = {
        parse(one.message).source.partition(" ")[0]: one for one in where.repo.history(ground.tip("local"))
    }
    learned = commits["claude-mem:observation/1"]
    assert learned.author.time == 1_761_987_600
    assert parse(learned.message).session == "s-9"
    assert "claude-mem:summary/1" in commits
    assert path.read_bytes() == before and not list(tmp_path.glob(f"{path.name}-*"))
    text = "\n".join(ground.tree("local").values())
    assert (
        "- The key has no locale." in text and "`src/cache.py`" in text and "tags: [bugfix, gotcha]" in text
    )


def test_records_of_other_projects_are_left_out_unless_asked_for(ground: Ground, tmp_path: Path) -> None:
    """One store holds all projects of a person; what another one taught is no memory of this one."""
    path = store(tmp_path / "claude-mem.db", "elsewhere")
    told = ground.run("import", path, "-n", "--json").json
    assert told["new"] == [] and {one["reason"] for one in told["left_out"]} == {"is of project elsewhere"}
    assert len(ground.run("import", path, "--project", "*", "-n", "--json").json["new"]) == 2


def test_what_changed_in_the_source_changes_the_memory_that_it_made(ground: Ground, tmp_path: Path) -> None:
    """An edit there and an edit here meet as any two do."""
    source = sample(tmp_path, SAMPLES["mem0"])
    ground.run("review", "accept", ground.run("import", source, "--json").json["id"])
    MEM0["results"][1]["memory"], kept = "The release is cut on Fridays.", MEM0["results"][1]["memory"]
    source.write_text(json.dumps(MEM0))
    MEM0["results"][1]["memory"] = kept
    told = ground.run("import", source, "--json").json
    assert [(one["source"].split()[0], one["changed"]) for one in told["new"]] == [("mem0:a2", True)]
    ground.run("review", "accept", told["id"])
    text = "\n".join(ground.tree("local").values())
    assert "Fridays" in text and "is cut on Tuesdays.\n" not in text


def test_what_was_squashed_says_not_which_memory_a_source_made(ground: Ground, tmp_path: Path) -> None:
    """A host that squashes puts many memories and sources into one commit: none replaces another."""
    path = tmp_path / "in.json"
    path.write_text(json.dumps(MEM0))
    done = ground.run("import", path, "--json", "--scope", "project").json
    ground.run("review", "accept", done["id"], "-y")
    git, ref = ground.workspace.code.git, "refs/gitmem/project"
    said = git.run(["log", "--format=%B", ref], cwd=ground.repo).text
    root = git.run(["rev-list", "--max-parents=0", ref], cwd=ground.repo).text
    squashed = git.run(["commit-tree", f"{ref}^{{tree}}", "-p", root, "-m", said], cwd=ground.repo).text
    git.run(["update-ref", ref, squashed], cwd=ground.repo)
    later = [{**one, "memory": f"{one['memory']} Now otherwise."} for one in MEM0["results"]]
    path.write_text(json.dumps(later))
    told = ground.run("import", path, "--json", "--scope", "project").json
    assert [row["changed"] for row in told["new"]] == [False, False]


def test_a_secret_stays_out_and_all_else_of_its_memory_comes(ground: Ground, tmp_path: Path) -> None:
    """It is named without being told, and stands in no object."""
    secret = GITHUB
    source = sample(tmp_path / "in", {"a.md": f"# Hosts\n\nThe host is up.\n\nThe token is {secret}\n"})
    done = ground.run("import", source)
    assert "refused" in done.out and secret not in done.out + done.err
    assert "1 refused" in done.err and "forgotten" not in done.err
    ground.run("review", "accept", "im-")
    text = "\n".join(ground.tree("local").values())
    assert "The host is up." in text and secret not in text
    private = ground.workspace.private
    assert not any(
        secret.encode() in private.blob(oid)
        for oid in private.files(private.commit(ground.tip("local")).tree).values()
    )


def test_what_was_forgotten_or_rejected_stays_away(ground: Ground, tmp_path: Path) -> None:
    """A person's decision outlasts any number of imports."""
    source = sample(tmp_path, SAMPLES["mem0"])
    id = ground.run("import", source, "--json").json["id"]
    ground.run("review", "reject", id, "1")
    ground.run("review", "accept", id)
    assert "pnpm" not in "\n".join(ground.tree("local").values())
    ground.run("forget", "the-release-is-cut-on-tuesdays")
    told = ground.run("import", source, "--json").json
    assert told["new"] == [] and len(told["forgotten"]) == 2


def test_part_of_an_import_is_accepted_by_number_and_an_undo_lets_it_wait_again(ground, tmp_path) -> None:
    """The rest goes on waiting under the same id."""
    source = sample(tmp_path, SAMPLES["mem0"])
    id = ground.run("import", source, "--json").json["id"]
    ground.run("review", "accept", id, "2")
    assert "Tuesdays" in "\n".join(ground.tree("local").values())
    shown = ground.run("review", "show", id, "--json").json
    assert [one["source"].split()[0] for one in shown["memories"]] == ["mem0:a1"]
    ground.run("review", "accept", id)
    ground.run("undo")
    assert id in ground.run("review").out


def test_a_part_that_holds_what_may_be_a_secret_lands_not_at_all(ground: Ground, tmp_path: Path) -> None:
    """Numbers are counted anew once some are decided: one that is named afterwards would be another's."""
    files = {f"{name}.md": f"# Note {name}\n\nThe host {name} is up.\n" for name in "abc"}
    source = sample(tmp_path / "in", files | {"d.md": "# Note d\n\nThe password is hunter2Secret9x\n"})
    id = ground.run("import", source, "--scope", "project", "--json").json["id"]
    before = ground.tip("project")
    assert "may hold a secret" in ground.run("review", "accept", id, "1", "2", "4", code=1).err
    shown = ground.run("review", "show", id, "--json").json
    assert len(shown["memories"]) == 4 and ground.tip("project") == before


def test_an_import_into_the_project_leaves_nothing_in_the_code_until_accepted(ground, tmp_path) -> None:
    """A push of the code carries no memory that nobody looked at."""
    source = sample(tmp_path, SAMPLES["mem0"])
    id = ground.run("import", source, "--scope", "project", "--json").json["id"]
    assert ground.workspace.code.refs("refs/gitmem/") == {}
    ground.run("review", "accept", id)
    assert "Tuesdays" in "\n".join(ground.tree("project").values())
    names = [parse(one.message).source for one in ground.workspace.code.history(ground.tip("project"))]
    assert sum(name.startswith("mem0:") for name in names) == 2


def test_what_is_about_a_person_never_comes_into_the_project(ground: Ground, tmp_path: Path) -> None:
    """Whoever imports into the team's memory is told what of it stays out."""
    rows = [
        {"id": "1", "memory": "Ann is colour-blind.", "categories": ["personal"]},
        {"id": "2", "memory": "The build needs Node 22."},
    ]
    source = tmp_path / "export.json"
    source.write_text(json.dumps(rows))
    told = ground.run("import", source, "--scope", "project", "--json").json
    assert [one["source"] for one in told["new"]] == ["mem0:2"]
    assert told["left_out"] == [{"name": "1", "reason": "is about a person, so never the project's"}]


def test_more_than_an_agent_keeps_in_sight_goes_to_the_archive_oldest_first(ground, tmp_path) -> None:
    """A large import lands as it would have been learned over time."""
    rows = [
        {"id": str(n), "memory": f"Fact number {n} of many.", "created_at": 1_700_000_000 + n}
        for n in range(230)
    ]
    source = tmp_path / "export.json"
    source.write_text(json.dumps(rows))
    ground.run("review", "accept", ground.run("import", source, "--json").json["id"])
    tree = ground.tree("local")
    assert sum("/archive/" in path for path in tree) == 30
    assert "main/fact-number-229-of-many.md" in tree and "main/fact-number-0-of-many.md" not in tree


def test_a_file_of_rules_is_told_as_that_file_whoever_wrote_it(ground: Ground, tmp_path: Path) -> None:
    """That a person took it in does not make it something that they said."""
    (tmp_path / "AGENTS.md").write_text("# Rules\n\n## Tests\n\n- Run them with tox.\n")
    id = ground.run("import", tmp_path / "AGENTS.md", "--json").json["id"]
    ground.run("review", "accept", id)
    (path,) = (path for path in ground.tree("local") if path.startswith("main/agents-"))
    assert "Ann, from rules:AGENTS.md#agents-" in ground.run("blame", path.removeprefix("main/")).out
    assert "Ann, from rules:AGENTS.md#agents-" in ground.run("log").out
    where = ground.workspace.scope("local")
    writers = {
        parse(one.message).writer
        for one in where.repo.history(ground.tip("local"))
        if "Gitmem-Source:" in one.message
    }
    assert writers == {"agent"}


def test_an_exported_memory_without_a_description_is_named_by_what_it_says(ground, tmp_path) -> None:
    """The first line of its frontmatter is none."""
    content = "---\nname: a\ntype: project\n---\n\nThe queue is drained at night.\n"
    memory = {"agent": "main", "file": "a.md", "content": content}
    (tmp_path / "e.json").write_text(json.dumps({"format": "gitmem-json", "memories": [memory]}))
    assert "a.md: The queue is drained at night." in ground.run("import", tmp_path / "e.json").out


def test_a_damaged_archive_or_one_of_too_large_files_is_an_error_that_says_so(ground, tmp_path) -> None:
    """Whatever it was packed with, and no traceback."""
    packed = tmp_path / "a.zip"
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(packed, "w", method) as archive:
            archive.writestr("good.md", "".join(f"Fact {number}.\n" for number in range(500)))
        data = bytearray(packed.read_bytes())
        at = data.index(b"good.md") + 20
        data[at : at + 12] = b"\xff" * 12
        packed.write_bytes(data)
        assert "good.md in the archive cannot be read" in ground.run("import", packed, code=2).err
    ground.patch.setattr("gitmem.flows.imports.source.FILE_BYTES", 100)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("good.md", "# Good\n\nIn it.\n" * 50)
    told = ground.run("import", packed, code=2).err
    assert "Nothing in" in told and "good.md has more than 100 bytes" in told


def test_hostile_sources_lead_nowhere(ground: Ground, tmp_path: Path) -> None:
    """Links, paths out of an archive, tags of YAML and odd JSON are passed over and named."""
    (tmp_path / "outside.md").write_text("Not yours.\n")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    (folder / "up").symlink_to(tmp_path)
    (folder / "tag.md").write_text("---\nname: !!python/object/apply:os.system [true]\n---\n\nA fact.\n")
    told = ground.run("import", folder, "--json").json
    assert {one["name"] for one in told["left_out"]} == {"link.md", "tag.md", "up"}
    assert told["new"] == []
    packed = tmp_path / "a.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../../evil.md", "# Evil\n\nOut of it.\n")
        archive.writestr("good.md", "# Good\n\nIn it.\n")
    told = ground.run("import", packed, "--json").json
    assert [one["path"] for one in told["new"]] == ["main/good.md"]
    for text, code in (
        ("[" * 100_000, 2),
        ('[{"id": 1, "memory": 5}]', 0),
        ("{}", 0),
        ('{"results": null}', 0),
    ):
        (tmp_path / "bad.json").write_text(text)
        ground.run("import", tmp_path / "bad.json", "--format", "mem0", code=code)
    ground.run("import", tmp_path / "missing", code=2)
    ground.run("import", tmp_path / "bad.json", "--format", "nothing", code=2)


def test_a_time_that_none_can_be_is_no_time(ground: Ground, tmp_path: Path) -> None:
    """The memory comes without it."""
    path = tmp_path / "in.json"
    for when in ("²", 10**400, "1950-01-01", "9999-12-31T23:59:59-10:00"):
        path.write_text(json.dumps([{"id": "a", "memory": "The queue has a lock.", "created_at": when}]))
        (row,) = ground.run("import", path, "-n", "--json").json["new"]
        assert row["time"] is None, when


def test_broken_letters_and_lists_of_a_source_are_no_faults_of_ours(ground: Ground, tmp_path: Path) -> None:
    """Half of a surrogate pair, a number for a list, a name of odd bytes."""
    node = {"message": {"id": "m", "recipient": "bio", "content": {"parts": 5}}}
    broken = {
        "in.json": json.dumps([{"id": "\ud800", "memory": "The queue \ud800 has a lock."}]),
        "g.jsonl": '{"type": "entity", "name": "E", "entityType": "x", "observations": 5}',
        "conversations.json": json.dumps([{"mapping": {"n": node}}]),
    }
    found = [ground.run("import", sample(tmp_path, {name: broken[name]}), "--json").json for name in broken]
    assert len(found[0]["new"]) == 1
    folder = tmp_path / "notes"
    folder.mkdir()
    with suppress(OSError):  # some file systems have no such names
        (folder / os.fsdecode(b"n\xff.md")).write_text("A note.\n")
        ground.run("import", folder)


def test_two_memories_for_one_path_are_told_apart_or_named(ground: Ground, tmp_path: Path) -> None:
    """A log has no other name: the second of that name is left out by name, not passed over."""
    path = tmp_path / "in.json"
    file = "logs/2025/01/2025-01-02.md"
    memories = [{"agent": "main", "file": file, "content": f"- Fact {n} of a log.\n"} for n in (1, 2)]
    path.write_text(json.dumps({"format": "gitmem-json", "memories": memories}))
    told = ground.run("import", path, "--json").json
    assert [one["path"] for one in told["new"]] == [f"main/{file}"]
    assert [one["name"] for one in told["left_out"]] == [f"main/{file}"]


def test_a_purge_takes_its_text_out_of_an_import_that_waits(ground: Ground, tmp_path: Path) -> None:
    """What waits is in the private repository, where a purge looks at everything."""
    source = sample(tmp_path, SAMPLES["mem0"])
    ground.run("import", source)
    ground.run("remember", "A fact that stays.")
    said = ground.run("purge", "pnpm to npm", "-y").err
    assert "out of reach:" in said and "forks" not in said, "this repository has no remote"
    shown = ground.run("review", "show", "im-", "--json").out if "im-" in ground.run("review").out else ""
    assert "pnpm to npm" not in shown
    names = ground.workspace.private.git.run(
        ["cat-file", "--batch-all-objects", "--batch"], git_dir=ground.workspace.private.git_dir
    )
    assert b"pnpm to npm" not in names.stdout
