"""Short questions to a model, each with an answer in JSON that is never trusted to be what was asked for.

Three are asked. Which memories help with a prompt; and, of small models, whether one sentence lasts, and
what two claims are to one another: a model of a few billion parameters seldom gets through a conversation
with tools, but it can say that. Which sentences and pairs are asked about is the offline engine's list. A
schema goes with each question, and nothing relies on the server's keeping to it: what stands around the
object is passed over, and what cannot be used is sent back once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from gitmem.core.change import Header, MemoryType
from gitmem.core.facts import added, missing_facts
from gitmem.core.limits import DESCRIPTION_CHARS
from gitmem.core.memory import create
from gitmem.core.names import slugify
from gitmem.core.text import counted, one_line
from gitmem.engines import verdicts
from gitmem.engines.budget import Meter
from gitmem.engines.engine import ConsolidateInput, ExtractInput
from gitmem.engines.messages import ApiSettings, MessagesClient, bad_answer, brief
from gitmem.engines.offline.extract import SaidCandidate, candidates
from gitmem.engines.prompts import clean, fill, text
from gitmem.engines.task import Task, TaskOutcome
from gitmem.transcripts.model import Message

QUESTIONS = 12
"""Of one run: some ten seconds each on a processor without help, and a conversation teaches a handful."""

OUTPUT_TOKENS = 400
"""Of an answer about a sentence: the sentence, and what some models think before it."""

CHOICE_TOKENS = 256
"""Of a choice of memories: a few numbers."""

TEXT_CHARS = 600
"""Of a sentence as the model words it; a longer one is no longer one fact."""

NAME_WORDS = 7
_BEFORE_CHARS = 300
_QUERY_CHARS, _LINE_CHARS = 4_000, 240
_SHOWN = 120
_TYPES = get_args(MemoryType)
_THOUGHT = "</think>"
_KEEP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "keep": {"type": "boolean"},
        "text": {"type": "string"},
        "type": {"type": "string", "enum": list(_TYPES)},
    },
    "required": ["keep", "text", "type"],
    "additionalProperties": False,
}
_PAIR: dict[str, Any] = {
    "type": "object",
    "properties": {
        "is": {"type": "string", "enum": list(verdicts.KINDS)},
        "newer": {"type": "string", "enum": ["A", "B", ""]},
        "reason": {"type": "string"},
    },
    "required": ["is", "newer", "reason"],
    "additionalProperties": False,
}
_CHOICE: dict[str, Any] = {
    "type": "object",
    "properties": {"chosen": {"type": "array", "items": {"type": "integer"}}},
    "required": ["chosen"],
    "additionalProperties": False,
}


class _Unusable(Exception):
    """An answer is not what was asked for; the text says what is wrong."""


class _Misworded(_Unusable):
    """A sentence is kept in words that say more or less than the person's."""

    def __init__(self, problem: str, type: str) -> None:
        super().__init__(problem)
        self.type = type


_Answer = TypeVar("_Answer")


class _Dialogue:
    """A question and what follows it.

    Args:
        system: name of the system text.
        tokens: of one answer, without what a model thinks that cannot do without.
        schema: of the answer.
    """

    def __init__(
        self,
        client: MessagesClient,
        settings: ApiSettings,
        system: str,
        tokens: int,
        schema: dict[str, Any],
    ) -> None:
        self._client = client
        self._messages: list[dict[str, Any]] = []
        self._request: dict[str, Any] = {"system": text(system), **brief(settings.model, tokens)}
        config = self._request.get("output_config", {})
        self._request["output_config"] = {**config, "format": {"type": "json_schema", "schema": schema}}

    def ask(self, content: str, read: Callable[[str], _Answer], repair: str, **fills: str) -> _Answer:
        """Asks, and once more where the answer cannot be used.

        Args:
            read: makes of an answer what was asked for; raises `_Unusable`.
            repair: name of the text that says what is wrong; `fills` are put into it, too.

        Raises:
            _Unusable: neither answer can be used.
        """
        try:
            return read(self._say(content))
        except _Unusable as problem:
            again = fill(text(repair), problem=str(problem), **fills)
        return read(self._say(again))

    def _say(self, content: str) -> str:
        """Says something and returns the answer, which may have been cut."""
        self._messages.append({"role": "user", "content": [{"type": "text", "text": content}]})
        reply = self._client.ask(whole=False, messages=self._messages, **self._request)
        if reply.blocks:
            self._messages.append({"role": "assistant", "content": list(reply.blocks)})
        return reply.text


