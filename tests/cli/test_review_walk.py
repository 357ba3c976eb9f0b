"""`git mem review -i`: one key for each item, carried out at the end, in a real terminal too."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator, Sequence

import pytest
import typer
from cli_ground import Ground, memory
from ran import Ran
from waiting_ground import KEY, let_wait

from gitmem.cli import output
from gitmem.cli.context import make_context
from gitmem.cli.output import Output, folded
from gitmem.cli.review_walk import is_contrary, walk
from gitmem.core.text import cells
from gitmem.core.trailers import Provenance
from gitmem.ledger.suggestions import open_suggestions

BY_HAND = Provenance(op="add", writer="human")
DISPUTED = "On Mondays. *(disputed 01234567)*\n\nOn Fridays. *(disputed 01234567)*"


def press(
    ground: Ground, keys: Sequence[str], colour: str = "never", code: int = 0, dry_run: bool = False
) -> Ran:
    """Walks through the queue with these keys; after the last of them the terminal is gone."""
    ground.tick()
    given: Iterator[str] = iter(keys)

    def key() -> str:
        found = next(given, "\x04")
        if found == "^C":
            raise KeyboardInterrupt
        return found

    ground.capture.readouterr()
    got = 0
    try:
        walk(make_context(ground.repo, Output(colour=colour)), lambda: key, dry_run=dry_run)
    except typer.Exit as ended:
        got = ended.exit_code
    seen = ground.capture.readouterr()
    assert got == code, seen
    return Ran(got, seen.out, seen.err)


def waiting(ground: Ground) -> set[str]:
    return {one.change.name for one in open_suggestions(ground.workspace)}


def names(ground: Ground) -> set[str]:
    where = ground.workspace.scope("project")
    return {path for path in ground.tree() if path.endswith(".md")} if where.repo.ref(where.ref) else set()


def test_each_key_decides_one_and_an_undo_takes_all_back(ground: Ground) -> None:
    let_wait(ground, "a1", "b2", "c3")
    said = press(ground, "alr")
    assert "accepted 1 suggestion; rejected 1 suggestion" in said.out
    assert "[1/3]" in said.out and "[3/3]" in said.out and len(waiting(ground)) == 1
    ground.run("undo", said.err.split("git mem undo ")[1].split()[0])
    assert waiting(ground) == {"a1", "b2", "c3"} and not names(ground)


def test_a_key_takes_the_last_one_back_and_until_the_end_nothing_is_decided(ground: Ground) -> None:
    let_wait(ground, "ports", "lint")
    foretold = press(ground, "ar", dry_run=True)
    assert "would accept s-" in foretold.out and "would reject s-" in foretold.out
    said = press(ground, "auruuq")
    assert "there is nothing to undo" in said.err and "nothing was decided" in said.err
    with pytest.raises(KeyboardInterrupt):
        press(ground, ["a", "^C"])
    assert waiting(ground) == {"ports", "lint"}
    press(ground, "auua" + "q")
    assert len(waiting(ground)) == 1
    press(ground, "r")
    assert not waiting(ground) and len(names(ground)) == 2


def test_only_what_stands_against_each_other_is_settled(ground: Ground) -> None:
    """Suggestions and proved changes of a dream wait for another day."""
    let_wait(ground, "ports")
    ground.learn({"reviewer/meeting.md": memory("meeting", DISPUTED)}, told=BY_HAND)
    ground.tick()
    ground.capture.readouterr()
    context = make_context(ground.repo, Output(colour="never"))
    walk(context, lambda: iter("1").__next__, dry_run=False, only=is_contrary)
    said = ground.capture.readouterr()
    assert "[1/1]" in said.out and "On Fridays." not in ground.tree()["reviewer/meeting.md"]
    assert waiting(ground) == {"ports"}
    assert "This needs a terminal" in ground.run("review", "settle", code=2).err


def test_a_claim_of_a_dispute_stands_by_its_number_or_every_one(ground: Ground) -> None:
    for keys, both_stand in (("r1", False), ("a", True)):
        ground.learn({"reviewer/deploy.md": memory("deploy", DISPUTED)})
        press(ground, keys)
        text = ground.tree()["reviewer/deploy.md"]
        assert "On Mondays." in text and ("Fridays" in text) == both_stand and "disputed" not in text


def test_an_edit_is_what_is_stored_and_an_editor_that_fails_leaves_the_suggestion(ground: Ground) -> None:
    let_wait(ground, "ports")
    ground.patch.setenv("GIT_EDITOR", "false")
    said = press(ground, "eq")
    assert "ended with 1" in said.err and waiting(ground) == {"ports"}
    ground.patch.setenv("GIT_EDITOR", "sed -i s/fact/rule/")
    said = press(ground, "ea")
    assert "   + The ports rule." in said.out
    assert "The ports rule." in ground.tree()["reviewer/ports.md"] and not waiting(ground)


def test_what_cannot_be_stored_is_named_at_the_end(ground: Ground) -> None:
    let_wait(ground, "secret", body=f"The key is {KEY}.")
    let_wait(ground, "ports")
    said = press(ground, "aa", code=1)
    assert "accepted 1 suggestion" in said.out and "was not decided: " in said.err
    assert KEY not in said.out + said.err


def test_hostile_text_is_written_out_and_fits(ground: Ground) -> None:
    body = "Be quick\x1b[2J\x1b]0;owned\x07 " + "and say word after word " * 9 + "\u202e" + "x" * 200
    let_wait(ground, "hostile", body=body)
    ground.patch.setenv("COLUMNS", "60")
    said = press(ground, "q", colour="always")
    bare = re.sub("\x1b\\[[0-9;]*m", "", said.out)
    assert "\x1b" not in bare and "\u202e" not in bare and "\\x1b[2J" in bare.replace("\n", "")
    assert max(len(line) for line in bare.splitlines()) <= 60
    assert max(len(line) for line in said.err.split("\n")) <= 60


def test_claims_that_come_and_go_have_their_colours(ground: Ground) -> None:
    let_wait(ground, "ports", body="Ports start at 4000.\n\n- a list\n- of two")
    assert "\x1b[32m   + Ports start at 4000.\x1b[0m" in press(ground, "q", colour="always").out
    assert "\x1b" not in press(ground, "q").out


def test_a_long_one_is_cut_and_shown_whole_by_a_key(ground: Ground) -> None:
    let_wait(ground, "long", body="\n\n".join(f"Line number {number}." for number in range(99)))
    said = press(ground, "m")
    first, _, rest = said.out.partition("more lines: m")
    assert "Line number 98." not in first and "Line number 98." in rest


def test_without_a_terminal_it_says_what_to_do(ground: Ground) -> None:
    let_wait(ground, "ports")
    said = ground.run("review", "-i", code=2)
    assert "needs a terminal" in said.err and "git mem review accept|reject" in said.err
    ground.run("review", "-i", "--json", code=2)
    ground.run("review", "-i", "accept", "s-", code=2)


@pytest.mark.parametrize("width", [1, 7, 20, 60])
def test_lines_are_wrapped_without_losing_a_word(width: int) -> None:
    text = "one two three 日本語 four-hundred-and-five   six"
    lines = [*folded(text, width, " " if width > 1 else "", whole=False)]
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert max(map(len, lines)) <= max(width, 2)


def test_a_line_of_one_word_that_stands_far_to_the_right_is_looked_at_once(monkeypatch) -> None:
    """What a memory holds may be such a line of 100 KB."""
    seen: list[int] = []

    def counted(text: str) -> int:
        seen.append(len(text))
        return cells(text)

    monkeypatch.setattr(output, "cells", counted)
    monkeypatch.setenv("COLUMNS", "60")
    line = " " * 2_000 + "x" * 5_000
    lines = Output().claims([line])
    assert "".join(lines).replace(" ", "") == "x" * 5_000
    assert max(map(len, lines)) < 60 and sum(map(len, lines)) < 3 * len(line)
    assert sum(seen) < 4 * len(line)


def in_terminal(ground: Ground, keys: str, **environ: str) -> tuple[int, str]:
    """Runs the command in a terminal of 60 columns with these keys typed ahead."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    before = termios.tcgetattr(there)
    colourful = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    done = subprocess.Popen(
        [sys.executable, "-m", "gitmem", "review", "-i"],
        cwd=ground.repo,
        stdin=there,
        stdout=there,
        stderr=there,
        env={**colourful, "TERM": "xterm", **environ},
        start_new_session=True,
    )
    os.write(here, keys.encode())
    ended = threading.Thread(target=done.wait)
    ended.start()
    # One that waits for keys that nobody types is a failure, and not the end of the whole run.
    limit = threading.Timer(60, done.kill)
    limit.start()
    seen = b""
    while ended.is_alive() or select.select([here], [], [], 0)[0]:
        if select.select([here], [], [], 0.05)[0]:
            seen += os.read(here, 65_536)
    limit.cancel()
    assert termios.tcgetattr(there) == before
    os.close(here)
    os.close(there)
    return done.returncode, seen.decode()


