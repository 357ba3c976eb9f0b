"""`forget --claim`: one claim goes and stays away; the rest of its memory stays."""

from __future__ import annotations

import pytest
from machines import Machine
from once import Once

MEMORY = "---\nname: {0}\ndescription: {1}\ntype: project\n---\n\n{2}\n"


@pytest.fixture
def here(tmp_path, git, once: Once[int], monkeypatch, capsys) -> Machine:
    monkeypatch.chdir(tmp_path)
    made = Machine(tmp_path / "ann", monkeypatch, capsys)

    def make() -> int:
        git("init", "-q", made.code)
        made.git("commit", "-q", "--allow-empty", "-m", "first")
        made.run("init", "-y")
        made.auto.mkdir(parents=True)
        made.learn("ports", "Ports start at 4000.\n\n- Never use port 22.\n- Ask Ben about port 80.")
        made.learn("alone", "Lunch is at noon.")
        made.learn("twin", "Lunch is at noon.\n\nDinner is at eight.", scope="user", agent="helper")
        made.run("save")
        return made.now

    made.now = once("here", make)
    made.enter()
    return made


def stones(here: Machine, scope: str = "local", agent: str = "main") -> str:
    ref = here.workspace.scope(scope).ref
    return here.git("show", f"{ref}:{agent}/.tombstones", private=True, check=False)


def test_one_claim_goes_and_the_rest_of_the_memory_stays(here: Machine) -> None:
    before = here.memories()
    assert "would forget a claim of" in here.run("forget", "--claim", "Never use port 22.", "-n").out
    assert here.memories() == before and stones(here) == ""
    ran = here.run("forget", "--claim", "Never use port 22.")
    assert "forgot a claim of local/main/ports.md" in ran.out
    text = here.memories()["main/ports.md"]
    assert "port 22" not in text and "Ports start at 4000." in text and "- Ask Ben about port 80." in text
    assert "port 22" not in (here.auto / "ports.md").read_text()
    assert "forgot" in stones(here)
    here.run(*ran.err.partition("undo: git mem ")[2].split())
    assert here.memories() == before


@pytest.mark.parametrize(
    ("said", "why"), [("Port 4100 is the API", ""), ("port 4100 is the API.", "Port 4000 was taken.")]
)
def test_a_claim_goes_from_the_description_that_repeats_it_too(here: Machine, said: str, why: str) -> None:
    """The description is what the index shows to the agent."""
    here.run("remember", "Port 4100 is the API.", "--name", "api", *(("--why", why) if why else ()))
    here.run("forget", "--claim", said)
    left = here.memories()
    assert not [path for path, text in left.items() if "4100" in text]
    assert ("main/api.md" in left) == bool(why)
    assert stones(here).count("forgot") == 2


def test_a_part_of_a_claim_that_no_other_has_is_enough(here: Machine) -> None:
    here.run("forget", "--claim", "start at 40")
    assert "4000" not in here.memories()["main/ports.md"]


def test_what_may_mean_several_claims_or_none_forgets_nothing(here: Machine) -> None:
    before = here.memories()
    for words, *said in (
        (("--claim", "port"), "Never use port 22.", "Ask Ben about port 80."),
        (("--claim", "Lunch is at noon."), "local/main/alone.md", "user/helper/twin.md", "--everywhere"),
        (("--claim", "The moon is made of cheese."), "No memory says that"),
        ((), "Say what to forget"),
        (("ports", "--claim", "x"), "A name and --claim do not go together"),
        (("--claim", " "),),
    ):
        told = here.run("forget", *words, code=2).err
        assert all(one in told for one in said), (words, told)
        assert here.memories() == before


def test_everywhere_takes_it_from_all_scopes_and_agents(here: Machine) -> None:
    value = here.run("forget", "--claim", "Lunch is at noon.", "--everywhere", "--json").json
    assert [(one["scope"], one["whole"]) for one in value["forgotten"]] == [
        ("local", True),
        ("user", False),
    ]
    assert "main/alone.md" not in here.memories()
    assert "alone.md" not in here.memories().get("main/MEMORY.md", "")
    assert "Dinner is at eight." in here.memories("user")["helper/twin.md"]
    assert "Lunch" not in here.memories("user")["helper/twin.md"]
    assert "forgot" in stones(here) and "forgot" in stones(here, "user", "helper")


@pytest.mark.long
def test_everywhere_reaches_the_archive(here: Machine) -> None:
    for number in range(201):
        here.learn(f"fact-{number}", f"Fact number {number}.")
    here.run("save")
    assert "main/archive/" in "\n".join(here.memories())
    here.run("forget", "--claim", "Lunch is at noon.", "--everywhere")
    assert "Lunch" not in "".join((*here.memories().values(), *here.memories("user").values()))


def test_a_name_can_be_forgotten_everywhere_and_of_one_agent_under_whatever_file(here: Machine) -> None:
    here.learn("alone", "Another fact.", scope="user", agent="helper")
    (here.auto / "other.md").write_text(MEMORY.format("alone", "Of the same name", "Supper is at nine."))
    here.run("save")
    here.run("forget", "alone", "--everywhere", "--agent", "main")
    assert not {"main/alone.md", "main/other.md"} & here.memories().keys()
    assert "helper/alone.md" in here.memories("user")
    here.learn("alone", "Back again.")
    here.run("forget", "alone", "--everywhere")
    assert "main/alone.md" not in here.memories() and "helper/alone.md" not in here.memories("user")


def test_a_forgotten_claim_that_an_agent_writes_again_does_not_come_back(here: Machine) -> None:
    """Its file was read before the claim was forgotten."""
    stale = (here.auto / "ports.md").read_text()
    here.run("forget", "--claim", "Never use port 22.")
    (here.auto / "ports.md").write_text(stale.replace("4000", "5000"))
    here.run("save")
    assert "port 22" not in here.memories()["main/ports.md"]


def test_a_described_claim_leaves_another_description(here: Machine) -> None:
    where = here.auto / "both.md"
    where.write_text(MEMORY.format("both", "Tea is at four.", "Tea is at four.\n\nCake is at five."))
    here.run("save")
    here.run("forget", "--claim", "Tea is at four.")
    text = here.memories()["main/both.md"]
    assert "Tea" not in text and "description: Cake is at five." in text


def test_a_memory_whose_content_is_missing_is_named(here: Machine) -> None:
    """As in a partial clone, or after damage: it may say it, too, and would bring it back."""
    ref = here.workspace.scope("local").ref
    blob = here.git("rev-parse", f"{ref}:main/alone.md", private=True).strip()
    (here.workspace.private_path / "objects" / blob[:2] / blob[2:]).unlink()
    ran = here.run("forget", "--claim", "Never use port 22.")
    assert "forgot a claim of local/main/ports.md" in ran.out
    assert "local/main/alone.md cannot be read, and may say it, too" in ran.err
    ran = here.run("forget", "--claim", "Lunch is on us.", code=2)
    assert "No memory says that" in ran.err and "local/main/alone.md cannot be read" in ran.err
