"""Daily logs as a person and an agent read them: recalled, shown, listed, blamed, restored, aged out."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cli_ground import DAY, START, Ground, memory

from gitmem.app.session_context import user_prompt
from gitmem.app.session_start import session_start
from gitmem.app.upkeep import age_out_logs
from gitmem.cli.options import memory_names, names
from gitmem.core import tombstone
from gitmem.core.account import reference
from gitmem.core.daily_log import facts
from gitmem.core.trailers import Fate, Provenance
from gitmem.core.trailers import parse as parse_trailers
from gitmem.ledger.taint import note_tainted
from gitmem.ledger.workspace import MAIN

LINTER = "Run the linter before every push. **Why:** CI takes ten minutes."


def day(ago: int = 0) -> str:
    return datetime.fromtimestamp(START - ago * DAY, UTC).date().isoformat()


def path(ago: int = 0, agent: str = MAIN) -> str:
    date = day(ago)
    return f"{agent}/logs/{date[:4]}/{date[5:7]}/{date}.md"


def line(text: str, time: str = "07:05:33", type: str = "feedback") -> str:
    return f"- {time}Z [{type} 258c7280] {text}\n"


def told(ago: int = 0) -> Provenance:
    return Provenance("add", "extract", f"258c7280-{ago}", ("m-1", "m-2"), "job-1", "c" * 40, "offline")


def log(ground: Ground, *texts: str, ago: int = 0, scope: str = "local") -> str:
    """A day's log; gives its path."""
    content = "".join(line(text, f"07:0{number}:33") for number, text in enumerate(texts))
    ground.learn({path(ago): content}, scope, told=told(ago))
    return path(ago)


def named(ground: Ground, at: str, number: int = 0, scope: str = "local") -> str:
    """A line by the name that a fate gives it."""
    return reference(at, facts(at, ground.tree(scope)[at].encode())[number][0])


