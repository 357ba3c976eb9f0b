"""The `agent` engine: the model that already sits in the session decides, and no request is made.

What a person plainly asked to remember is found by rules and stored, as the offline engine does it. Of the
rest that they said, what may last is handed back as `Extraction.tell`: the flow tells it to the agent of
the session in which it was said, with the next prompt, and the agent writes memory or leaves it. Everything
else that an engine does (recall, dreams, notes, documents) stays with the offline rules.
"""

from __future__ import annotations

from dataclasses import replace

from gitmem.core.change import Change, ChangeOrigin
from gitmem.core.text import one_line
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.engines.offline import OfflineEngine

LONGEST = 240
"""Characters of a sentence that is told; the agent has the whole of it in its conversation."""


class AgentEngine(OfflineEngine):
    """The offline rules, and beside what they find a wide list for the agent to decide on.

    Its name is theirs: what it stores, the rules found.
    """

    def extract(self, given: ExtractInput) -> Extraction:
        """Proposes what the offline engine does; `tell` holds every sentence that may last, best first."""
        from gitmem.engines.offline.extract import SaidCandidate, candidates

        times = {message.uuid: message.time for message in given.messages}

        def stated(one: SaidCandidate) -> Change:
            text = one_line(one.text, LONGEST)
            return Change(
                op="add",
                name="said-in-passing",
                description=text,
                type="feedback",
                body=text,
                reason="it may last",
                confidence=one.score,
                asked=False,
                origin=ChangeOrigin(given.session, one.message, one.message, times.get(one.message)),
                agent=given.agent,
            )

        # What was asked for is stored by the rules, and what gives up a memory is proposed to the person.
        told = tuple(
            stated(one)
            for one in candidates(given)
            if not one.asked and not one.change.gives_up and one.text.strip()
        )
        return replace(super().extract(given), tell=told)
