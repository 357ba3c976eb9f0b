"""`git mem review --open`: what is pushed, what `gh` is told, and the link where it is not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from machines import Machine

sys.path.insert(0, str(Path(__file__).parent.parent / "flows"))

from request_ground import FACTS, Team, learn_all, team

__all__ = ["team"]
INBOX = "gitmem/inbox/ann-example-com"
GITHUB = "https://github.com/ann/code"
COMPARE = f"{GITHUB}/compare/gitmem/project...{INBOX}?expand=1"
PULL = f"{GITHUB}/pull/7"

GH = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word" >>"$GH_LOG"; done
echo --- >>"$GH_LOG"
previous=
for word in "$@"; do
  [ "$previous" = --body-file ] && cat "$word" >"$GH_LOG.body"
  previous=$word
done
case "$1 $2" in
  "pr list") cat "$GH_LOG.list" ;;
  "pr create") [ -e "$GH_LOG.fail" ] && { echo "HTTP 403: no @team" >&2; exit 1; }; echo "{pull}" ;;
esac
"""


class FakeGh:
    """A `gh` that writes down how it was called."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        folder.mkdir()
        self.log = folder / "log"
        program = folder / "gh"
        program.write_text(GH.replace("{pull}", PULL))
        program.chmod(0o755)
        self.open("[]")
        patch.setenv("GH_LOG", str(self.log))
        patch.setenv("PATH", f"{folder}:{Path('/usr/local/bin')}:/usr/bin:/bin")

    def open(self, rows: str) -> None:
        """What it answers when asked for open requests."""
        Path(f"{self.log}.list").write_text(rows)

    @property
    def calls(self) -> list[list[str]]:
        text = self.log.read_text() if self.log.exists() else ""
        return [call.splitlines() for call in text.split("---\n") if call]

    @property
    def body(self) -> str:
        return Path(f"{self.log}.body").read_text()


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGh:
    return FakeGh(tmp_path / "tools", monkeypatch)


def on_github(team: Team, machine: Machine, address: str = f"{GITHUB}.git") -> None:
    """Calls the host by an address at GitHub, which git is told to find in the test's own folder."""
    machine.git("config", "remote.origin.url", address)
    machine.git("config", f"url.{team.host.as_uri()}.insteadOf", address)


@pytest.fixture
def ann(team: Team) -> Machine:
    made = team.found()
    on_github(team, made)
    return made


def test_a_request_is_opened_with_a_card_for_each_memory(team: Team, ann: Machine, gh: FakeGh) -> None:
    learn_all(ann)
    done = ann.run("review", "--open", "-y")
    assert done.out == f"created {PULL}\n"
    listed, created = gh.calls
    repository = ["--repo", "github.com/ann/code"]
    assert listed[:4] == ["pr", "list", *repository]
    assert created[:4] == ["pr", "create", *repository]
    told = dict(zip(created[4::2], created[5::2], strict=True))
    assert told["--base"] == "gitmem/project" and told["--head"] == INBOX
    assert told["--title"].startswith(f"{INBOX}: ") and "in 3 memories" in told["--title"]
    assert not Path(told["--body-file"]).exists()
    assert (
        "+ The debugger takes 4999.\n# said by Ann, 2026-11-18\n# Add ports\n# main/ports.md: added"
        in gh.body
    )
    assert "squash and a rebase all land" in gh.body and "git mem review accept i-" in gh.body
    assert "main/ports.md" in team.reviewer.host_files(INBOX)


def test_an_open_request_is_updated_and_never_doubled(ann: Machine, gh: FakeGh) -> None:
    learn_all(ann, ("ports",))
    ann.run("review", "--open", "-y")
    gh.open(
        '[{"number": 3, "url": "https://github.com/ben/code/pull/3", "isCrossRepository": true},'
        f' {{"number": 7, "url": "{PULL}", "isCrossRepository": false}}]'
    )
    learn_all(ann, ("tea",))
    assert ann.run("review", "open", "-y").out == f"updated {PULL}\n"
    assert gh.calls[-1][:3] == ["pr", "edit", "7"] and "Meetings start at ten." in gh.body
    assert [call[1] for call in gh.calls].count("create") == 1


