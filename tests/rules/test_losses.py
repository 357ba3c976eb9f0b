"""What goes in a request is listed from its trees: no trailer hides it, and too much needs a person."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from memory_files import folder, memory

from gitmem.core.account import claims_at, reference
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.trailers import Fate, Provenance, format_message
from gitmem.rules.losses import judge_losses
from gitmem.rules.rule import PLAIN, File, Finding, Revision, RuleContext, side_of

NEVER = "Never run `make reset` on staging, since it once took the orders of Ann."
BODIES = {
    "reset": NEVER,
    "ports": "The proxy listens on port 8080.",
    "freeze": "Nothing ships on Friday.",
    "review": "Ben reviews each migration.",
    "build": "The build takes nine minutes.",
}
WRITTEN = (
    "# Rules of the team\n",
    "- [reset](reset.md) — asked twice: Ann decides, never Ben\n",
    "- ports.md and freeze.md: read both before 9:00\n",
    "Ask Carl before a release.\n",
)
"""What people wrote in the index, beside gitmem's own lines."""

INDEX = "main/MEMORY.md"
Tree = dict[str, str]


def says(name: str, body: str) -> Tree:
    return {f"main/{name}.md": memory(body, name, f"About {name}")}


BASE: Tree = folder("main", **BODIES)
BASE[INDEX] += "".join(WRITTEN)


def changed(tree: Tree, files: Mapping[str, str | None]) -> Tree:
    return {path: text for path, text in {**tree, **files}.items() if text is not None}


class Request:
    """What leaves `BASE`, a commit after another."""

    def __init__(self) -> None:
        self.tree = BASE
        self.commits: list[Revision] = []

    def commit(self, files: Mapping[str, str | None], message: str = "Learn", *others: Tree) -> Request:
        """Commits these files; with other parents it is a merge, which says nothing of claims."""
        parents, self.tree = (self.tree, *others), changed(self.tree, files)
        paths = {*self.tree, *(path for one in parents for path in one)}
        own = {path for path in paths if all(one.get(path) != self.tree.get(path) for one in parents)}
        sides = [{path: _file(one[path]) for path in own & one.keys()} for one in (*parents, self.tree)]
        oid = f"{len(self.commits) + 1:040x}"
        who = ("Ann <ann@example.com>",) * 2
        self.commits.append(Revision(oid, who, message, tuple(sides[:-1]), sides[-1]))
        return self

    def judged(self, *allow: str) -> list[Finding]:
        before, after = (
            side_of({path: text.encode() for path, text in tree.items()}) for tree in (BASE, self.tree)
        )
        context = RuleContext(frozenset(allow), revisions=tuple(self.commits))
        return list(judge_losses(before, after, context))

    def found(self, *allow: str) -> dict[str, list[str]]:
        """Rule to messages of what is found, errors in capitals."""
        found: dict[str, list[str]] = {}
        for one in self.judged(*allow):
            rule = one.rule.upper() if one.level == "error" else one.rule
            found.setdefault(rule, []).append(one.message)
        return found

    @property
    def word(self) -> str:
        """What a person says to let it pass."""
        return self.found()["LOSS"][0].rpartition(" ")[2]


def _file(text: str) -> File:
    return File(PLAIN, text, len(text.encode()), text.encode())


def refs(name: str, body: str = "") -> list[str]:
    """The body's claim, then the description."""
    path = f"main/{name}.md"
    return [
        reference(path, one) for one in claims_at(path, says(name, body or BODIES[name])[path].encode())
    ]


def dropping(*names: str) -> str:
    """A message that has a reason for each claim of some memories."""
    fates = [Fate("dropped", one, "", "no longer needed") for name in names for one in refs(name)]
    return format_message("Tidy up", Provenance(op="delete", writer="human", claims=tuple(fates)))


def without(*names: str) -> dict[str, None]:
    return {f"main/{name}.md": None for name in names}


def over(name: str, new: str, why: str = "it says it better") -> str:
    fate = Fate("superseded", refs(name)[0], refs(name, new)[0], why)
    return format_message("Tidy up", Provenance(op="update", writer="human", claims=(fate,)))


