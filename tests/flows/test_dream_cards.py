"""A dream that is decided in parts: as shown, by one key each, undone as one, and judged as it landed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from dream_ground import ANN, DAY, Ground, ground_once, notes
from dream_parked import DREAM_ID, Made, once_said, park, ref_of
from once import Once
from slices import often

from gitmem.cli.context import make_context
from gitmem.cli.output import Output
from gitmem.cli.review_walk import walk
from gitmem.core.account import proposals
from gitmem.core.trailers import ASKING, JUDGED, Fate, parse
from gitmem.dream.cards import card_lines, cards_of, memory_cards, summary_lines
from gitmem.dream.review import Dream, accept, find_dream, open_dreams, reject
from gitmem.git.refs import move_ref
from gitmem.ledger.dream_branch import edit, laid_out
from gitmem.ledger.dreams import DreamCommit
from gitmem.ledger.workspace import TURNED_DOWN

NUMBER = 8
LATER = 1_795_000_000


def name(n: int) -> str:
    return f"main/fact-{n}.md"


def facts() -> dict[str, str]:
    """Memories that each say one thing twice."""
    twice = {
        f"fact_{n}": (f"Fact {n}", f"Part {n} is ready.\n\nPart {n} is ready, it is.")
        for n in range(NUMBER)
    }
    return notes(**twice)


def said_once(n: int, subject: str = "") -> Made:
    """Merges the second claim of a memory into its first."""
    made = once_said(facts(), f"fact-{n}", f"Part {n} is ready, it is.", f"Part {n}")
    return replace(made, subject=subject or made.subject)


EARLIER, MIDDLE = "Deploys leave from the release branch.", "Deploys leave from the main branch now."


def asking(ground: Ground) -> None:
    """Whether what one memory said last stands for what another said before; that would go."""
    early = notes(deploys=("How deploys go", f"{EARLIER}\n\nAsk Bo before."))
    late = notes(branches=("Which branch is which", f"{MIDDLE}\n\nTags are cut by hand."))
    ground.put(early, time=ANN.time - 10 * DAY)
    ground.put(late, time=ANN.time - DAY)
    path, target = "main/deploys.md", "main/branches.md"
    fate = Fate(
        "superseded", ref_of(path, early[path], EARLIER), ref_of(target, late[target], MIDDLE), "said later"
    )
    after = early[path].replace(EARLIER, "See [[branches]].")
    park(ground, [Made({path: after}, [fate], f"{ASKING}the later one stands")])


@pytest.fixture
def ground(repo, once: Once[None], request, monkeypatch) -> Ground:
    monkeypatch.setenv("GITMEM_NOW", str(LATER))
    return ground_once(once, repo, facts(), then=asking if "question" in request.fixturenames else None)


@pytest.fixture
def question(ground: Ground) -> Dream:
    return find_dream(ground.workspace, DREAM_ID)


def dream_of(ground: Ground, number: int, questions: int = 0) -> Dream:
    made = [said_once(n) for n in range(number - questions)]
    asked = [said_once(n, f"{ASKING}it is the same in fact-{n}") for n in range(number - questions, number)]
    return park(ground, [*made, *asked])


def press(ground: Ground, keys: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    given = iter(keys)
    walk(make_context(ground.repo, Output(yes=True)), lambda: lambda: next(given, "q"), dry_run=False)
    seen = capsys.readouterr()
    return seen.out, seen.err


def thinned(ground: Ground) -> set[int]:
    """Of which memories the second claim is gone."""
    tree = ground.tree()
    return {n for n in range(NUMBER) if "it is." not in tree[name(n)]}


def test_each_change_takes_a_key_and_all_of_them_one_undo(ground: Ground, capsys, gitmem) -> None:
    dream_of(ground, NUMBER, questions=3)
    out, err = press(ground, "aaarr" + "sdn", capsys)
    assert "  5 duplicates merged\n  3 questions\n" in out
    assert "[s]ame [n]ewer (=) [o]lder (-) [d]ifferent" in err
    assert thinned(ground) == {0, 1, 2, 5, 7} and not open_dreams(ground.workspace)
    assert err.count("undo: git mem undo") == 1
    gitmem("undo", err.split("git mem undo ")[1].split()[0])
    assert thinned(ground) == set()
    assert [change.n for change in find_dream(ground.workspace, DREAM_ID).open] == [*range(1, NUMBER + 1)]


def test_all_at_once_leaves_questions_out(ground: Ground, capsys) -> None:
    dream_of(ground, 4, questions=1)
    press(ground, "A", capsys)
    assert thinned(ground) == {0, 1, 2}


def test_one_key_takes_the_rest_of_it_whole(ground: Ground, capsys) -> None:
    """Accepted whole, the dream's own commits stay in history."""
    dream_of(ground, 2)
    assert "accepted 2 changes" in press(ground, "lua" + "uA", capsys)[0]
    assert len(ground.scope().repo.commit(ground.tip()).parents) == 2
    assert not open_dreams(ground.workspace)


