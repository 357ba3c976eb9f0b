"""What an engine with a model is asked: a Task; and the jobs of flows, each made into one.

A Task is a tree to edit, what may be read, a prompt, and a judge of what is left. A kind of engine only
runs it. Neither the tree that comes back nor the model's answer is trusted: see `derivation` and
`consolidation`. Where an engine must not show its model something, the offline engine does what it can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitmem.core.change import Change, Header
from gitmem.core.errors import EngineError
from gitmem.core.text import decode, one_line
from gitmem.core.trailers import Usage
from gitmem.engines import prompts, verdicts
from gitmem.engines.choice import EngineChoice
from gitmem.engines.consolidation import UnaccountedError, derive_dream
from gitmem.engines.derivation import (
    DOCUMENT_BYTES,
    NOTES_BYTES,
    asked_in,
    derive_changes,
    derive_document,
    is_settled,
    note_problems,
)
from gitmem.engines.engine import (
    ConsolidateInput,
    Consolidation,
    Document,
    DocumentInput,
    DreamChange,
    DreamProgress,
    ExtractInput,
    Extraction,
    Notes,
    NotesInput,
    Tell,
    untold,
)
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.offline.likeness import gist
from gitmem.engines.offline.pairs import Pair
from gitmem.engines.sandbox import MEMORY, Roots
from gitmem.engines.tools import Writable

COVERED = 0.5
"""Share of a statement's words that a change must hold to be about it."""


SYSTEM, DREAM_SYSTEM, DOCUMENT_SYSTEM = "extract-system", "consolidate-system", "document-system"
"""Names of system texts. The first is also that of what is noted of a session: so requests about one
session begin with the same bytes."""

DREAM_TURNS, DREAM_REPAIRS, REPAIR_TURNS = 20, 2, 3
"""A scope has some hundred memories, and files are read many at a time; a repair is read, edit, answer."""

MOST_DREAM_TURNS = DREAM_TURNS + DREAM_REPAIRS * REPAIR_TURNS
"""Requests that one dream makes at most."""

DREAM_FILES = 100
"""Memories that one dream may touch: more than a person reviews in one go."""

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class TaskView:
    """How an engine shows a task to its model.

    Attributes:
        files: the tree, as far as it is shown.
        sessions: what may be looked up of what was said, by name.
        root, said_at: what the tree and the folder of sessions are called there.
        worktree: where the code is; None where there is none to look at.
        part: what of the session is asked about now; None for a task that is about none.
        forked: the model holds the session already, and nothing else stands before the prompt.
    """

    files: Files
    sessions: Mapping[str, str]
    root: str = MEMORY
    said_at: str = "sessions"
    worktree: Path | None = None
    part: ExtractInput | None = None
    forked: bool = False


def settled(_files: Files, _answers: Sequence[str]) -> Sequence[str]:
    """Finds nothing left open."""
    return ()


@dataclass(frozen=True)
class Task:
    """A piece of work for a model.

    Attributes:
        job: what it is for, in the meter's words.
        what: names it in errors: `The dream`.
        tree: `<scope>/<agent>/<file>` to content; the model works on a copy.
        may: what of it may be written.
        reads: what else may be read.
        system: name of the system text.
        prompt: writes what the model is told, however the engine shows the tree.
        judge: says what is still wrong with a tree and the answers given until then, a line each.
        repair: writes what the model is told of that; given what the tree is called.
        session: the recorded session that it is about: what stands before the prompt, or is forked. None
            for work on memory alone.
        pairs: claims that words do not decide on, to be judged in the answer; see `verdicts`.
        given: what a dream is given, of which `pairs` are; None for other work.
        turns: requests until the first answer.
        repairs, repair_turns: how often the model is told what is wrong, and the requests it has then.
        tell: is told the request, from 1, how many there may be, and the paths that were changed so far;
            what it raises ends the work.
    """

    job: str
    what: str
    tree: Files
    may: Writable
    reads: Roots
    system: str
    prompt: Callable[[TaskView], str]
    judge: Callable[[Files, Sequence[str]], Sequence[str]] = settled
    repair: Callable[[Sequence[str], str], str] = lambda problems, _root: "\n".join(problems)
    session: ExtractInput | None = None
    pairs: tuple[Pair, ...] = ()
    given: ConsolidateInput | None = None
    turns: int = 5
    repairs: int = 0
    repair_turns: int = 3
    tell: Callable[[int, int, tuple[str, ...]], None] = lambda *_: None

    @property
    def most_turns(self) -> int:
        """Requests that it may take in all."""
        return self.turns + self.repairs * self.repair_turns


