"""blame: who taught each claim, in lines and JSON; and which memories say a thing."""

from __future__ import annotations

import subprocess

import pytest
from cli_ground import Ground, memory

from gitmem.core.claim import parse_body
from gitmem.core.names import archive_path
from gitmem.core.trailers import Fate, Provenance
from gitmem.ledger.code_rewrites import keep_rewrites


def head(ground: Ground) -> str:
    done = subprocess.run(
        ["git", "-C", str(ground.repo), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def filled(ground: Ground) -> Ground:
    ground.learn({"reviewer/ports.md": memory("ports", "Port 8080 is taken.")}, subject="Add ports")
    ground.learn(
        {"reviewer/ports.md": memory("ports", "Port 8080 is taken.\n\nPort 9090 is free.")},
        subject="Learn of 9090",
        told=Provenance(
            op="update",
            writer="extract",
            session="s-1",
            messages=("m-1", "m-2"),
            engine="offline",
            code_commit=head(ground),
        ),
        who="Ben",
    )
    ground.learn({"main/tone.md": memory("tone", "Short answers.", type="user")}, "local", "Add tone")
    return ground


def test_blame_shows_a_line_a_claim_with_its_session_below(filled: Ground) -> None:
    second, first = [entry["commit"][:12] for entry in filled.run("log", "ports", "--json").json]
    assert filled.run("blame", "ports").out.splitlines() == [
        f"{first} 2027-01-15 09:00  Ann, agent              About ports",
        f"{first} 2027-01-15 09:00  Ann, agent              Port 8080 is taken.",
        f"{second} 2027-01-15 10:00  Ben, extract (offline)  Port 9090 is free.",
        "    session s-1, messages m-1..m-2",
    ]
    then = filled.run("blame", "ports", "--at", "~1").out
    assert "8080" in then and "9090" not in then


def test_blame_json_has_a_stable_shape(filled: Ground) -> None:
    code = head(filled)
    commit = filled.tip()
    assert filled.run("blame", "ports", "--json").json[2] == {
        "scope": "project",
        "agent": "reviewer",
        "file": "ports.md",
        "claim": "dcf649406b90",
        "text": "Port 9090 is free.",
        "description": False,
        "disputed": "",
        "key": "",
        "against": [],
        "origins": [
            {
                "commit": commit,
                "path": "reviewer/ports.md",
                "claim": "dcf649406b90",
                "line": None,
                "via": [],
                "beyond": False,
                "signed": None,
                "told": [
                    {
                        "subject": "Learn of 9090",
                        "author": "Ben <ben@example.com>",
                        "time": "2027-01-15T10:00:00Z",
                        "op": "update",
                        "writer": "extract",
                        "engine": "offline",
                        "session": "s-1",
                        "messages": ["m-1", "m-2"],
                        "code_commit": code,
                        "code_commit_now": code,
                        "code_subject": "first",
                    }
                ],
            }
        ],
        "gone": None,
        "replaced": [],
    }


def test_blame_of_text_shows_the_way_to_session_and_code(filled: Ground) -> None:
    commit = filled.tip()[:12]
    code = head(filled)
    expected = [
        "project/reviewer/ports  Port 9090 is free.",
        f"    {commit} 2027-01-15 10:00  Ben, extract (offline)  Learn of 9090",
        "    session s-1, messages m-1..m-2",
        f"    code {code[:12]} first",
    ]
    assert filled.run("blame", "--text", "port  9090 IS free").out.splitlines() == expected
    amend = ["git", "-C", str(filled.repo), "commit", "-q", "--amend", "-m", "First, in short"]
    subprocess.run(amend, check=True)
    keep_rewrites(filled.workspace.state, [(code, head(filled))])
    line = filled.run("blame", "--text", "9090").out.splitlines()[-1]
    assert line == f"    code {code[:12]} (now {head(filled)[:12]}) First, in short"


def test_blame_of_text_finds_exact_words_first_in_all_scopes_hot_and_archived(filled: Ground) -> None:
    old = f"main/{archive_path('old.md')}"
    filled.learn({old: memory("old", "We give short\nanswers. Always.")}, "user")
    filled.learn({"reviewer/apart.md": memory("apart", "Answers should be short.")})
    found = filled.run("blame", "--text", "short answers", "--json").json
    assert [(one["scope"], one["file"]) for one in found] == [
        ("local", "tone.md"),
        ("user", old.removeprefix("main/")),
    ]
    apart = filled.run("blame", "--text", "be answers", "--json").json
    assert [one["file"] for one in apart] == ["apart.md"], "no memory has just these words in a row"
    assert filled.run("blame", "--text", "short answers", "--scope", "project", "--json").json != found
    assert filled.run("blame", "--text", "short answers", "--agent", "reviewer", "--json").json[0][
        "text"
    ] == ("Answers should be short.")
    assert filled.run("blame", "--text", "short answers", "--at", "~1", "--scope", "user", code=0).out == ""
    none = filled.run("blame", "--text", "kubernetes")
    assert (none.out, none.err) == ("", "no memory says this\n")


def test_blame_names_the_dream_and_all_that_it_merged(filled: Ground) -> None:
    before = {one["text"]: one for one in filled.run("blame", "ports", "--json").json}
    text = "Port 8080 is taken, 9090 free."
    after = {"reviewer/ports.md": memory("ports", text)}
    short = parse_body(text).claims[0].short
    sources = [before[claim]["claim"] for claim in ("Port 8080 is taken.", "Port 9090 is free.")]
    fates = tuple(
        Fate("merged", f"reviewer/ports.md#{source}", f"reviewer/ports.md#{short}") for source in sources
    )
    dream = filled.learn(after, told=Provenance(op="dream", writer="dream", claims=fates))
    lines = filled.run("blame", "ports").out.splitlines()[1:]
    assert lines[0].endswith("Ann, agent  " + text)
    assert lines[1] == f"    through dream {dream[:12]}"
    assert lines[2].startswith("    and ") and lines[2].endswith("Ben, extract (offline)")


def test_both_sides_of_a_dispute_point_at_one_another(filled: Ground) -> None:
    body = "Port 1. *(disputed 01234567)*\n\nPort 2. *(disputed 01234567)*"
    filled.learn({"main/d.md": memory("d", body)})
    one, other = filled.run("blame", "d", "--json").json[1:]
    assert one["disputed"] == "01234567"
    assert (one["against"], other["against"]) == ([other["claim"]], [one["claim"]])
    assert f"disputed with {other['claim']}" in filled.run("blame", "d").out


def test_blame_wants_one_thing_and_one_memory(filled: Ground) -> None:
    assert "NAME" in filled.run("blame", code=2).err
    filled.run("blame", "ports", "--text", "x", code=2)
    filled.run("blame", "--text", " .", code=2)
    assert "Did you mean: ports?" in filled.run("blame", "prots", code=2).err
    filled.learn({"main/ports.md": memory("ports", "Other.")}, "local")
    err = filled.run("blame", "ports", code=2).err
    assert "project/reviewer/ports, local/main/ports" in err
    assert "Other." in filled.run("blame", "ports", "--scope", "local").out


def test_nothing_in_a_blame_steers_a_terminal(filled: Ground) -> None:
    evil = "escape\x1b[2J\u202e"
    told = Provenance(op="add", writer="agent", session=evil, engine=evil, messages=(evil, evil))
    filled.learn({"reviewer/evil.md": memory("evil", evil)}, subject=evil, told=told)
    for words in (("evil",), ("--text", "escape")):
        out = filled.run("blame", *words).out
        assert out and "\x1b" not in out and "\u202e" not in out


def test_log_follows_a_rename_and_knows_a_deleted_memory_by_agent(filled: Ground) -> None:
    log = filled.run("log", "--agent", "reviewer", "--json").json
    assert [entry["subject"] for entry in log] == ["Learn of 9090", "Add ports"]
    assert all(path.startswith("reviewer/") for entry in log for path in entry["paths"])
    text = memory("ports", "Port 8080 is taken.\n\nPort 9090 is free.")
    filled.learn({"reviewer/ports.md": None, "reviewer/net.md": text}, subject="Rename it")
    subjects = [entry["subject"] for entry in filled.run("log", "reviewer/net", "--json").json]
    assert subjects == ["Rename it", "Learn of 9090", "Add ports"]
    filled.learn({"main/net.md": memory("net")}, subject="Add another")
    filled.learn({"main/net.md": None, "reviewer/net.md": None}, subject="Delete both")
    assert len(filled.run("log", "main/net", "--json").json) == 2
    assert filled.run("log", "reviewer/net", "--json").json[0]["paths"] == ["reviewer/net.md"]
    filled.run("log", "user/main/net", code=2)


def test_a_move_into_another_scope_is_taught_by_nobody(ground: Ground) -> None:
    """Blame names who had taught each claim, there and back, and who teaches one after it."""

    def tellers() -> dict[str, list[tuple[str, str, int]]]:
        return {
            claim["text"]: [
                (told["author"], told["writer"], told["time"])
                for origin in claim["origins"]
                for told in origin["told"]
            ]
            for claim in ground.run("blame", "ship", "--json").json
        }

    ground.learn({"reviewer/ship.md": memory("ship", "Ship on Mondays.")})
    both = "Ship on Mondays.\n\nAsk Cy before a release."
    by_hand = Provenance(op="update", writer="human")
    ground.learn({"reviewer/ship.md": memory("ship", both)}, who="Cy", told=by_hand)
    before = tellers()
    ann, cy = ("Ann <ann@example.com>", "agent"), ("Cy <cy@example.com>", "human")
    assert [told[0][:2] for told in before.values()] == [ann, ann, cy]
    for scope in ("local", "project"):
        ground.run("move", "ship", "--to", scope)
        assert tellers() == before
    ground.run("move", "ship", "--to", "local")
    three = f"{both}\n\nTag every release."
    ground.learn({"reviewer/ship.md": memory("ship", three)}, scope="local", who="Dee")
    [told] = tellers()["Tag every release."]
    assert told[0] == "Dee <dee@example.com>"


def test_blame_names_who_wrote_each_line_of_an_index(filled: Ground) -> None:
    """What people write into an index is memory, too; a line before it takes nothing away."""
    own, warning = "- [ports](ports.md) — About ports\n", "- Never open 22, see [ports](ports.md) first.\n"
    filled.learn({"reviewer/MEMORY.md": own + warning}, subject="Warn of 22", who="Cas")
    filled.learn({"reviewer/MEMORY.md": f"# Ports\n\n{own}{warning}"}, subject="Head it", who="Ben")
    lines = filled.run("blame", "MEMORY.md").out.splitlines()
    assert [(line.split()[3], line.rpartition("  ")[2]) for line in lines] == [
        ("Ben,", "# Ports"),
        ("Cas,", own.strip()),
        ("Cas,", warning.strip()),
    ]
    (said,) = {line["file"] for line in filled.run("blame", "reviewer/MEMORY.md", "--json").json}
    assert said == "MEMORY.md"
    filled.learn({"main/MEMORY.md": "- [tone](tone.md)\n"}, "local", "List tone")
    told = filled.run("blame", "MEMORY.md", code=2).err
    assert "project/reviewer/MEMORY.md" in told and "local/main/MEMORY.md" in told
    assert "There is no index" in filled.run("blame", "MEMORY.md", "--scope", "user", code=2).err
