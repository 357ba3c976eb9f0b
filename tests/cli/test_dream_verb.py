"""What `git mem dream` prints: the sum first, kind by kind, and the command that settles a question."""

from __future__ import annotations

import pytest
from cli_ground import Ground, memory

SERVICES = ("api", "web", "mail", "queue", "search", "billing", "export", "login", "proxy")


@pytest.fixture
def contrary(ground: Ground) -> Ground:
    """Nine pairs of memories that contradict each other, and one pair of which one says all of the other.

    Of so many others, since a dream gives up a tenth of a scope's claims at most.
    """
    others = {
        f"main/other-{n}.md": memory(f"other-{n}", f"Fact{n} of place{n} is colour{n}.") for n in range(99)
    }
    ground.learn(others)
    for number, name in enumerate(SERVICES):
        for n, port in enumerate((8000 + number, 9000 + number)):
            text = f"The {name} service listens on port {port} of its host."
            ground.learn({f"main/{name}-{n}.md": memory(f"{name}-{n}", text, f"Port of {name}, note {n}")})
    twice = "Keep pull requests small: one concern each."
    ground.learn({"main/small.md": memory("small", f"{twice}\n\nReviewers give up at 400 lines.", twice)})
    ground.learn({"main/short.md": memory("short", twice, twice)})
    return ground


def test_the_sum_comes_first_and_what_is_frequent_is_folded(contrary: Ground) -> None:
    done = contrary.run("dream", "--force", "--scope", "project", "--engine", "offline")
    lines = done.out.splitlines()
    asked = [line for line in lines if "Ask whether" in line]
    total = len(contrary.run("--json", "review", "show", "d-").json["changes"])
    assert lines[0].endswith(f"proposes {total} changes") and total > 7
    assert lines[1] == "  1 duplicate merged" and "questions" in lines[2]
    assert len(asked) == 5 and f"  … and {total - 1 - 5} questions more" in lines
    assert done.err.count("--same|--newer|--older|--different") == 1
    # What is printed can be typed: the pair is settled, and the others go on waiting.
    command = next(line for line in done.err.splitlines() if line.startswith("settle: "))
    words = command.removeprefix("settle: git mem ").partition(" --same")[0].split()
    before = contrary.tip()
    contrary.run(*words, "--newer")
    assert contrary.tip() != before
    assert contrary.run("review").out.startswith("d-")