def test_in_a_real_terminal(ground: Ground) -> None:
    let_wait(ground, "ports", "lint", "deploys")
    code, seen = in_terminal(ground, "a\x1b[Ar?q")
    assert code == 0 and "accepted 1 suggestion; rejected 1 suggestion" in seen
    assert "\x1b[1m[1/3]" in seen and "\x1b[32m   + The" in seen and len(waiting(ground)) == 1
    code, seen = in_terminal(ground, "q", NO_COLOR="1")
    assert code == 0 and "\x1b" not in seen


def test_a_suggestion_a_dispute_and_a_dream_are_decided_in_one_walk(ground: Ground) -> None:
    let_wait(ground, "lint")
    ground.learn({"reviewer/hint.md": memory("hint", "The build broke yesterday.")})
    ground.run("dream", "--force", "--scope", "project")
    ground.learn({"reviewer/deploy.md": memory("deploy", DISPUTED)})
    kinds = [item["kind"] for item in ground.run("review", "--json").json]
    assert sorted(kinds) == ["dispute", "dream", "suggestion"]
    said = press(ground, "".join("1" if kind == "dispute" else "a" for kind in kinds))
    assert all(f"1 {kind}" in said.out for kind in kinds), said
    tree = ground.tree()
    assert "yesterday (20" in tree["reviewer/hint.md"] and "The lint fact." in tree["reviewer/lint.md"]
    assert "On Mondays." in tree["reviewer/deploy.md"] and "Fridays" not in tree["reviewer/deploy.md"]
    assert ground.run("review").out == ""


def test_every_key_of_a_dream_with_a_question_is_carried_out_or_refused(ground: Ground) -> None:
    lint = {f"reviewer/{name}.md": memory(name, "Run ruff before each commit.", "Linting") for name in "mn"}
    for name, port in (("one", 8080), ("two", 9090)):
        fact = f"The service listens on port {port}."
        ground.learn({f"reviewer/{name}.md": memory(name, fact, "Port of the service")}, told=BY_HAND)
    ground.learn(lint)
    ground.run("dream", "--force", "--scope", "project")
    said = press(ground, "aas")
    assert (said.out + said.err).count("that is no key for this") == 1, said
    left = "".join(ground.tree().values())
    assert left.count("Run ruff") == 1 and "port 8080" not in left and "port 9090" in left
    assert ground.run("review").out == ""
