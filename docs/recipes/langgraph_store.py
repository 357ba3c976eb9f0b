"""LangGraph's long-term store over gitmem: `builder.compile(store=GitStore("."))`.

A namespace (lower case) is an agent's folder, a key the name of a memory, a value `{"text": …}`. Each put
is a commit, which `git mem undo` takes back; a search with a query is `git mem recall`.
"""

import asyncio
from datetime import UTC, datetime

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, PutOp, SearchItem, SearchOp

import gitmem


class GitStore(BaseStore):
    def __init__(self, path=".", scope="local"):
        self.path, self.scope = path, scope

    async def abatch(self, ops):
        return await asyncio.to_thread(self.batch, list(ops))

    def batch(self, ops):
        with gitmem.open(self.path) as memories:
            return [self.run(memories, op) for op in ops]

    def run(self, memories, op):
        if isinstance(op, ListNamespacesOp):
            every = {tuple(one.agent.split(".")) for one in memories.list(scope=self.scope)}
            kept = [each for each in every if all(fits(each, one) for one in op.match_conditions or ())]
            return sorted({each[: op.max_depth] for each in kept})[op.offset : op.offset + op.limit]
        if isinstance(op, SearchOp):
            if op.query:
                found = memories.recall(op.query, limit=50, scope=self.scope).items
            else:
                kept = memories.list(scope=self.scope)
                found = [memories.show(one.file, scope=one.scope, agent=one.agent) for one in kept]
            space, wanted = op.namespace_prefix, (op.filter or {}).items()
            items = [item(one, SearchItem) for one in found]
            items = [one for one in items if one.namespace[: len(space)] == space]
            return [one for one in items if wanted <= one.value.items()][op.offset : op.offset + op.limit]
        where = {"scope": self.scope, "agent": ".".join(op.namespace)}
        if isinstance(op, PutOp) and op.value is not None:
            memories.remember(op.value["text"], name=op.key, **where)
        elif any(one.name == op.key for one in memories.list(**where)):
            if isinstance(op, GetOp):
                return item(memories.show(op.key, **where), Item)
            memories.forget(op.key, **where)
        return None


def item(one, kind):
    when = getattr(one, "taught", None) or datetime.now(UTC)
    space = tuple(one.agent.split("."))
    return kind(namespace=space, key=one.name, value={"text": one.text}, created_at=when, updated_at=when)


def fits(space, rule):
    part = space[: len(rule.path)] if rule.match_type == "prefix" else space[-len(rule.path) :]
    return len(part) == len(rule.path) and all(b in ("*", a) for a, b in zip(part, rule.path, strict=True))