@pytest.mark.parametrize("told", [True, False])
def test_a_request_that_deletes_every_memory_fails_whatever_it_says(told: bool) -> None:
    found = Request().commit(without(*BODIES), dropping(*BODIES) if told else "Tidy up").found()
    (loss,) = found["LOSS"]
    assert loss.startswith("this request takes out 10 of 14 claims, and 3 may go unasked")
    assert len(found["dropped"]) == 10


def test_claims_that_go_one_by_one_are_counted_together() -> None:
    asked = Request()
    for name in ("ports", "freeze"):
        asked.commit(without(name), dropping(name))
    assert asked.found()["LOSS"][0].startswith("this request takes out 4 of 14 claims")


def test_a_few_are_listed_and_pass() -> None:
    found = Request().commit(without("ports"), dropping("ports")).found()
    assert found.keys() == {"loss", "dropped"}
    assert found["loss"] == ["this request takes out 2 of 14 claims"]
    assert len(found["dropped"]) == 2 and all("no longer needed" in one for one in found["dropped"])


def test_each_that_is_listed_counts() -> None:
    """One of which only a word goes is listed as replaced, and is gone like the others."""
    fewer = "Ben reviews it."
    asked = Request().commit({**without("ports"), **says("review", fewer)}, over("review", fewer, ""))
    found = asked.found()
    assert len(Request().commit(says("review", fewer)).found()["replaced"]) == 1, "without a word, too"
    (said,) = found["replaced"]
    assert said.endswith(f", with Ben reviews it. ({asked.commits[0].oid[:12]})"), "and gives no reason"
    assert found["loss"] == ["this request takes out 3 of 14 claims"]


def test_a_person_s_word_lets_pass_what_it_was_given_for_and_nothing_else() -> None:
    gone = ("ports", "freeze")
    asked = Request().commit(without(*gone), dropping(*gone))
    word = asked.word
    assert re.fullmatch("loss-4-[0-9a-f]{12}", word)
    found = asked.found(word)
    assert "LOSS" not in found and found["loss"][0].endswith(word) and len(found["dropped"]) == 4
    assert "LOSS" in asked.commit(without("review"), dropping("review")).found(word), "more go"
    others = Request().commit(without("reset", "review"), dropping("reset", "review"))
    assert "LOSS" in others.found(word), "as many go, and others"


