"""A look at some documents: held against the code, and an engine asked for those that are not true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gitmem.core.errors import EngineError
from gitmem.docs.check import Checked, check
from gitmem.docs.document import Doc
from gitmem.engines.engine import Engine
from gitmem.flows.context import Edges, allowed_fingerprints
from gitmem.flows.documents.asking import Answer, ask
from gitmem.flows.documents.branch import Change, is_file
from gitmem.flows.documents.code_branch import Place
from gitmem.flows.documents.planned import Request, Told
from gitmem.flows.documents.state import key_of, read_kept
from gitmem.ledger.layout import blob_name
from gitmem.ledger.workspace import Workspace

Answers = dict[tuple[str, str, str], Answer | EngineError]
"""Path, blob and what does not hold, to what an engine made of it."""


class Look:
    """One look at some documents."""

    def __init__(
        self,
        workspace: Workspace,
        edges: Edges,
        engine: Callable[[], Engine],
        place: Place,
        request: Request,
        answers: Answers,
    ) -> None:
        self.workspace, self.edges, self.place, self.request = workspace, edges, place, request
        self.kept = read_kept(workspace.state)
        self.name = ""
        self.changes: list[Change] = []
        self.failed: tuple[str, ...] = ()
        self._make, self._answers = engine, answers
        self._allow = allowed_fingerprints(workspace)

    def at(self, docs: Sequence[Doc], had: Mapping[str, Change]) -> tuple[Told, ...]:
        """Looks at them.

        Args:
            had: path to what is proposed already.
        """
        if not docs:
            return ()
        tree = self.workspace.code.commit(self.place.head).tree
        engine = self._make()
        self.name = engine.name
        checked = check(self.workspace.git, self.place.top, self.place.head, docs)
        return tuple(self._one(engine, tree, one, had.get(one.doc.path)) for one in checked)

    def _one(self, engine: Engine, tree: str, checked: Checked, had: Change | None) -> Told:
        doc, stale = checked.doc, checked.stale
        entry = self.workspace.code.entry(tree, doc.path)
        notes = (checked.note,) if checked.note else ()
        told = Told(doc.path, "open" if stale else "true", "", "", stale, notes, doc.text, doc.text)
        if entry is None or not is_file(entry):
            return replace(told, result="refused", why="it is no regular file")
        if not self.request.asked and self.kept.settled(doc.path, entry.oid, stale):
            return replace(told, result="rejected")
        answer = self._answer(engine, checked, entry.oid)
        if isinstance(answer, EngineError):
            self.failed = (*self.failed, doc.path)
            return replace(told, result="failed", why=answer.message)
        told = replace(told, notes=(*notes, *answer.notes))
        if answer.text == doc.text:
            return told
        if answer.refused:
            return replace(told, result="refused", why=answer.refused)
        data = answer.text.encode("utf-8")
        after = blob_name(data, self.workspace.code.hex_length)
        if self.request.paths is None and self.kept.turned_down(doc.path, after):
            return replace(told, result="rejected")
        made = Change(doc.path, entry.oid, after, entry.mode, engine.name, answer.body, data, answer.usage)
        self.changes.append(made)
        stands = had is not None and had.after == after
        return replace(told, result="kept" if stands else "proposed", id=made.id, after=answer.text)

    def _answer(self, engine: Engine, checked: Checked, blob: str) -> Answer | EngineError:
        # After a lost race nobody is asked the same again.
        key = (checked.doc.path, blob, key_of(checked.stale))
        if key not in self._answers:
            try:
                made = ask(self.workspace.git, self.edges, engine, self.place, checked, self._allow)
                self._answers[key] = made
            except EngineError as error:
                self._answers[key] = error
        return self._answers[key]