def recalled(ground: Ground, *words: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(ground.run("recall", "--json", *words).out)["items"]
    return items


def aged_out(ground: Ground) -> Path:
    """A live directory's log of twenty days ago that went to the archive; gives its file, still there."""
    body = "Run the linter before every push.\n\n**Why:** CI takes ten minutes."
    ground.learn({path(20, "reviewer"): line(LINTER), "reviewer/linter.md": memory("linter", body)})
    file = ground.folder() / path(20, "reviewer").partition("/")[2]
    ground.run("save")
    assert file.is_file() and age_out_logs(ground.workspace.scope("project"), ground.now) is not None
    return file


def test_lines_of_the_last_days_are_recalled_as_items(ground: Ground) -> None:
    log(ground, LINTER, ago=2)
    log(ground, "Run the linter twice before a release.", ago=9)
    (item,) = recalled(ground, "when", "does", "the", "linter", "run")
    assert (item["kind"], item["name"]) == ("log", f"log {day(2)} 07:00")
    assert (item["file"], item["type"]) == (path(2).partition("/")[2], "feedback")
    assert item["text"] == LINTER and item["age_days"] == 2
    assert "said in session 258c7280" in item["note"]
    said = ground.run("recall", "when does the linter run").out
    assert f"log {day(2)} 07:00" in said and "**Why:**" in said


def test_what_is_written_freely_hides_no_fact_and_is_blamed_as_well(ground: Ground) -> None:
    free = f"---\n# Friday\n```\n{line('Ports are pinned.')}  - below\n"
    ground.learn({path(): free}, "local", told=told())
    assert [item["text"] for item in recalled(ground, "which", "ports", "are", "pinned")] == [
        "Ports are pinned."
    ]
    blamed = json.loads(ground.run("blame", day(), "--json").out)
    assert " ".join(one["text"] for one in blamed).split() == free.split()
    assert all(one["origins"] for one in blamed)
    (found,) = json.loads(ground.run("blame", "--text", "ports are pinned", "--json").out)
    assert found["origins"][0]["line"]["text"] == "Ports are pinned."
    shown = ground.run("blame", day()).out
    assert "from main/logs" not in shown, "a line of a log is made of no other"
    assert "1 daily log" in ground.run("status").out


def test_recall_as_of_then_sees_the_days_before(ground: Ground) -> None:
    ground.now = START - 30 * DAY
    log(ground, LINTER, ago=31)
    then = ground.tip("local")
    ground.now = START
    log(ground, "Deploys are on Mondays.")
    assert recalled(ground, "linter", "push") == []
    (item,) = recalled(ground, "linter", "push", "--at", then)
    assert (item["kind"], item["text"], item["commit"]) == ("log", LINTER, then)


def test_a_line_that_a_memory_says_is_not_recalled(ground: Ground) -> None:
    log(ground, LINTER, "Tabs, please.")
    body = (
        "Run the linter before every push.\n\n**Why:** CI takes ten minutes.\n\n**How to apply:** make lint"
    )
    ground.learn(
        {"main/linter.md": memory("linter", body), "main/t.md": memory("t", "Tabs, please.")}, "local"
    )
    assert [item["kind"] for item in recalled(ground, "linter before a push")] == ["memory"]
    assert [item["kind"] for item in recalled(ground, "tabs please")] == ["memory"]


def test_a_line_of_which_a_memory_was_made_is_recalled_again_once_that_is_undone(ground: Ground) -> None:
    at = log(ground, LINTER)
    source = named(ground, at)
    fate = Fate("merged", source, "main/style.md#0123456789ab")
    words = "Lint first: the build is slow."
    distilled = Provenance("dream", "dream", claims=(fate,))
    ground.learn({"main/style.md": memory("style", words)}, "local", told=distilled)
    assert recalled(ground, "run the linter before every push") == []
    ground.run("undo", ground.tip("local")[:12])
    assert [item["kind"] for item in recalled(ground, "run the linter before every push")] == ["log"]


@pytest.mark.parametrize("buried", ["Run the linter before every push.", "line"])
def test_what_was_forgotten_or_rejected_is_not_recalled(ground: Ground, buried: str) -> None:
    at = log(ground, LINTER)
    key = f"dream distil {named(ground, at)[-12:]}" if buried == "line" else buried
    stone = tombstone.bury(key, "ab" * 16, "2027-01-15", "rejected")
    ground.learn({f"main/{tombstone.FILE}": stone.line()}, "local")
    assert recalled(ground, "linter push") == []


def test_a_prompt_gets_a_line_once_though_its_log_grows(ground: Ground) -> None:
    log(ground, LINTER)
    prompt = {"session_id": "s-1", "cwd": str(ground.repo), "prompt": "may I push without the linter?"}
    text = user_prompt(prompt)
    assert LINTER in text and f"log {day()} 07:00" in text and f"local/{path()}" in text
    log(ground, LINTER, "Deploys are on Mondays.")
    assert user_prompt(prompt) == ""
    assert LINTER in user_prompt({**prompt, "session_id": "s-2"})


def test_a_start_names_the_logs_by_a_pattern(ground: Ground) -> None:
    """A date of the day would end every cached prompt at midnight."""
    start = {"session_id": "s-1", "cwd": str(ground.repo), "source": "startup"}
    assert "gitmem.mode" not in session_start(start)
    ground.workspace.git.run(["config", "gitmem.mode", "log"], cwd=ground.repo)
    said = session_start(start)
    assert "gitmem.mode is log" in said and "logs/YYYY/MM/YYYY-MM-DD.md" in said
    assert day()[:4] not in said


def test_a_log_is_listed_shown_and_blamed_by_its_date(ground: Ground) -> None:
    ground.learn({"main/tone.md": memory("tone", "Answers are short.")}, "local")
    log(ground, LINTER)
    first = ground.tip("local")
    log(ground, LINTER, "Deploys are on Mondays.")
    assert "1 daily log: git mem list --logs" in ground.run("list").err
    (row,) = json.loads(ground.run("list", "--logs", "--json").out)
    assert row == {
        "day": day(), "scope": "local", "agent": "main", "file": path().partition("/")[2],
        "facts": 2, "last": f"{day()}T07:01:33Z", "archived": False,
    }  # fmt: skip
    for name in (day(), path(), f"local/{path()}", f"main/{day()}", f"{day()}.md"):
        assert ground.run("show", name).out == ground.tree("local")[path()]
    assert json.loads(ground.run("show", day(), "--json").out)["kind"] == "log"
    lines = json.loads(ground.run("blame", day(), "--json").out)
    assert [one["origins"][0]["commit"] for one in lines] == [first, ground.tip("local")]
    (origin,) = lines[0]["origins"]
    assert origin["told"][0]["session"] == "258c7280-0" and origin["told"][0]["messages"] == ["m-1", "m-2"]
    assert "session 258c7280-0, messages m-1..m-2" in ground.run("blame", day()).out
    (said,) = json.loads(ground.run("blame", "--text", "deploys are on mondays", "--json").out)
    assert said["file"] == path().partition("/")[2] and said["origins"][0]["commit"] == ground.tip("local")
    assert len(ground.run("log", day()).out.splitlines()) == 4
    changed = ground.run("diff", first, "@", "--scope", "local").out
    assert "+ - 07:01:33Z [feedback 258c7280] Deploys are on Mondays." in changed
    assert "no daily log of 1999-01-01" in ground.run("show", "1999-01-01", code=2).err


def test_a_log_ages_out_once_nothing_of_it_waits(ground: Ground) -> None:
    settled, waiting = log(ground, LINTER, ago=20), log(ground, "Deploys are on Mondays.", ago=19)
    young = log(ground, LINTER, ago=3)
    scope = ground.workspace.scope("local")
    body = "Run the linter before every push.\n\n**Why:** CI takes ten minutes."
    ground.learn({"main/linter.md": memory("linter", body)}, "local")
    before = ground.tree("local")
    written = age_out_logs(scope, ground.now)
    assert written is not None and age_out_logs(scope, ground.now) is None
    told = parse_trailers(scope.repo.commit(written.commit).message)
    assert (told.op, told.writer) == ("page", "sync"), "which makes no fact young"
    cold = settled.replace("main/", "main/archive/", 1)
    after = ground.tree("local")
    assert after == {cold if at == settled else at: data for at, data in before.items()}
    assert waiting in after and young in after
    assert ground.run("show", day(20)).out == before[settled]
    assert json.loads(ground.run("blame", day(20), "--json").out)[0]["origins"][0]["path"] == settled
    rows = json.loads(ground.run("list", "--logs", "-a", "--json").out)
    assert [row["day"] for row in rows if row["archived"]] == [day(20)]
    ground.run("restore", day(20))
    assert ground.tree("local") == before


def test_an_append_can_be_undone_after_its_log_was_aged_out(ground: Ground) -> None:
    """Ageing out itself is housekeeping, which undo passes over like the paging of memories."""
    at = log(ground, LINTER, ago=20)
    before = ground.tree("local")[at]
    log(ground, LINTER, "Tabs, please.", ago=20)
    appended = ground.tip("local")
    body = "Run the linter before every push.\n\n**Why:** CI takes ten minutes.\n\nTabs, please."
    ground.learn({"main/linter.md": memory("linter", body)}, "local")
    assert age_out_logs(ground.workspace.scope("local"), ground.now) is not None
    ground.run("undo", appended[:12])
    assert ground.tree("local")[at] == before
    assert at.replace("main/", "main/archive/", 1) not in ground.tree("local")


def test_a_live_folder_loses_a_log_that_was_aged_out_and_that_is_no_deletion(ground: Ground) -> None:
    file = aged_out(ground)
    ground.run("save")
    assert not file.exists()
    assert path(20, "reviewer").replace("reviewer/", "reviewer/archive/", 1) in ground.tree()
    ground.run("uninstall", "-y")
    assert file.read_text() == line(LINTER)


def test_a_log_that_is_gone_comes_back_by_its_date_which_completion_offers(ground: Ground) -> None:
    at = log(ground, LINTER)
    ground.learn({"main/tone.md": memory("tone", "Answers are short.")}, "local")
    app = click.Context(click.Command("gitmem"))
    assert names(app, "") == [day(), "tone"]  # type: ignore[arg-type]
    assert memory_names(app, "") == ["tone"]  # type: ignore[arg-type]
    before = ground.tree("local")[at]
    ground.learn({at: None}, "local")
    assert ground.run("restore", day()).out.endswith(": 1 file changed\n")
    assert ground.tree("local")[at] == before


def test_what_an_agent_appends_to_a_log_that_was_aged_out_meanwhile_is_kept(ground: Ground) -> None:
    file, at = aged_out(ground), path(20, "reviewer")
    file.write_text(file.read_text() + line("Deploys are on Mondays.", "09:00:00"))
    ground.run("save")
    both = line(LINTER) + line("Deploys are on Mondays.", "09:00:00")
    assert ground.tree()[at] == both == file.read_text()
    assert at.replace("reviewer/", "reviewer/archive/", 1) not in ground.tree()


def test_a_teammates_line_is_named_and_its_secret_hidden(ground: Ground) -> None:
    ground.workspace.git.run(["config", "gitmem.share", "direct"], cwd=ground.repo)
    token = "ghp_" + "r4Nd0mT0k3nV4lu3xYzQwErTyUiOpAsDfGh12"
    secret = line(f"The linter runs with the token {token} in CI.", "07:01:00", "project")
    ground.learn({path(): line(LINTER) + secret}, "project", who="Ben")
    note_tainted(ground.workspace.scope("project"))
    (item,) = recalled(ground, "when does the linter run in CI")
    assert item["text"] == LINTER and 'taught by "Ben"' in item["note"]
    assert token not in ground.run("recall", "linter token CI").out + ground.run("show", day()).out