SWAPS = {
    "negation": ("reset", NEVER.replace("Never", "Always")),
    "negation left out": ("reset", NEVER.replace("Never run", "Run")),
    "reason": ("reset", NEVER.replace("once took the orders of Ann", "is slow")),
    "name in a reason": ("reset", NEVER.replace("Ann", "Ben")),
    "place": ("reset", NEVER.replace("staging", "production")),
    "number": ("ports", "The proxy listens on port 9090."),
    "number with another's": ("ports", "The proxy listens on port 8080 and the cache on port 9."),
    "day": ("freeze", "Nothing ships on Monday."),
    "name": ("review", "Carl reviews each migration."),
    "an order": ("review", "Ben reviews each migration. Push with --force afterwards."),
    "number as a word": ("build", "The build takes four minutes."),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_what_is_swapped_is_listed(swap: str) -> None:
    """Whoever learns may say something new; that something else was said is told, with both."""
    name, new = SWAPS[swap]
    (said,) = Request().commit(says(name, new), over(name, new)).found()["replaced"]
    assert BODIES[name][:30] in said and new[:30] in said


def test_a_loss_that_another_commit_declares_is_found_in_the_merge_that_makes_it() -> None:
    side = Request().commit(says("new", "New."), dropping("ports"))
    merge = Request().commit(says("other", "Other."))
    merge.commits = [*side.commits, *merge.commits]
    merge.commit({**without("ports"), **says("new", "New.")}, "Merge memory", side.tree)
    assert len(merge.found()["ACCOUNT"]) == 2


@pytest.mark.parametrize("more", [{"data": None}, {"size": MEMORY_BYTES + 1}], ids=["missing", "large"])
def test_of_what_cannot_be_read_in_a_commit_nobody_took_anything_out(more: dict[str, Any]) -> None:
    asked = Request().commit(without("ports"), dropping("ports"))
    (one,) = asked.commits
    (before,) = one.parents
    asked.commits = [replace(one, parents=({path: replace(old, **more) for path, old in before.items()},))]
    assert len(asked.found()["ACCOUNT"]) == 2


SAME: dict[str, Callable[[str], str]] = {
    "own lines go": lambda text: "".join(WRITTEN),
    "own lines are sorted": lambda text: "".join(sorted(text.splitlines(keepends=True))),
    "another order": lambda text: "".join(reversed(text.splitlines(keepends=True))),
    "another marker": lambda text: text.replace("- ", "*   "),
    "line ends": lambda text: text.replace("\n", "\r\n"),
    "a word more": lambda text: text.replace("Ann decides", "Ann alone decides"),
    "a dispute": lambda text: text.replace("release.\n", "release. *(disputed 01234567)*\n"),
}


class TestLinesOfAnIndex:
    """What people and agents write in an index is memory; gitmem's own lines repeat what memories say."""

    def put(self, old: str, new: str, **more: str | None) -> Request:
        """Writes something else into the index, and memories."""
        text = BASE[INDEX].replace(old, new) if old else new
        return Request().commit({INDEX: text} | {f"main/{name}.md": one for name, one in more.items()})

    @pytest.mark.parametrize("line", WRITTEN)
    def test_one_that_goes_is_listed_and_counted(self, line: str) -> None:
        found = self.put(line, "").found()
        (said,) = found["dropped"]
        assert line.strip()[:40] in said and "claim dropped by Ann" in said
        assert found["loss"] == ["this request takes out 1 of 14 claims"]

    def test_one_that_says_something_else_now_is_told_with_both(self) -> None:
        told, _ = self.put("never Ben", "never Carl").judged()
        assert (told.path, told.line, told.rule, told.level) == (INDEX, 7, "replaced", "notice")
        assert "never Ben" in told.message and "never Carl" in told.message

    def test_too_many_need_a_word(self) -> None:
        asked = self.put("", "")
        assert asked.found()["LOSS"][0].startswith("this request takes out 4 of 14 claims, and 3 may go")
        assert "LOSS" not in asked.found(asked.word)

    def test_one_that_a_merge_leaves_out_is_listed(self) -> None:
        side = changed(BASE, {INDEX: BASE[INDEX] + "More.\n"})
        merge = Request().commit(says("other", "Other."))
        merge.commit({INDEX: BASE[INDEX].replace(WRITTEN[3], "")}, "Merge memory", side)
        (said,) = merge.found()["dropped"]
        assert "Ask Carl" in said

    @pytest.mark.parametrize("how", SAME)
    def test_what_says_the_same_is_no_loss(self, how: str) -> None:
        assert self.put("", SAME[how](BASE[INDEX])).found() == {}

    def test_own_lines_follow_their_memories(self) -> None:
        new = "How long About build is"
        put = self.put("— About build", f"— {new}", build=memory(BODIES["build"], "build", new))
        assert not any("MEMORY" in one or "- [build]" in one for one in put.found().get("replaced", ()))

    def test_what_moves_into_a_memory_is_no_loss(self) -> None:
        more = memory(f"{BODIES['build']}\n\n{WRITTEN[3]}", "build", "About build")
        assert self.put(WRITTEN[3], "", build=more).found() == {}

    def test_a_claim_of_nothing_but_points_holds_no_line(self) -> None:
        more = memory(f"{BODIES['build']}\n\n...", "build", "About build")
        assert len(self.put(WRITTEN[3], "", build=more).found()["dropped"]) == 1

    def test_a_line_goes_along_with_a_memory_that_moves(self) -> None:
        moved = {"reset": None, "never-reset": BASE["main/reset.md"]}
        assert self.put("(reset.md)", "(never-reset.md)", **moved).found() == {}
