"""What goes in a request is listed from its trees: no trailer hides it, and too much needs a person."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from check_ground import Ground, findings, make_memory, memory
from once import Once, home_folder, once, place, tmp_path
from slices import often

from gitmem.core.account import claims_at, reference
from gitmem.core.trailers import Fate, Op, Provenance, Writer, format_message

__all__ = ["home_folder", "once", "place", "tmp_path"]

NEVER = "Never run `make reset` on staging, since it once took the orders of Ann."
BODIES = {
    "reset": NEVER,
    "ports": "The proxy listens on port 8080.",
    "freeze": "Nothing ships on Friday.",
    "review": "Ben reviews each migration.",
    "build": "The build takes nine minutes.",
}
Judged = Callable[..., dict[str, list[str]]]


@pytest.fixture
def ground(tmp_path: Path, once: Once[Ground]) -> Ground:
    return once("ground", lambda: make_memory(tmp_path / "ground", **BODIES))


@pytest.fixture
def judged(ground: Ground, gitmem) -> Judged:  # type: ignore[no-untyped-def]
    """Rule to messages of what is found, errors in capitals."""

    def run(*words: str) -> dict[str, list[str]]:
        ran = gitmem("check", "--json", *words, cwd=ground.work, ok=False)
        found: dict[str, list[str]] = {}
        for one in json.loads(ran.out)["findings"]:
            rule = one["rule"].upper() if one["level"] == "error" else one["rule"]
            found.setdefault(rule, []).append(one["message"])
        return found

    return run


def refs(name: str, body: str = "") -> list[str]:
    """The body's claim, then the description."""
    path = f"main/{name}.md"
    data = memory(body or BODIES[name], name, f"About {name}").encode()
    return [reference(path, claim) for claim in claims_at(path, data)]


def dropping(*names: str, op: Op = "delete", writer: Writer = "human") -> str:
    """A message that has a reason for each claim of some memories."""
    fates = [Fate("dropped", one, "", "no longer needed") for name in names for one in refs(name)]
    return format_message("Tidy up", Provenance(op=op, writer=writer, claims=tuple(fates)))


def says(name: str, body: str) -> dict[str, str]:
    return {f"main/{name}.md": memory(body, name, f"About {name}")}


def without(*names: str) -> dict[str, None]:
    return {f"main/{name}.md": None for name in names}


def over(name: str, new: str, op: Op = "dream", writer: Writer = "dream") -> str:
    fate = Fate("superseded", refs(name)[0], refs(name, new)[0], "it says it better")
    return format_message("Tidy up", Provenance(op=op, writer=writer, claims=(fate,)))


@pytest.mark.parametrize("writer", often(["human", "agent", "extract", "sync", "dream"], "human", "dream"))
@pytest.mark.parametrize("told", [True, False])
def test_a_request_that_deletes_every_memory_fails_whoever_wrote_it(
    ground: Ground, judged: Judged, writer: Writer, told: bool
) -> None:
    names = BODIES if told else ()
    ground.commit({f"main/{name}.md": None for name in BODIES}, dropping(*names, writer=writer))
    found = judged()
    (loss,) = found["LOSS"]
    assert loss.startswith("this request takes out 10 of 10 claims, and 3 may go unasked")
    assert len(found.get("dropped", ())) + len(found.get("ACCOUNT", ())) == 10


def test_claims_that_go_one_by_one_are_counted_together(ground: Ground, judged: Judged) -> None:
    for name in ("ports", "freeze"):
        ground.commit({f"main/{name}.md": None}, dropping(name))
    assert judged()["LOSS"][0].startswith("this request takes out 4 of 10 claims")


def test_a_few_are_listed_and_pass(ground: Ground, judged: Judged, gitmem) -> None:  # type: ignore[no-untyped-def]
    ground.commit({"main/ports.md": None}, dropping("ports"))
    found = judged()
    assert found["loss"] == ["this request takes out 2 of 10 claims"]
    assert len(found["dropped"]) == 2 and all("no longer needed" in one for one in found["dropped"])
    assert gitmem("check", cwd=ground.work).code == 0