def test_an_edit_is_a_step_of_its_own(ground: Ground, capsys, monkeypatch) -> None:
    dream_of(ground, 2)
    monkeypatch.setenv("GIT_EDITOR", "sed -i s/ready/done/")
    said = press(ground, "e", capsys)[0]
    assert "[1/2]" in said and "[1/3]" in said
    assert len(open_dreams(ground.workspace)[0].changes) == 3


class TestAnswers:
    @pytest.mark.parametrize(
        ("key", "stands", "goes"), [("s", MIDDLE, EARLIER), ("n", MIDDLE, EARLIER), ("o", EARLIER, MIDDLE)]
    )
    @pytest.mark.parametrize("by_option", often([False, True], False))
    def test_each_key_does_what_it_says(
        self,
        ground: Ground,
        question: Dream,
        capsys,
        gitmem,
        key: str,
        stands: str,
        goes: str,
        by_option: bool,
    ) -> None:
        """One stays, with a link where the other was; which is later is told by who said it when."""
        if by_option:
            option = {"s": "--same", "n": "--newer", "o": "--older"}[key]
            done = gitmem("review", "accept", DREAM_ID, "1", option).err
        else:
            done = press(ground, key, capsys)[1]
        text = "\n".join(ground.tree().values())
        assert stands in text and goes not in text and "See [[" in text
        said = ground.scope().repo.commit(ground.scope().repo.ref(ground.scope().ref) or "").message
        claim = next(line for line in said.splitlines() if line.startswith("Gitmem-Claim: "))
        assert ("both say the same" in claim) == (key == "s") and " superseded " in claim
        day = {"n": "said on 2026-11-15", "o": "said on 2026-11-06"}.get(key, "")
        assert day in claim
        gitmem("undo", done.split("git mem undo ")[1].split()[0])
        (again,) = find_dream(ground.workspace, DREAM_ID).open
        assert again.asks and EARLIER in "\n".join(ground.tree().values())

    def test_an_answer_is_to_a_question_and_different_things_stay(self, ground, question, gitmem) -> None:
        for words in (["--same"], ["1", "--same", "--newer"]):
            assert gitmem("review", "accept", DREAM_ID, *words, ok=False).code == 2
        gitmem("review", "accept", DREAM_ID, "1", "--different")
        text = "\n".join(ground.tree().values())
        assert EARLIER in text and MIDDLE in text and not open_dreams(ground.workspace)
        dream_of(ground, 2)
        assert gitmem("review", "accept", DREAM_ID, "1", "--older", ok=False).code == 2
        assert thinned(ground) == set()


def test_a_title_quotes_as_much_of_a_claim_as_there_is_room_for(ground: Ground, gitmem) -> None:
    """A commit's subject cuts it; where both begin alike, the one that stands is meant."""
    made = said_once(0, f"{ASKING}“Part 0 …” stands")
    park(ground, [made])
    shown = gitmem("review", "show", DREAM_ID).out
    assert "1. Ask whether “Part 0 is ready.” stands\n" in shown
    assert f"review accept {DREAM_ID} 1 --same|--newer|--older|--different\n" in shown


class TestAsShown:
    def test_a_dream_that_moved_is_refused_and_half_a_name_is_no_commit(self, ground, gitmem) -> None:
        shown = dream_of(ground, 3).tip
        for words in ((DREAM_ID, "--at", shown[:4]), (DREAM_ID, "x-000000", "--at", shown)):
            assert gitmem("review", "accept", *words, ok=False).code == 2
        laid = laid_out(find_dream(ground.workspace, DREAM_ID), 1)
        worded = {path: data.replace(b"ready", b"done") for path, data in laid.items()}
        edit(find_dream(ground.workspace, DREAM_ID), laid, worded, "", ANN)
        for verb in (("accept",), ("reject", "-m", "no")):
            refused = gitmem("review", *verb, DREAM_ID, "2", "--at", shown[:12], ok=False)
            assert refused.code == 1 and "changed since it was shown" in refused.err
            assert f"git mem review show {DREAM_ID}" in refused.err
        now = find_dream(ground.workspace, DREAM_ID).tip
        assert f"--at {now[:12]}" in gitmem("review", "show", DREAM_ID).out
        gitmem("review", "accept", DREAM_ID, "2", "--at", now[:12])
        assert thinned(ground) == {1}