@dataclass(frozen=True)
class TaskOutcome:
    """What came of a task.

    Attributes:
        files: the tree as the model left it; what it was not shown is as it was.
        answers: its last words, one for each part of the session or repair.
        wrong: what the judge says of it, after all repairs.
        usage: what it cost.
        log: what it tried and was refused, one line each.
    """

    files: Files
    answers: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    usage: Usage | None = None
    log: tuple[str, ...] = field(default=())


class Unfit(EngineError):
    """An engine must not or cannot show a task to its model; the offline engine does what it can.

    Its message says why, without a full stop.
    """


class ModelEngine:
    """The jobs of an engine that asks a model; a kind of engine adds `name`, `begin` and `run`.

    Attributes:
        reads_history: whether it wants what was said in the session before.
    """

    reads_history: bool = False

    @property
    def works_with_tools(self) -> bool:
        """Whether its model works on a copy with tools in a dream, or else answers short questions."""
        return True

    @property
    def name(self) -> str:
        """Gives the value of the `Gitmem-Engine` trailer: `anthropic:<model>`, …."""
        raise NotImplementedError

    def begin(self) -> None:
        """Is told that a job begins; raises `EngineError` where it must not."""

    def run(self, task: Task) -> TaskOutcome:
        """Has a model work on a copy of a tree until the judge is content, or its turns are used up.

        Raises:
            Unfit: the task is nothing that this engine may show.
            EngineError: no whole answer came; nothing is to be taken then.
            DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
        """
        raise NotImplementedError

    def extract(self, given: ExtractInput) -> Extraction:
        """Has a model look at new messages, and returns what it would change.

        Raises:
            EngineError: no whole answer came; nothing of it is kept.
            DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
        """
        self.begin()
        if not given.messages:
            return Extraction()

        def prompt(shown: TaskView) -> str:
            part = _also(shown.part or given, shown.files)
            task = prompts.task(part, root=shown.root, quote=shown.forked)
            if not shown.forked:
                return task
            before = (prompts.text("extract-fork"), prompts.text(SYSTEM), prompts.rules(given.rules))
            return "\n".join(filter(None, (*before, task)))

        task = Task(
            job="extract",
            what="The extraction",
            tree=given.memory,
            may=Writable((given.agent,)),
            reads=Roots(given.worktree),
            system=SYSTEM,
            prompt=prompt,
            session=given,
        )
        try:
            done = self.run(task)
        except Unfit as why:
            offline = OfflineEngine()
            found = offline.extract(given)
            log = (*found.log, f"{why.message}: looked at offline")
            return replace(found, log=log, engine=offline.name)
        asked = asked_in(given)
        changes = derive_changes(given, done.files, "\n".join(done.answers), uuids(asked))
        return Extraction(with_asked(changes, asked), done.usage, done.log)

    def sum_up(self, given: NotesInput) -> Notes:
        """Has a model write a session's notes on.

        Raises:
            EngineError: no whole answer came, or the notes cannot be taken, also after the model was told
                why.
            DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
        """
        self.begin()
        session = _as_extracted(given)
        if not session.messages:
            return Notes(given.before)
        file = prompts.NOTES_FILE

        def prompt(shown: TaskView) -> str:
            part = shown.part or session
            return prompts.notes(given, part, root=shown.root, quote=shown.forked)

        task = Task(
            job="notes",
            what="The session's notes",
            tree={file: given.before.encode("utf-8", "replace")},
            may=Writable(only=file, size=NOTES_BYTES),
            reads=Roots(given.worktree),
            system=SYSTEM,
            prompt=prompt,
            judge=lambda files, _answers: note_problems(given.before, _text(files, file)),
            repair=lambda wrong, root: prompts.repair("file-repair", wrong, f"{root}/{file}"),
            session=session,
            repairs=1,
        )
        try:
            done = self.run(task)
        except Unfit as why:
            made = OfflineEngine().sum_up(given)
            return replace(made, log=(*made.log, f"{why.message}: noted offline"))
        if done.wrong:
            raise refused_notes(done.wrong)
        return Notes(_text(done.files, file), done.usage, done.log)

    def document(self, given: DocumentInput) -> Document:
        """Has a model make a living document true again.

        Raises:
            EngineError: no whole answer came, or the document cannot be taken, also after the model was
                told why.
            DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
        """
        self.begin()
        if is_settled(given):
            return Document(given.text)
        file = prompts.DOCUMENT_FILE

        def judged(files: Files, answers: Sequence[str]) -> tuple[Document, tuple[str, ...]]:
            return derive_document(given, _text(files, file), "\n".join(answers))

        task = Task(
            job="document",
            what="The session on a document",
            tree={file: given.text.encode("utf-8", "replace")},
            may=Writable(only=file, size=DOCUMENT_BYTES),
            reads=Roots(given.worktree),
            system=DOCUMENT_SYSTEM,
            prompt=lambda shown: prompts.document(given, root=shown.root),
            judge=lambda files, answers: judged(files, answers)[1],
            repair=lambda wrong, root: prompts.repair("file-repair", wrong, f"{root}/{file}"),
            repairs=1,
        )
        try:
            done = self.run(task)
        except Unfit as why:
            return replace(OfflineEngine().document(given), log=(why.message,))
        if done.wrong:
            raise _refused_document(given, done.wrong)
        made, _ = judged(done.files, done.answers)
        return replace(made, usage=done.usage, log=done.log)

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        """Has a model tidy a scope, after what the offline engine proves about it.

        Of the pairs of claims that words do not decide on it is asked what they are to one another. What it
        says becomes changes that are proved like any other; the rest is asked of a person.

        Args:
            tell: is told of each request; what it raises ends the work.

        Returns:
            the offline engine's changes, then the model's, what it decided about pairs, and the questions
            that are left, in the order in which they apply.

        Raises:
            EngineError: no whole answer came, or the model does not account for what it changed; nothing of
                the work is kept then.
            DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
        """
        self.begin()
        from gitmem.engines.offline.consolidate import doubts, settle

        # What to make of daily logs is left to a model that can write.
        lines = {} if self.works_with_tools else given.lines
        proved = OfflineEngine().consolidate(replace(given, lines=lines, most=given.most // 2), tell)
        # What words leave open is the model's first; nothing builds on questions, which come last.
        offers = tuple(change for change in proved.changes if change.kind != "question")
        proved = replace(proved, changes=offers)
        rest = after_proved(given, proved.changes)
        if not prompts.agents(rest):
            return proved
        pairs = doubts(rest, verdicts.PAIRS)
        lead = f"{rest.scope}/"
        made: list[Consolidation] = []

        def judge(files: Files, answers: Sequence[str]) -> Sequence[str]:
            tree = {path.removeprefix(lead): data for path, data in files.items()}
            try:
                made[:] = [derive_dream(rest, tree, answers[-1], self.name)]
            except UnaccountedError as left:
                made.clear()
                return left.problems
            return ()

        done = self.run(
            Task(
                job="consolidate",
                what="The dream",
                tree={f"{lead}{path}": data for path, data in rest.files.items()},
                may=Writable(prompts.agents(rest), (rest.scope,), DREAM_FILES),
                reads=Roots(rest.worktree, rest.sessions),
                system=DREAM_SYSTEM,
                prompt=lambda shown: _dream(rest, pairs, shown),
                judge=judge,
                repair=lambda wrong, _root: prompts.repair("consolidate-repair", wrong),
                pairs=pairs,
                given=rest,
                turns=DREAM_TURNS,
                repairs=DREAM_REPAIRS,
                repair_turns=REPAIR_TURNS,
                tell=lambda turn, turns, paths: tell(
                    DreamProgress(
                        "consolidate", turn, turns, tuple(path.removeprefix(lead) for path in paths)
                    )
                ),
            )
        )
        if done.wrong:
            raise UnaccountedError(self.name, done.wrong)
        found = made[-1]
        said, log = verdicts.parse_answer(done.answers[-1], pairs)
        now = after_proved(rest, found.changes)
        left = max(0, given.most - len(proved.changes) - len(found.changes))
        related = settle(
            replace(now, most=left), tuple(verdicts.judge_pairs(pairs, said, given.said, self.name))
        )
        return Consolidation(
            (*proved.changes, *found.changes, *related.changes),
            (*proved.notes, *found.notes, *related.notes),
            done.usage,
            (*proved.log, *found.log, *done.log, *log, *related.log),
            tuple(verdicts.apart(pairs, said)),
        )


class UnreadyEngine(ModelEngine):
    """Stands in for a chosen engine that cannot run: another one must not take over unasked.

    It says what it lacks when it is asked to work, so that hooks do not break.
    """

    def __init__(self, choice: EngineChoice) -> None:
        self._choice = choice

    @property
    def name(self) -> str:
        """The name of the engine that was chosen, and its model."""
        return ":".join(filter(None, (self._choice.engine, self._choice.model)))

    def begin(self) -> None:
        """Raises `EngineError`, before anything is looked at."""
        raise self._choice.lacking()

    def choose(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:  # noqa: ARG002
        """Raises `EngineError`."""
        raise self._choice.lacking()


def after_proved(given: ConsolidateInput, changes: tuple[DreamChange, ...]) -> ConsolidateInput:
    """What a model is given once the changes stand that could be proved."""
    files = dict(given.files)
    went: dict[str, str] = {}
    spent = 0
    for change in changes:
        change.apply_to(files)
        went |= {fate.source: fate.target for fate in change.fates}
        # Where a link leads is no part of what a claim says.
        spent += change.kind != "link" and sum(
            fate.kind in ("superseded", "dropped") for fate in change.fates
        )
    left = None if given.allowance is None else max(0, given.allowance - spent)
    return replace(
        given,
        files=files,
        scope=given.scope or "project",
        observed=tuple(
            replace(one, claims=tuple(filter(None, (_followed(claim, went) for claim in one.claims))))
            for one in given.observed
        ),
        allowance=left,
        judge=lambda more: given.judge((*changes, *more)),
    )


def _followed(claim: str, went: Mapping[str, str]) -> str:
    """Where a claim is after some changes in a row; empty where it was dropped."""
    seen = {claim}
    while claim in went:
        claim = went[claim]
        if claim in seen:
            break
        seen.add(claim)
    return claim


def _dream(given: ConsolidateInput, pairs: Sequence[Pair], shown: TaskView) -> str:
    lead = f"{given.scope}/"
    files = {path.removeprefix(lead): data for path, data in shown.files.items()}
    told = replace(given, files=files, sessions=shown.sessions, worktree=shown.worktree)
    # Of what an engine must not show, no pair tells either.
    seen = [
        verdicts.render_pair(number, pair, given)
        for number, pair in enumerate(pairs, 1)
        if pair.gone[0].path in files and pair.stays[0].path in files
    ]
    task = prompts.dream(told, seen, root=shown.root)
    if not Path(shown.root).is_absolute():
        return task
    code = f"The code is in `{shown.worktree}/`." if shown.worktree else "There is no code to look at."
    places = {"memory": shown.root, "sessions": shown.said_at, "code": code}
    return "\n".join([prompts.fill(prompts.text("consolidate-session"), **places), task])


def _also(given: ExtractInput, files: Files) -> ExtractInput:
    """The input with files named that were added for an earlier part of the session."""
    known = {f"{header.scope}/{header.agent}/{header.file}" for header in given.manifest}
    added = []
    for path in sorted(set(files) - set(given.memory) - known):
        scope, _, rest = path.partition("/")
        agent, _, file = rest.partition("/")
        added.append(Header(scope, agent, file, file.removesuffix(".md"), "added just now", "new"))
    return replace(given, manifest=(*given.manifest, *added), memory=dict(files))


def _text(files: Files, path: str) -> str:
    return decode(files.get(path, b""))


def uuids(asked: tuple[Change, ...]) -> frozenset[str]:
    """The messages in which it was asked for."""
    return frozenset(uuid for change in asked for uuid in (change.origin.first, change.origin.last) if uuid)


def with_asked(changes: tuple[Change, ...], asked: tuple[Change, ...]) -> tuple[Change, ...]:
    """A model's changes, and what was asked for and none of them says.

    A model's word that something is known already counts for nothing here: the flow finds out by itself.
    """
    said = [gist(f"{one.description}\n{one.body}") for one in changes if one.op in ("add", "update")]
    missed = []
    for one in asked:
        if one.op == "delete":
            if not any(made.file == one.file and made.op in ("update", "delete") for made in changes):
                missed.append(replace(one, reason=f"{one.reason} (the model left it out)"))
            continue
        wanted = gist(one.body)
        needed = COVERED * len(wanted.words)
        if not any(
            len(wanted.words & known.words) >= needed and wanted.numbers <= known.numbers for known in said
        ):
            missed.append(replace(one, reason=f"{one.reason} (the model left it out)"))
    return (*changes, *missed)


def _as_extracted(given: NotesInput) -> ExtractInput:
    """Gives the session as an extraction of what is not noted yet is given it."""
    new = tuple(message for message in given.said[given.noted :] if message.source != "withheld")
    return ExtractInput(
        new,
        rules=given.rules,
        session=given.session,
        history=given.said,
        seen=given.noted,
        known_before=given.known_before,
        transcript=given.transcript,
        worktree=given.worktree,
        now=given.now,
    )


def refused_notes(wrong: tuple[str, ...]) -> EngineError:
    """Says that notes are not taken."""
    error = EngineError(
        f"The model's notes cannot be taken: {wrong[0]}",
        "The notes stay as they were; it is tried again later.",
    )
    error.of_input = True
    return error


def _refused_document(given: DocumentInput, wrong: tuple[str, ...]) -> EngineError:
    """Says that a document is not taken."""
    return EngineError(
        f"The model's change of {one_line(given.path, 200)} cannot be taken: {wrong[0]}",
        "The document stays as it is; see `git mem docs check` for what no longer holds in it.",
    )
