"""What the demo shows, in order, as values; what each step claims is checked by `checks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from gitmem.app.demo import checks
from gitmem.app.demo.stage import Stage

Who = Literal["you", "mate"]
Check = Callable[[Stage, str], Mapping[str, str] | None]


def _nothing(stage: Stage) -> None:
    """No preparation."""


@dataclass(frozen=True)
class Step:
    """One command of the demo.

    Attributes:
        command: as a person would type it; `{name}` is a fact that an earlier step found out.
        check: raises where the step did not do what `title` claims; returns new facts.
        title: what is shown above; empty for a step that goes on with the one before.
        who: whose clone it runs in.
        before: what happens outside gitmem just before: an agent's or person's own doing.
    """

    command: str
    check: Check
    title: str = ""
    who: Who = "you"
    before: Callable[[Stage], None] = _nothing


DEPLOYS = '--name deploy-day --description "When deploys go out" --type project --scope project'


STEPS: tuple[Step, ...] = (
    Step(
        "git mem init -y",
        checks.initialised,
        "Start keeping memory in a repository. Nothing leaves the machine.",
    ),
    Step(
        'git commit -q -am "List the orders of a day"',
        checks.extracted,
        "A session with the agent was recorded; the next commit teaches what was said in it.",
        before=checks.record_session,
    ),
    Step("git mem log", checks.logged),
    Step("git mem recall staging data", checks.recalled, "A prompt, or a question, recalls it."),
    Step(
        "git mem review",
        checks.suggested,
        "What nobody plainly asked to be remembered waits for you.",
    ),
    Step("git mem review accept {suggestion}", checks.accepted),
    Step(
        f'git mem remember "Deploys go out on Tuesdays." {DEPLOYS}',
        checks.remembered,
        "Tell it something yourself, change your mind, take that back.",
    ),
    Step("git mem forget deploy-day", checks.forgotten),
    Step("git mem undo", checks.undone),
    Step(
        "git mem save",
        checks.saved,
        "The agent wrote the same thing down twice, and an index line that leads nowhere.",
        before=checks.plant_duplicates,
    ),
    Step("git mem dream --force", checks.dreamt, "A dream proposes; nothing changes before you accept."),
    Step("git mem review show {dream}", checks.dream_shown),
    Step("git mem review accept {dream}", checks.dream_accepted),
    Step(
        "git mem restore {twin} --at {before_dream}",
        checks.restored,
        "Any earlier state comes back as a new commit.",
    ),
    Step(
        "git mem promote {standing} -y",
        checks.promoted,
        "What has to hold always becomes a rule in the code, which you commit.",
    ),
    Step(f"git add {checks.RULE_FILE}", checks.worked),
    Step("git commit -q -F .git/gitmem/promotion.txt", checks.rule_committed),
    Step(
        'git commit -q -m "Name the module after what it holds"',
        checks.document_proposed,
        "A document of the code named a file that you renamed: it is put right on a branch.",
        before=checks.write_document,
    ),
    Step("git mem review", checks.document_waits),
    Step("git merge -q gitmem/docs", checks.document_taken),
    Step(
        "git mem snapshot create",
        checks.snapshot_made,
        "Project memory travels with the code as a snapshot; a teammate's clone starts from it.",
    ),
    Step("git add .claude/agent-memory-snapshots", checks.worked),
    Step('git commit -q -m "Add what the agent knows"', checks.worked),
    Step("git push -q origin main", checks.pushed),
    Step("git clone -q ../remote.git app", checks.worked, who="mate"),
    Step("git mem init -y", checks.taken_in, who="mate"),
    Step("git mem share --mode direct -y", checks.shared, "Or share it through a branch of the remote."),
    Step("git mem sync -y", checks.synced),
    Step("git mem share --mode direct -y", checks.shared, who="mate"),
    Step("git mem sync -y", checks.synced, who="mate"),
    Step(
        f'git mem remember "Deploys go out on Wednesdays." {DEPLOYS}',
        checks.worked,
        "Both change the same claim: neither is lost, and a person decides.",
    ),
    Step(
        f'git mem remember "Deploys go out on Thursdays." {DEPLOYS}',
        checks.worked,
        who="mate",
    ),
    Step("git mem sync -y", checks.synced),
    Step("git mem sync -y", checks.disputed, who="mate"),
    Step("git mem review show x-", checks.dispute_shown, who="mate"),
    Step("git mem review accept x- {theirs}", checks.settled, who="mate"),
    Step("git mem sync -y", checks.synced, who="mate"),
    Step("git mem sync -y", checks.agreed),
    Step("git mem status", checks.quiet, "Where it stands."),
)