class TestInParts:
    def test_each_change_is_a_commit_with_its_account_and_numbers_stay(self, ground: Ground) -> None:
        """On the very ground of the dream, too, where a commit made again could be the dream's own."""
        dream = dream_of(ground, 5)
        for numbers, left in (((1, 2), [3, 4, 5]), ((4,), [3, 5])):
            landed = accept(ground.workspace, DREAM_ID, numbers, ANN, LATER)
            assert landed.written
            repo = dream.scope.repo
            tip = repo.commit(landed.written.commit)
            steps = repo.steps(tip.parents[1], without=tip.parents[:1])
            told = [parse(step.commit.message) for step in steps]
            assert [len(one.claims) for one in told] == [1] * len(numbers)
            assert [change.n for change in find_dream(ground.workspace, DREAM_ID).open] == left
        reject(ground.workspace, DREAM_ID, (3, 5), "", ANN, LATER)
        assert thinned(ground) == {0, 1, 3} and not open_dreams(ground.workspace)

    @pytest.mark.parametrize("kept", [True, False])
    def test_undoing_the_last_part_lets_the_accepted_wait_again(self, ground, gitmem, kept: bool) -> None:
        """Where the dream is not kept, as in another clone, its numbers are others: no decision counts."""
        dream_of(ground, 3)
        reject(ground.workspace, DREAM_ID, (1, 3), "", ANN, LATER)
        landed = accept(ground.workspace, DREAM_ID, (2,), ANN, LATER)
        assert landed.written and landed.closed
        repo = ground.scope().repo
        if not kept:
            move_ref(repo, TURNED_DOWN + DREAM_ID, None, repo.ref(TURNED_DOWN + DREAM_ID), "test")
        said = gitmem("undo", landed.written.commit).err
        (again,) = open_dreams(ground.workspace)
        assert thinned(ground) == set() and f"{again.id} waits again" in said
        assert not kept or (again.id, [change.n for change in again.open]) == (DREAM_ID, [2])
        accept(ground.workspace, again.id, None, ANN, LATER)
        assert thinned(ground) == {1}


def test_what_landed_is_counted_by_month_and_what_was_undone_is_not(ground: Ground, gitmem) -> None:
    dream_of(ground, 4)
    landed = accept(ground.workspace, DREAM_ID, (1, 2), ANN, LATER)
    told = gitmem("stats", "--json").json["dreamt"]
    assert told["changes"] == 2 and told["kinds"] == {"merge": 2}
    assert list(told["by_month"]) == ["2026-11"] and told["by_month"]["2026-11"]["tokens"] > 0
    assert "  dreamt     2 changes landed: 2 duplicates merged\n" in gitmem("stats").out
    assert landed.written
    gitmem("undo", landed.written.commit)
    assert gitmem("stats", "--json").json["dreamt"]["changes"] == 0


def test_a_card_fits_sixty_columns_and_breaks_no_word(ground: Ground, gitmem, monkeypatch) -> None:
    dream_of(ground, 3)
    whole = set(gitmem("review", "show", DREAM_ID).out.split())
    monkeypatch.setenv("COLUMNS", "60")
    out = gitmem("review", "show", DREAM_ID).out
    assert max(map(len, out.splitlines())) < 60 and set(out.split()) == whole


def test_what_a_model_alone_judged_is_named_apart_before_all_is_accepted() -> None:
    def change(n: int, subject: str, reason: str) -> DreamCommit:
        return DreamCommit(n, "", subject, reason, (), (), {})

    judged = f"one: “a”\nother: “b”\n{JUDGED}anthropic:small: they are alike"
    changes = [
        change(1, "Leave to b what a says too", "Both say it."),
        change(2, "Leave to d what c says too", judged),
        change(3, f"{ASKING}“e” stands for what f says", judged),
        change(4, "Let g supersede what h said", f"{JUDGED}anthropic:small"),
    ]
    told = [line for line in summary_lines(changes) if "judged by a model" in line]
    assert len(told) == 1 and told[0].endswith(": 2, 4")
    assert not [line for line in summary_lines(changes[:1]) if "judged" in line]


def test_a_change_of_order_alone_has_a_card_without_sides() -> None:
    change = DreamCommit(1, "", "Put the newest first", "It is looked for most.", (), (), {})
    [card] = cards_of([change], {}, None)
    assert card.title == "Put the newest first" and not card.sides


def test_what_a_path_holds_begins_no_line_that_reads_as_another_card() -> None:
    (card,) = memory_cards(proposals({}, {"main/a\n2. b.md": b"It is so.\n"}))
    assert list(card_lines(card)) == ["1. main/a 2. b.md", "   + It is so.", "     main/a 2. b.md: added"]
