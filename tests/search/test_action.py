"""What memory says of a path, a command or an error: only what names it, and only what orders or warns."""

from __future__ import annotations

from typing import Any

import pytest

from gitmem.core.memory import create
from gitmem.search.action import TEXT_CHARS, fitting, simple_commands, warnings_of


def rows(body: str, type: str = "project") -> list[dict[str, Any]]:
    memory = create("rule", "A rule", type, body, "rule.md")
    found = warnings_of(memory, lambda word: word in ("npm", "pnpm", "terraform"))
    return [{"things": things, "text": text} for things, text in found]


def told(
    body: str, tool: str, *, type: str = "project", path: str = "", error: str = "", **given: str
) -> bool:
    return bool(fitting(rows(body, type), tool, given, path, error))


@pytest.mark.parametrize(
    ("body", "path", "wanted"),
    [
        ("Never edit `db/schema.rb` by hand.", "db/schema.rb", True),
        ("Never edit `db/schema.rb` by hand.", "engines/db/schema.rb", True),
        ("Never edit `db/schema.rb` by hand.", "db/schema.rb.bak", False),
        ("Never edit `schema.rb` by hand.", "db/schema.rb", True),
        ("Files in `db/migrate/` must not be changed once merged.", "db/migrate/2024_users.rb", True),
        ("Files in `db/migrate/` must not be changed once merged.", "docs/db/migrated.md", False),
        ("The port is set in `config/ports.yml`.", "config/ports.yml", False),
        ("Never say `yes`.", "yes", False),
        ("Never edit `db/schema.rb` by hand.", "", False),
        ("**Why:** editing `db/schema.rb` fails.", "db/schema.rb", False),
    ],
)
def test_a_path_that_a_rule_names(body: str, path: str, wanted: bool) -> None:
    assert told(body, "Edit", path=path) is wanted


def test_the_first_claim_of_feedback_is_a_rule_however_it_is_put() -> None:
    body = "The port is set in `config/ports.yml`."
    assert told(body, "Read", type="feedback", path="config/ports.yml")
    assert not told(f"Ports matter.\n\n{body}", "Read", type="feedback", path="config/ports.yml")


@pytest.mark.parametrize(
    ("body", "command", "wanted"),
    [
        ("Use `pnpm`, never `npm`.", "npm install left-pad", True),
        ("Use `pnpm`, never `npm`.", "cd web && NODE_ENV=test sudo npm ci", True),
        ("Use `pnpm`, never `npm`.", "cat npm-debug.log", False),
        ("Use `pnpm`, never `npm`.", "echo npm", False),
        ("We like `npm`.", "npm install", False),
        ("Never run `git push --force` here.", "git push --force origin main", True),
        ("Never run `git push --force` here.", "git push origin main --force", True),
        ("Never run `git push --force` here.", "git push origin main", False),
        ("Never use `git` alone.", "git status", False),
        ("Only run `make deploy` from main.", "git pull; make deploy ENV=prod", True),
        ("Only run `make deploy` from main.", "make test", False),
        ("Always pass `const EMPTY = 0`, never a number.", "const EMPTY = 0", False),
        ("`nobody-has-this` must never be used.", "nobody-has-this", False),
    ],
)
def test_a_command_that_a_rule_names(body: str, command: str, wanted: bool) -> None:
    assert told(body, "Bash", command=command) is wanted


def test_an_error_is_known_by_its_own_words() -> None:
    body = 'The suite fails with "ECONNREFUSED 127.0.0.1:5433" until the proxy runs: `make proxy`.'
    failed = "Exit code 1\nError: connect econnrefused 127.0.0.1:5433 at net.js"
    assert told(body, "Bash", error=failed, command="npm test")
    assert not told(body, "Bash", error="Exit code 1\nassert 1 == 2", command="npm test")
    # Before anything failed, an error is no thing at hand; and after it, what a command needs is known.
    assert not told(body, "Bash", command="echo ECONNREFUSED 127.0.0.1:5433")
    assert not told("Never run `make deploy` here.", "Bash", error="Exit code 2", command="make deploy")
    assert not told("Commits `abc0127` and `deadbeef` landed.", "Bash", error="abc0127 deadbeef")


def test_the_most_particular_rule_comes_first() -> None:
    both = rows("- Never edit `schema.rb`.\n- Never edit `engines/db/schema.rb`.\n")
    found = fitting(both, "Edit", {}, "engines/db/schema.rb", "")
    assert [row["text"] for row in found] == [
        "Never edit `engines/db/schema.rb`.",
        "Never edit `schema.rb`.",
    ]


def test_what_is_told_is_short_and_what_it_is_told_for_stands_in_it() -> None:
    long = "Never edit " + "word " * 100 + "`db/schema.rb`."
    assert rows(long) == []
    (row,) = rows("Never edit `db/schema.rb` " + "because of words " * 40)
    assert len(row["text"]) <= TEXT_CHARS + 1
    many = rows("\n".join(f"- Never edit `a{n}.py`." for n in range(500)))
    assert sum(len(row["things"]) for row in many) == 12


def test_commands_of_a_line() -> None:
    line = "A=1 make -C web 'all the things' | tee x && /usr/bin/npm ci; (cd a; ls)"
    assert [words[0] for words in simple_commands(line)] == ["make", "tee", "npm", "cd", "ls"]
    assert simple_commands("") == [] and simple_commands("&& ; |") == []
