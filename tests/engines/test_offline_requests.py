"""Asked is asked: as order or question, about what follows, what was said before, or a paste."""

from __future__ import annotations

import pytest

from gitmem.core.change import Change
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline.extract import extract
from gitmem.engines.offline.requests import request
from gitmem.transcripts.model import Message

FACT = "The staging database is wiped on Sundays."


def person(text: str, uuid: str = "m1", pasted: tuple[str, ...] = ()) -> Message:
    return Message(uuid, "person", text, None, "prompt", pasted=pasted)


def agent(text: str) -> Message:
    return Message("a1", "agent", text, None, "reply")


def stored(*messages: Message) -> list[Change]:
    return [change for change in extract(ExtractInput(messages)) if change.asked]


@pytest.mark.parametrize(
    "text",
    [
        "remember the staging database is wiped on Sundays",
        "please remember: the staging database is wiped on Sundays",
        "Don't forget that the staging database is wiped on Sundays.",
        "note for the future: the staging database is wiped on Sundays",
        "Add to memory: the staging database is wiped on Sundays.",
        "Can you remember that the staging database is wiped on Sundays?",
        "would you mind remembering that the staging database is wiped on Sundays?",
        "I'd like you to remember that the staging database is wiped on Sundays.",
        "for future sessions, remember that the staging database is wiped on Sundays",
        "add this to CLAUDE.md: the staging database is wiped on Sundays",
        "put in your notes that the staging database is wiped on Sundays",
        "keep in mind for next time that the staging database is wiped on Sundays",
        "make a note that the staging database is wiped on Sundays",
        "keep in mind going forward that the staging database is wiped on Sundays",
        "note to self: the staging database is wiped on Sundays",
        "jot down that the staging database is wiped on Sundays",
        "store this for later sessions: the staging database is wiped on Sundays",
        "add a memory: the staging database is wiped on Sundays",
        "commit this to memory - the staging database is wiped on Sundays",
        "The staging database is wiped on Sundays, please remember that.",
        "The staging database is wiped on Sundays. Should we add this to CLAUDE.md so you remember?",
        "The staging database is wiped on Sundays. Write that down somewhere so we don't lose data again.",
    ],
)
def test_the_fact_is_kept_without_the_asking(text: str) -> None:
    (change,) = stored(person(text))
    assert change.body == FACT


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("remember to start the proxy before the tests", "Start the proxy before the tests."),
        ("remember not to rebase shared branches", "Don't rebase shared branches."),
        ("make it a rule that every endpoint has a test", "Every endpoint has a test."),
        ("new rule: no dependency without asking", "No dependency without asking."),
        ("from now on squash before you merge", "Squash before you merge."),
        (
            "Let's do #2, though can we stick to the workflow of review first?",
            "Stick to the workflow of review first.",
        ),
        ("Ab jetzt immer auf Deutsch antworten", "Immer auf Deutsch antworten."),
        ("Dorénavant, écris les messages de commit en anglais", "Écris les messages de commit en anglais."),
        ("A partir de ahora usa siempre pnpm", "Usa siempre pnpm."),
    ],
)
def test_a_thing_to_do_is_kept_as_an_instruction(text: str, body: str) -> None:
    (change,) = stored(person(text))
    assert (change.body, change.type) == (body, "feedback")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Merk dir bitte, dass Staging sonntags geleert wird.", "Staging"),
        ("Denk in Zukunft daran, Staging sonntags nicht zu nutzen.", "Staging"),
        ("Ten en cuenta para la próxima que staging se vacía los domingos.", "domingos"),
        ("Souviens-toi que la base de test est vidée le dimanche.", "base de test"),
        ("Recuerda que la base de pruebas se vacía los domingos.", "pruebas"),
        ("Ricordati che il database di prova viene svuotato la domenica.", "svuotato"),
        ("Lembre-se de que o banco de teste é limpo aos domingos.", "domingos"),
        ("Onthoud dat de testdatabase op zondag wordt geleegd.", "zondag"),
        ("Запомни: тестовая база очищается по воскресеньям.", "база"),
        ("テスト用のDBは日曜に消えることを覚えておいて", "日曜"),
        ("请记住：测试数据库每周日清空", "测试数据库"),
    ],
)
def test_asking_is_heard_in_other_languages(text: str, word: str) -> None:
    (change,) = stored(person(text))
    assert word in change.body


def test_what_is_asked_for_may_stand_below_or_have_been_pasted() -> None:
    (change,) = stored(person("please remember the following:\n\n- orders close at 5\n- refunds need Ann"))
    assert change.body == "- orders close at 5\n- refunds need Ann."
    (change,) = stored(person("please remember the following:", pasted=("Orders close at 5.\n",)))
    assert change.body == "Orders close at 5."


def test_a_paste_never_speaks_as_the_person() -> None:
    paste = ("Dear all, please always remember that the budget is closed.",)
    assert extract(ExtractInput((person("what does this mail want?", pasted=paste),))) == ()
    assert extract(ExtractInput((person("", pasted=paste),))) == ()


def test_that_is_what_was_said_just_before_by_the_person_or_else_by_the_agent() -> None:
    (change,) = stored(
        person("Our customers close their books on the 3rd of each month.", "m0"),
        person("remember that", "m1"),
    )
    assert change.body == "Our customers close their books on the 3rd of each month."
    assert (change.origin.first, change.origin.last) == ("m0", "m1")
    (change,) = stored(
        person("why does it fail?", "m0"),
        agent("The token is only valid in the EU region, so calls from the US fail.\n\nShall I retry?"),
        person("Can you add this to CLAUDE.md?", "m1"),
    )
    assert "only valid in the EU region" in change.body
    assert stored(person("remember that")) == []


def test_no_word_of_the_fact_is_taken_for_the_asking() -> None:
    assert [one.body for one in stored(person("Remember that fact 1 is on page 3."))] == [
        "Fact 1 is on page 3."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Remember the function we looked at?",
        "Remember that bug from last week?",
        "The email said: remember that tokens expire after an hour",
        "keep in mind that this function is called twice",
        "remember to add the import here, too",
        "remember the function we looked at yesterday, rename it",
        "do you remember how the cache works?",
        "add a 'remember me' checkbox",
        "implement remember me",
        "can we store this in memory instead of on disk?",
        "remember what I said?",
        "remind me to call Ann",
        "we should remember the last page of the user",
        "ok, that test is right, keep it",
        "should I add this to CLAUDE.md?",
        "did you add that to your memory?",
        "Remembering the last run, I wonder if the cache helps here",
        "remember to also run the formatter on the file before you finish",
        "remember to delete the temporary branch afterwards",
        "don't forget to run the formatter",
        "note that line 30 is still wrong",
        "Remember we are still on step 2 of the plan, do not jump to 3 yet",
        "Remember, it's only a prototype.",
        "remember the port is 80 here, so fix the loop",
        "from now on in this function the index starts at 1",
        "going forward with plan B",
        "let's stick to the naming convention in this file",
        "Merk dir die Zeilennummern und gib sie am Ende aus",
        "Vergiss nicht, den Branch zu pushen",
        "ab jetzt läuft der Test",
        "记得我们昨天看的函数吗？",
    ],
)
def test_a_reminiscence_or_a_feature_is_no_request(text: str) -> None:
    assert stored(person(text)) == []


@pytest.mark.parametrize("more", [" for all too too", " in future also"])
def test_a_sentence_of_any_length_is_read(more: str) -> None:
    """Backtracking doubled with every word: a sentence of 500 letters never came to an end."""
    assert request(f"remember{more * 100} zz") == request(f"remember{more * 99} zz")