def _object(answer: str) -> Mapping[str, Any]:
    """Reads the object of an answer: a fence, thoughts or a sentence around it are no part of it.

    Raises:
        _Unusable: there is none.
    """
    plain = answer.rpartition(_THOUGHT)[2]
    start, end = plain.find("{"), plain.rfind("}")
    try:
        value = json.loads(plain[start : end + 1])
    except (ValueError, RecursionError):
        raise _Unusable("it is not JSON") from None
    if not isinstance(value, Mapping):
        raise _Unusable("it is no JSON object")
    return value


def choose(
    client: MessagesClient, settings: ApiSettings, query: str, headers: Sequence[Header], limit: int
) -> tuple[int, ...]:
    """Asks which memories are certainly useful for a request.

    Args:
        query: what the person asked.
        headers: candidates, of which a line each is shown.
        limit: how many at most, at least 1.

    Returns:
        indices into `headers`, best first.

    Raises:
        EngineError: no answer, or twice one that cannot be used.
    """
    talk = _Dialogue(client, settings, "choose", CHOICE_TOKENS, _CHOICE)
    asked = _question(query, headers, limit)
    try:
        numbers = talk.ask(
            asked, lambda answer: _chosen(answer, len(headers), limit), "choose-repair", limit=str(limit)
        )
        return tuple(number - 1 for number in numbers)
    except _Unusable as problem:
        raise bad_answer(settings, f"asked for a choice of memories, {problem}") from None


def _chosen(answer: str, count: int, limit: int) -> tuple[int, ...]:
    """Reads a choice out of an answer.

    Args:
        count: numbers go from 1 to this.
        limit: how many at most.

    Raises:
        _Unusable: it is something else.
    """
    numbers = _object(answer).get("chosen")
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise _Unusable("it holds no list of numbers called chosen")
    if any(not 1 <= number <= count for number in numbers):
        raise _Unusable(f"it holds a number that is not between 1 and {count}")
    if len(set(numbers)) < len(numbers):
        raise _Unusable("it holds a number twice")
    if len(numbers) > limit:
        raise _Unusable(f"it holds more than {limit} numbers")
    return tuple(numbers)


def _question(query: str, headers: Sequence[Header], limit: int) -> str:
    lines = clean([f"[{header.type}] {header.name}: {header.description}" for header in headers])
    listed = "\n".join(f"{number}. {one_line(line, _LINE_CHARS)}" for number, line in enumerate(lines, 1))
    asked = one_line(clean([query])[0], _QUERY_CHARS)
    return f"The memories:\n{listed}\n\nThe request:\n{asked}\n\nChoose at most {limit}.\n"


@dataclass(frozen=True)
class _Kept:
    """A usable answer; `text` is empty for a sentence that is left."""

    text: str
    type: str


def ask(settings: ApiSettings, meter: Meter, task: Task, given: ExtractInput) -> TaskOutcome:
    """Asks about each candidate, and writes a memory of each that the model keeps.

    Args:
        task: its tree is what the memories are put into.
        given: the session.

    Raises:
        EngineError: no answer, or none of them can be used.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    files = dict(task.tree)
    lines: list[str] = []
    log: list[str] = []
    said = {message.uuid: number for number, message in enumerate(given.said, 1)}
    wanted = [one for one in candidates(given)[:QUESTIONS] if one.message in said]
    unusable = 0
    with MessagesClient(settings, meter, task.job) as client:
        for one in wanted:
            number = said[one.message]
            message = given.said[number - 1]
            before = _before(given, number, message)
            try:
                kept = _Question(client, settings, one, message, before, log).ask()
            except _Unusable as problem:
                unusable += 1
                log.append(f"no usable answer ({problem}) about: {one_line(one.text, _SHOWN)}")
                continue
            if kept.text:
                path = _path(kept.text, given.agent, files)
                file = path.rpartition("/")[2]
                name, described = file.removesuffix(".md"), one_line(kept.text, DESCRIPTION_CHARS)
                files[path] = create(name, described, kept.type, kept.text, file).render()
                lines.append(f"memory/{path}: {number}: the model keeps “{one_line(one.text, _SHOWN)}”")
        if wanted and unusable == len(wanted):
            asked = counted(unusable, "question")
            raise bad_answer(settings, f"to {asked} it gave no answer of the form asked for")
        return TaskOutcome(files, ("\n".join(lines),), usage=client.usage, log=tuple(log))


def compare(settings: ApiSettings, meter: Meter, task: Task, given: ConsolidateInput) -> TaskOutcome:
    """Asks what the claims of each pair of a dream are to one another, a pair at a time.

    Args:
        task: its tree stays as it is.
        given: what is known of the scope.

    Returns:
        the tree, and the answers as one array (see `verdicts`); a pair without one is left out.

    Raises:
        EngineError: no answer came.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    found: list[dict[str, str]] = []
    log: list[str] = []
    with MessagesClient(settings, meter, task.job) as client:
        for number, pair in enumerate(task.pairs, 1):
            task.tell(number, len(task.pairs), ())
            asked = clean([verdicts.render_pair(number, pair, given)])[0]
            talk = _Dialogue(client, settings, "pair-system", OUTPUT_TOKENS, _PAIR)
            try:
                said = talk.ask(asked, _compared, "pair-repair")
            except _Unusable as problem:
                log.append(f"no usable answer ({problem}) about: {one_line(asked, _SHOWN)}")
                continue
            one = {"is": said.kind, "newer": said.newer, "reason": said.reason}
            found.append({"pair": verdicts.label(number), **one})
        answers = (json.dumps(found),)
        wrong = tuple(task.judge(task.tree, answers))
        return TaskOutcome(task.tree, answers, wrong, client.usage, tuple(log))