def test_each_that_is_listed_counts(ground: Ground, judged: Judged) -> None:
    """One of which only a word goes is listed as replaced, and is gone like the others."""
    fewer = "Ben reviews it."
    ground.commit({"main/ports.md": None, **says("review", fewer)}, over("review", fewer))
    found = judged()
    assert [one for rule in found if rule.lower() == "replaced" for one in found[rule]]
    assert found["loss"] == ["this request takes out 3 of 10 claims"]


class TestAPersonsWord:
    def word(self, judged: Judged) -> str:
        return judged()["LOSS"][0].rpartition(" ")[2]

    def test_it_lets_pass_what_it_was_given_for_and_nothing_else(
        self, ground: Ground, judged: Judged
    ) -> None:
        ground.commit(without("ports", "freeze"), dropping("ports", "freeze"))
        word = self.word(judged)
        assert re.fullmatch("loss-4-[0-9a-f]{12}", word)
        found = judged("--allow", word)
        assert "LOSS" not in found and found["loss"][0].endswith(word) and len(found["dropped"]) == 4
        ground.commit({"main/review.md": None}, dropping("review"))
        assert "LOSS" in judged("--allow", word)

    def test_as_many_others_need_another_one(self, ground: Ground, judged: Judged) -> None:
        ground.commit(without("ports", "freeze"), dropping("ports", "freeze"))
        word = self.word(judged)
        ground.git("reset", "-q", "--hard", "HEAD~1")
        ground.commit(without("reset", "review"), dropping("reset", "review"))
        assert "LOSS" in judged("--allow", word)

    def test_a_label_of_the_pull_request_is_one(
        self, ground: Ground, judged: Judged, gitmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:  # type: ignore[no-untyped-def]
        ground.commit(without("ports", "freeze"), dropping("ports", "freeze"))
        labels = ["help wanted", 7, f"gitmem-allow-{self.word(judged)}"]
        event = tmp_path / "event.json"
        monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
        monkeypatch.setenv("GITHUB_BASE_REF", "gitmem/project")
        for said, code in (
            ({"pull_request": {"labels": [{"name": one} for one in labels]}}, 0),
            ({"pull_request": {"labels": [{"name": one} for one in labels[:2]]}}, 1),
            # Whoever asks writes the text of a request.
            ({"pull_request": {"labels": [], "body": labels[2]}}, 1),
            ({"pull_request": {"labels": labels}}, 1),
            ([], 1),
        ):
            event.write_text(json.dumps(said))
            ran = gitmem("check", "--github", cwd=ground.work, ok=False)
            assert ran.code == code, (said, ran.out)

    def test_no_label_lets_a_credential_pass(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        from gitmem.flows.check import allowed_by_labels

        event = tmp_path / "event.json"
        names = ["gitmem-allow-loss-4-0123456789ab", "gitmem-allow-a1b2c3d4", "a1b2c3d4"]
        event.write_text(json.dumps({"pull_request": {"labels": [{"name": one} for one in names]}}))
        assert allowed_by_labels({"GITHUB_EVENT_PATH": str(event)}) == {"loss-4-0123456789ab"}
        assert allowed_by_labels({}) == frozenset()


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


@pytest.mark.parametrize("swap", often(SWAPS, "negation", "number", "name", "reason"))
def test_a_dream_may_not_swap_what_a_claim_says(ground: Ground, judged: Judged, swap: str) -> None:
    name, new = SWAPS[swap]
    ground.commit(says(name, new), over(name, new))
    found = judged()
    assert len(found["INVENTED"]) == 1 and len(found.get("replaced", ())) == 1, found


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("writer", often(["human", "extract", "sync"], "human"))
def test_what_anyone_else_swaps_is_listed(
    ground: Ground, judged: Judged, swap: str, writer: Writer
) -> None:
    """Whoever learns may say something new; that something else was said is told, with both."""
    name, new = SWAPS[swap]
    ground.commit(says(name, new), over(name, new, op="update", writer=writer))
    (said,) = judged()["replaced"]
    assert BODIES[name][:30] in said and new[:30] in said


def test_a_session_that_is_not_here_is_named_and_a_person_answers_for_it(
    ground: Ground, judged: Judged
) -> None:
    name, new = SWAPS["number"]
    old, now = (refs(name, body)[0] for body in ("", new))
    fate = Fate("superseded", old, now, "said so")
    told = Provenance(op="dream", writer="dream", session="s-1", claims=(fate,))
    ground.commit(says(name, new), format_message("Correct it", told))
    (said,) = judged()["UNSEEN"]
    assert "s-1" in said and "9090" in said
    word = said.rpartition(" ")[2]
    assert re.fullmatch("taught-1-[0-9a-f]{12}", word)
    assert "UNSEEN" not in judged("--allow", word) and "unseen" in judged("--allow", word)


def test_what_a_line_of_a_log_taught_may_supersede(ground: Ground, judged: Judged) -> None:
    """The honest twin: somebody said so, and it can be looked up."""
    name, new = SWAPS["number"]
    ground.git("checkout", "-q", "--detach", "origin/gitmem/project")
    line = f"- 10:00:00Z [project 0123abcd] {new}\n"
    ground.commit({"main/logs/2026/11/2026-11-18.md": line}, "Learn")
    ground.push("gitmem/project")
    ground.git("fetch", "-q")
    ground.commit(says(name, new), over(name, new))
    found = judged()
    assert not any(rule.isupper() for rule in found), found
    assert len(found["replaced"]) == 1


def test_what_the_same_request_taught_first_teaches_no_dream(ground: Ground, judged: Judged) -> None:
    name, new = SWAPS["number"]
    line = f"- 10:00:00Z [project 0123abcd] {new}\n"
    ground.commit({"main/logs/2026/11/2026-11-18.md": line}, "Learn")
    ground.commit(says(name, new), over(name, new))
    assert len(judged()["INVENTED"]) == 1


def test_a_loss_that_another_commit_declares_is_found_in_the_merge_that_makes_it(
    ground: Ground, judged: Judged
) -> None:
    ground.commit({"main/new.md": memory("New.", "new")}, dropping("ports"))
    side = ground.git("rev-parse", "HEAD")
    ground.git("checkout", "-q", "--detach", "origin/gitmem/project")
    ground.commit({"main/other.md": memory("Other.", "other")})
    ground.git("merge", "-q", "--no-commit", "--no-ff", side)
    ground.commit({"main/ports.md": None}, "Merge memory")
    assert len(judged()["ACCOUNT"]) == 2


def test_facts_that_change_places_are_no_rewording(tmp_path: Path, gitmem) -> None:  # type: ignore[no-untyped-def]
    old = "Staging runs on port 8080 and production on port 9090."
    new = "Staging runs on port 9090 and production on port 8080."
    ground = make_memory(tmp_path / "ground", hosts=old)
    datas = [memory(text, "hosts", "About hosts").encode() for text in (old, new)]
    at = [reference("main/hosts.md", claims_at("main/hosts.md", data)[0]) for data in datas]
    for kind in ("merged", "superseded"):
        told = Provenance(op="dream", writer="dream", claims=(Fate(kind, at[0], at[1], "same"),))  # type: ignore[arg-type]
        ground.commit({"main/hosts.md": memory(new, "hosts", "About hosts")}, format_message("Tidy", told))
        found = findings(gitmem("check", "--json", cwd=ground.work, ok=False))
        assert ("main/hosts.md", 8, "invented", "error") in found
        ground.git("reset", "-q", "--hard", "HEAD~1")


WRITTEN = (
    "# Rules of the team\n",
    "- [reset](reset.md) — asked twice: Ann decides, never Ben\n",
    "- ports.md and freeze.md: read both before 9:00\n",
    "Ask Carl before a release.\n",
)

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

    @pytest.fixture
    def ground(self, tmp_path: Path, once: Once[Ground]) -> Ground:
        def make() -> Ground:
            ground = make_memory(tmp_path / "ground", **BODIES)
            ground.commit({"main/MEMORY.md": self.listed(ground) + "".join(WRITTEN)}, "Write some lines")
            ground.push("gitmem/project")
            ground.git("fetch", "-q")
            return ground

        return once("written", make)

    def listed(self, ground: Ground) -> str:
        return (ground.work / "main/MEMORY.md").read_text()

    def put(self, ground: Ground, text: str, message: str = "Tidy the index", **more: str | None) -> None:
        ground.commit({"main/MEMORY.md": text} | {f"main/{k}.md": v for k, v in more.items()}, message)

    @pytest.mark.parametrize("number", range(len(WRITTEN)))
    @pytest.mark.parametrize("writer", ["human", "dream"])
    def test_one_that_goes_is_listed_and_counted(
        self, ground: Ground, judged: Judged, number: int, writer: Writer
    ) -> None:
        line = WRITTEN[number]
        told = format_message("Tidy up", Provenance(op="update", writer=writer))
        self.put(ground, self.listed(ground).replace(line, ""), told)
        found = judged()
        (said,) = found["dropped"]
        assert line.strip()[:40] in said and "claim dropped by" in said
        assert found["loss"] == ["this request takes out 1 of 14 claims"]

    def test_one_that_says_something_else_now_is_told_with_both(
        self, ground: Ground, judged: Judged, gitmem
    ) -> None:  # type: ignore[no-untyped-def]
        self.put(ground, self.listed(ground).replace("never Ben", "never Carl"))
        (said,) = judged()["replaced"]
        assert "never Ben" in said and "never Carl" in said
        found = findings(gitmem("check", "--json", cwd=ground.work))
        assert ("main/MEMORY.md", 7, "replaced", "notice") in found

    def test_too_many_need_a_word(self, ground: Ground, judged: Judged) -> None:
        self.put(ground, "")
        found = judged()
        (loss,) = found["LOSS"]
        assert loss.startswith("this request takes out 4 of 14 claims, and 3 may go unasked")
        assert "LOSS" not in judged("--allow", loss.rpartition(" ")[2])

    def test_one_that_a_merge_leaves_out_is_listed(self, ground: Ground, judged: Judged) -> None:
        kept = self.listed(ground)
        self.put(ground, kept + "More.\n")
        side = ground.git("rev-parse", "HEAD")
        ground.git("checkout", "-q", "--detach", "origin/gitmem/project")
        ground.commit({"main/other.md": memory("Other.", "other")})
        ground.git("merge", "-q", "--no-commit", "--no-ff", side)
        self.put(ground, kept.replace(WRITTEN[3], ""), "Merge memory")
        (said,) = judged()["dropped"]
        assert "Ask Carl" in said

    @pytest.mark.parametrize("how", SAME)
    def test_what_says_the_same_is_no_loss(self, ground: Ground, judged: Judged, how: str) -> None:
        self.put(ground, SAME[how](self.listed(ground)))
        assert not {"dropped", "replaced", "LOSS", "loss"} & judged().keys()

    def test_own_lines_follow_their_memories(self, ground: Ground, judged: Judged) -> None:
        text = self.listed(ground).replace("— About build", "— How long About build is")
        self.put(ground, text, build=memory(BODIES["build"], "build", "How long About build is"))
        assert not any("MEMORY" in one or "- [build]" in one for one in judged().get("replaced", ()))

    def test_what_moves_into_a_memory_is_no_loss(self, ground: Ground, judged: Judged) -> None:
        text = self.listed(ground).replace(WRITTEN[3], "")
        self.put(ground, text, build=memory(f"{BODIES['build']}\n\n{WRITTEN[3]}", "build", "About build"))
        assert "dropped" not in judged()

    def test_a_claim_of_nothing_but_points_holds_no_line(self, ground: Ground, judged: Judged) -> None:
        text = self.listed(ground).replace(WRITTEN[3], "")
        self.put(ground, text, build=memory(f"{BODIES['build']}\n\n...", "build", "About build"))
        assert len(judged()["dropped"]) == 1

    def test_a_line_goes_along_with_a_memory_that_moves(self, ground: Ground, judged: Judged) -> None:
        text = self.listed(ground).replace("(reset.md)", "(never-reset.md)")
        body = (ground.work / "main/reset.md").read_text()
        self.put(ground, text, **{"reset": None, "never-reset": body})
        assert "dropped" not in judged() and "replaced" not in judged()
