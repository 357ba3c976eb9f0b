"""Files of sound memories, as a request brings them."""

from __future__ import annotations

from gitmem.core.index import entry


def memory(
    body: str = "Deploys go out on Tuesdays.",
    name: str = "deploy-day",
    description: str = "When deploys go out",
    type: str = "project",
) -> str:
    return f"---\nname: {name}\ndescription: {description}\nmetadata:\n  type: {type}\n---\n\n{body}\n"


def folder(agent: str = "main", **bodies: str) -> dict[str, str]:
    """An agent's folder of memories with these bodies, and the index that names them."""
    files = {f"{agent}/{name}.md": memory(body, name, f"About {name}") for name, body in bodies.items()}
    lines = [entry(name, f"{name}.md", f"About {name}") for name in bodies]
    return {**files, f"{agent}/MEMORY.md": "".join(lines)}