def test_without_gh_the_link_is_printed(team: Team, ann: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    learn_all(ann, ("ports",))
    done = ann.run("review", "--open", "-y")
    assert done.out == f"{COMPARE}\n" and f"--delete {INBOX}" in done.err
    assert INBOX in team.reviewer.branches()


def test_where_gh_fails_or_is_the_repositorys_own_the_link_is_printed(ann: Machine, gh: FakeGh) -> None:
    Path(f"{gh.log}.fail").touch()
    learn_all(ann, ("ports",))
    done = ann.run("review", "--open", "-y")
    assert done.out == f"{COMPARE}\n" and "HTTP 403" in done.err
    tools = ann.code / "bin"
    tools.mkdir()
    (tools / "gh").write_text(f"#!/bin/sh\ntouch {gh.log}.hostile\n")
    (tools / "gh").chmod(0o755)
    ann.patch.setenv("PATH", f"{tools}:bin:/usr/bin:/bin")
    assert ann.run("review", "--open", "-y").out == f"{COMPARE}\n"
    assert not Path(f"{gh.log}.hostile").exists()


def test_an_unknown_host_gets_branch_names(team: Team) -> None:
    ann = team.found()
    learn_all(ann, ("ports",))
    done = ann.run("review", "--open", "-y", "--json").json
    assert (done["outcome"], done["url"], done["branch"]) == ("branches", None, INBOX)
    assert ann.run("review", "--open", "-y").out == (
        f"open a request from {INBOX} into gitmem/project at origin\n"
    )


def test_a_dry_run_prints_the_text_and_sends_nothing(team: Team, ann: Machine, gh: FakeGh) -> None:
    learn_all(ann)
    before = team.reviewer.branches()
    shown = ann.run("review", "--open", "-n")
    assert "would ask: " in shown.out and "\n### 1. `main/" in shown.out and "\n+ " in shown.out
    assert team.reviewer.branches() == before and gh.calls == []
    value = ann.run("review", "--open", "-n", "--json").json
    assert value["dry_run"] and value["outcome"] == "planned" and FACTS["tea"] in value["body"]


def test_memory_that_nobody_agreed_to_share_is_held_back(team: Team, ann: Machine, gh: FakeGh) -> None:
    learn_all(ann, ("ports",))
    done = ann.run("review", "--open", code=1)
    assert "leaves for the first time: main/ports" in done.err
    assert gh.calls == [] and INBOX not in team.reviewer.branches()
    (item,) = ann.run("review", "--json").json
    assert item["kind"] == "leaving" and [one["name"] for one in item["memories"]] == ["ports"]
    assert "main/ports" in ann.run("review", "show", item["id"]).out
    ann.run("review", "accept", item["id"])
    assert ann.run("review", "--json").json == []
    assert ann.run("review", "--open").out == f"created {PULL}\n"


def test_nothing_to_ask_for_and_an_unknown_id_are_said(ann: Machine, gh: FakeGh) -> None:
    assert "Nothing of yours waits" in ann.run("review", "--open", "-y", code=1).err
    assert "It can for: inbox" in ann.run("review", "--open", "d-ffffff", code=2).err
    assert gh.calls == []


def test_without_sharing_nothing_is_opened(team: Team) -> None:
    ann = team.found()
    ann.run("share", "--off")
    assert "Sharing is off" in ann.run("review", "--open", code=1).err


def test_a_dream_is_opened_with_its_account(team: Team, gh: FakeGh) -> None:
    ann = team.found(mode="direct")
    on_github(team, ann)
    ann.learn("hint", "The build broke yesterday.", scope="project")
    ann.run("sync", "-y")
    ann.run("dream", "--force", "--scope", "project")
    (item,) = ann.run("review", "--json").json
    branch = f"gitmem/dream/{item['id']}"
    assert ann.run("review", "--open", item["id"]).out == f"created {PULL}\n"
    told = dict(zip(gh.calls[-1][4::2], gh.calls[-1][5::2], strict=True))
    assert (told["--head"], told["--title"]) == (branch, f"Dream {item['id']}: 1 change")
    assert "- 1 date made absolute\n" in gh.body
    assert "### 1. `Date what hint says`\n\n`“yesterday” is 2026-" in gh.body
    assert (
        "- The build broke yesterday.\n# said by Ann, 2026-11-18\n+ The build broke yesterday (2026-"
        in gh.body
    )
    assert "# becomes this: main/hint.md" in gh.body
    assert branch in team.reviewer.branches()


def test_a_dream_on_memory_that_still_waits_is_refused(ann: Machine, gh: FakeGh) -> None:
    """Its request would ask for the other memory as well, in one lump."""
    ann.learn("hint", "The build broke yesterday.", scope="project")
    ann.learn("other", "Another fact.", scope="project")
    ann.run("sync", "-y")
    ann.run("dream", "--force", "--scope", "project")
    (item,) = ann.run("review", "--json").json
    done = ann.run("review", "--open", item["id"], "-y", code=1)
    assert "builds on memory that is not on the memory branch yet: main/other.md" in done.err
