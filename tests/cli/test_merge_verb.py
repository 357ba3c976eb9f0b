"""`git mem merge`: two memories become one, by a person's word; no claim is lost, and it can be undone."""

from __future__ import annotations

from cli_ground import Ground, memory
from planted_secrets import GITHUB


def learn(ground: Ground) -> None:
    first = memory("ports", "- Port 8080 is taken.\n- Port 22 is ssh.", "Ports of the host")
    second = memory(
        "taken", "- Port 8080 is taken.\n- Port 9090 is taken, too.", "Which ports nobody may use"
    )
    ground.learn({"main/ports.md": first}, who="Ann")
    ground.learn({"main/taken.md": second, "main/MEMORY.md": "- [taken](taken.md) — ports\n"}, who="Bob")
    ground.learn({"main/hosts.md": memory("hosts", "See [[taken]] for ports.")})


def test_what_the_other_says_is_added_once_and_links_lead_on(ground: Ground) -> None:
    learn(ground)
    done = ground.run("merge", "ports", "taken")
    tree = ground.tree()
    assert "main/taken.md" not in tree and "taken.md" not in tree["main/MEMORY.md"]
    body = tree["main/ports.md"].partition("\n---\n")[2]
    assert body == (
        "\n- Port 8080 is taken.\n- Port 22 is ssh.\n- Port 9090 is taken, too.\n"
        "\nWhich ports nobody may use\n"
    )
    assert "See [[ports]] for ports." in tree["main/hosts.md"]
    assert "merged project/main/taken into project/main/ports: 2 claims added" in done.out
    told = ground.run("blame", "ports").out
    assert "Bob" in next(line for line in told.splitlines() if "9090" in line)
    ground.run(*done.err.removeprefix("undo: git mem ").split())
    assert "main/taken.md" in ground.tree() and "9090" not in ground.tree()["main/ports.md"]


def test_one_that_says_nothing_more_only_goes(ground: Ground) -> None:
    ground.learn({"main/a.md": memory("a", "Use tabs.", "Use tabs")})
    ground.learn({"main/b.md": memory("b", "Use tabs.", "Use tabs")})
    before = ground.tree()["main/a.md"]
    assert "0 claims added" in ground.run("merge", "a", "b", "-n").out and "main/b.md" in ground.tree()
    ground.run("merge", "a", "b")
    assert ground.tree()["main/a.md"] == before and "main/b.md" not in ground.tree()


def test_what_the_two_say_of_each_other_leads_to_the_one_that_is_left(ground: Ground) -> None:
    ground.learn({"main/a.md": memory("a", "- Use tabs, as [[b]] says.\n- See [[c]].", "Tabs as in [[b]]")})
    ground.learn({"main/b.md": memory("b", "- [[b]] holds for Makefiles.")})
    ground.run("merge", "a", "b")
    told = ground.tree()["main/a.md"]
    assert "as [[a]] says" in told and "Tabs as in [[a]]" in told and "[[a]] holds for Makefiles" in told
    assert "[[c]]" in told and "[[b]]" not in told


def test_what_may_not_become_one_memory_is_left_alone(ground: Ground) -> None:
    """What is about a person would leave with a sync; behind an open code block no claim would be one."""
    ground.learn({"main/a.md": memory("a"), "main/token.md": memory("token", f"The token is {GITHUB}.")})
    ground.learn({"main/person.md": memory("person", "Ann is colour-blind.", type="user")})
    ground.learn({"main/open.md": memory("open", "Build it so:\n\n```\nmake all")})
    ground.learn({"main/elsewhere.md": memory("elsewhere")}, "local")
    before = ground.tip("project")
    for one, other, code, said in (
        ("a", "elsewhere", 2, "git mem move elsewhere --to project"),
        ("a", "a", 2, "is one memory"),
        ("a", "person", 2, "about a person"),
        ("person", "a", 2, "about a person"),
        ("a", "token", 1, "holds a secret"),
        ("open", "a", 2, "git mem show open"),
    ):
        refused = ground.run("merge", one, other, code=code)
        assert said in refused.err and GITHUB not in refused.out + refused.err
        assert ground.tip("project") == before, (one, other)