def _compared(answer: str) -> verdicts.Verdict:
    """Reads what two claims are said to be.

    Raises:
        _Unusable: the answer is of another form.
    """
    said = verdicts.read(_object(answer))
    if said is None:
        raise _Unusable(f"is must be one of {', '.join(verdicts.KINDS)}, with newer A or B")
    return said


class _Question:
    """One candidate, put to the model."""

    def __init__(
        self,
        client: MessagesClient,
        settings: ApiSettings,
        one: SaidCandidate,
        message: Message,
        before: str,
        log: list[str],
    ) -> None:
        self._talk = _Dialogue(client, settings, "question-system", OUTPUT_TOKENS, _KEEP)
        self._one, self._log = one, log
        self._sources = (one.text, message.text, before)
        sentence, context = clean([one.text, before])
        day = f" on {message.time:%A, %Y-%m-%d}" if message.time else ""
        parts = [f"Before it the agent said:\n{context}"] if context else []
        self._asked = "\n\n".join([*parts, f"The person said{day}:\n{sentence}"])

    def ask(self) -> _Kept:
        """Asks, once more where the answer cannot be used.

        Raises:
            _Unusable: neither can.
        """
        try:
            return self._talk.ask(self._asked, self._checked, "question-repair")
        except _Misworded as problem:
            # That it lasts is said; how it is worded is then the person's own.
            own = one_line(self._one.text, _SHOWN)
            self._log.append(f"kept in the person's own words ({problem}): {own}")
            return _Kept(self._one.text, problem.type)

    def _checked(self, answer: str) -> _Kept:
        """The answer, held against what was said.

        Raises:
            _Unusable: it is of another form, or says more or less than the person.
        """
        kept = _read(answer)
        if not kept.text:
            return kept
        if more := added(kept.text, self._sources):
            said = one_line(", ".join(more[:3]), 100)
            raise _Misworded(f"it says {said}, which the person did not say", kept.type)
        if less := missing_facts(self._one.text, kept.text):
            raise _Misworded(f"it leaves out {one_line(', '.join(less[:3]), 100)}", kept.type)
        return kept


def _read(answer: str) -> _Kept:
    """Reads an answer's form.

    Raises:
        _Unusable: it has another.
    """
    value = _object(answer)
    if not isinstance(value.get("keep"), bool):
        raise _Unusable("it does not say with true or false whether to keep it")
    if not value["keep"]:
        return _Kept("", _TYPES[0])
    said, kind = value.get("text"), value.get("type")
    if not isinstance(said, str) or not said.strip() or len(said) > TEXT_CHARS:
        raise _Unusable(f"text is no sentence of at most {TEXT_CHARS} characters")
    if kind not in _TYPES:
        raise _Unusable(f"type is none of {', '.join(_TYPES)}")
    return _Kept(" ".join(said.split()), str(kind))


def _before(given: ExtractInput, number: int, message: Message) -> str:
    """What a message answers, or the agent's words before it."""
    last = given.said[number - 2] if number > 1 else None
    said = message.context or (last.text if last is not None and last.role == "agent" else "")
    return one_line(said[-4 * _BEFORE_CHARS :], _BEFORE_CHARS)


def _path(said: str, agent: str, files: Mapping[str, bytes]) -> str:
    stem = slugify(" ".join(said.split()[:NAME_WORDS]))
    names = (f"{stem}{suffix}" for suffix in ("", *(f"-{at}" for at in range(2, len(files) + 3))))
    paths = (f"local/{agent}/{name}.md" for name in names)
    return next(path for path in paths if path not in files)
