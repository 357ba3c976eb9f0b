"""Frontmatter as found in the wild: both layouts, order and bytes kept where nothing was changed.

About one real file in twenty is not valid YAML (an unquoted `: ` in a description), so a block is cut into
fields line by line, and YAML is only asked about values that a plain reading could get wrong.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property

from gitmem.values import dataclass

Value = str | tuple[str, ...]

MAX_LINES = 200
"""A block is looked for in this many lines; clients read 30."""

MAX_YAML = 16_384
"""Characters that YAML is asked about at once: its parser takes a second for ten times that."""

MAX_BRACKETS = 100
"""Opening brackets in what YAML is asked about."""

NESTED = "metadata"

_KEY = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?")
_PLAIN = re.compile(r"^[^\s\-?:,\[\]{}#&*!|>'\"%@`](?:[^:#\n]|:(?=\S)|(?<=\S)#)*$")
_QUOTED = re.compile(r"\"[A-Za-z0-9](?:[ -!#-\[\]-~]*[!#-\[\]-~])?\"|'[A-Za-z0-9](?:[ -&(-~]*[!-&(-~])?'")
"""What stands for itself between quotes: nothing that YAML would read as anything else."""

_WORDS = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n"])


@dataclass(frozen=True)
class Field:
    """One key with the lines that belong to it.

    Attributes:
        key: the key without the `metadata.` in front; empty for comments, blank lines and the
            `metadata:` line itself.
        nested: whether it stands under `metadata:`.
        raw: its lines, exactly, with line ends.
    """

    key: str
    nested: bool
    raw: str

    @cached_property
    def value(self) -> Value:
        """A string, or a tuple of strings for a list; nested structures as their raw text."""
        return _value(self.raw)


@dataclass(frozen=True)
class Frontmatter:
    """A block between two `---` lines; `opening + raws + closing` gives it back."""

    opening: str
    fields: tuple[Field, ...]
    closing: str

    def render(self) -> str:
        """The block, byte for byte where nothing was changed."""
        return self.opening + "".join(f.raw for f in self.fields) + self.closing

    def field(self, key: str) -> Field | None:
        """The field of a key: the top-level one where a key stands in both places and has a value."""
        found = [f for f in self.fields if f.key == key]
        if len(found) > 1:
            found.sort(key=lambda f: (not f.value, f.nested))
        return found[0] if found else None

    def text(self, key: str) -> str:
        """The value of a key as one string; empty where it is absent."""
        found = self.field(key)
        if found is None:
            return ""
        value = found.value
        return value if isinstance(value, str) else ", ".join(value)

    def keys(self) -> tuple[str, ...]:
        """Keys in order, each once."""
        return tuple(dict.fromkeys(f.key for f in self.fields if f.key))

    def with_value(self, key: str, value: Value) -> Frontmatter:
        """Sets a key where it stands, else at the end of its part; other bytes stay."""
        old = self.field(key)
        if old is not None and old.value == value:
            return self
        nested = old.nested if old else False
        return self.with_field(Field(key, nested, render_field(key, value, nested)))

    def with_field(self, field: Field) -> Frontmatter:
        """Puts a field where its key stands, in that one's nesting, else at the end."""
        old = self.field(field.key)
        if old is not None:
            # A key that stands less deep than those below it would take them for its value.
            field = _nest(field, old.nested, old.raw[: _depth(old.raw)])
            return replace(self, fields=tuple(field if f is old else f for f in self.fields))
        return replace(self, fields=(*self.fields, _nest(field, False, "")))

    def without(self, key: str) -> Frontmatter:
        """Takes a key out."""
        return replace(self, fields=tuple(f for f in self.fields if f.key != key))

    def layout(self) -> tuple[tuple[str, bool], ...]:
        """Order and nesting of the keys."""
        return tuple((f.key, f.nested) for f in self.fields)


def split(text: str) -> tuple[Frontmatter | None, str]:
    """Cuts a file into its frontmatter and body.

    Args:
        text: the whole file; a byte order mark in front is kept.

    Returns:
        The block, or None where the file does not begin with one that is closed; and the body.
    """
    lines = text.split("\n", MAX_LINES + 1)
    if lines[0].lstrip("\ufeff").rstrip() != "---":
        return None, text
    for number in range(1, min(len(lines), MAX_LINES + 1)):
        if lines[number].rstrip() in ("---", "..."):
            break
    else:
        return None, text
    inner = [line + "\n" for line in lines[1:number]]
    if not _looks_like_fields(inner):
        return None, text
    opening = lines[0] + "\n"
    end = sum(len(line) + 1 for line in lines[: number + 1])
    closing = text[len(opening) + sum(map(len, inner)) : end]
    return Frontmatter(opening, _fields(inner), closing), text[end:]


def new(name: str, description: str, type: str) -> Frontmatter:
    """The block of a memory that gitmem writes itself, in the layout of current clients."""
    fields = (
        Field("name", False, render_field("name", name, False)),
        Field("description", False, render_field("description", description, False)),
        Field("", False, f"{NESTED}:\n"),
        Field("type", True, render_field("type", type, True)),
    )
    return Frontmatter("---\n", fields, "---\n")


def render_field(key: str, value: Value, nested: bool) -> str:
    """One field as a line of YAML, quoted where a plain scalar would be read otherwise."""
    indent = "  " if nested else ""
    shown = _scalar(value) if isinstance(value, str) else "[" + ", ".join(map(_item, value)) + "]"
    return f"{indent}{key}: {shown}".rstrip() + "\n"


def yaml_problem(block: Frontmatter) -> str:
    """Why the block is not plain YAML: a syntax error, an anchor, an alias or a tag; empty if it is."""
    text = "".join(f.raw for f in block.fields)
    if _too_much(text):
        return "too long or too deeply nested to be read as YAML"
    import yaml

    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                return "anchors and aliases are not read"
            if getattr(event, "tag", None):
                return "tags are not read"
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark is not None else ""
        return f"not valid YAML{where}: {getattr(error, 'problem', None) or 'unreadable'}"
    return ""


def _looks_like_fields(lines: list[str]) -> bool:
    first = next((line for line in lines if line.strip() and not line.startswith("#")), None)
    return first is None or _cut(first) is not None


def _fields(lines: list[str]) -> tuple[Field, ...]:
    fields: list[Field] = []
    nested = False
    for line in lines:
        top = _cut(line)
        child = _cut(line.lstrip(" \t")) if nested and not top else None
        if top:
            nested = top == (NESTED, "")
            fields.append(Field("" if nested else top[0], False, line))
        elif child and _depth(line) <= _section_depth(fields, line):
            fields.append(Field(child[0], True, line))
        elif fields and line.strip() and not (line.startswith("#")):
            last = fields[-1]
            fields[-1] = replace(last, raw=last.raw + line)
        else:
            fields.append(Field("", nested, line))
    return tuple(fields)


def _cut(line: str) -> tuple[str, str] | None:
    """Key and value of a line that begins with a key; the value without the spaces around it."""
    match = _KEY.fullmatch(line.rstrip(" \t\r\n"))
    return (match.group(1), match.group(2) or "") if match else None


def _section_depth(fields: list[Field], line: str) -> int:
    """Indentation of the keys under `metadata:`; deeper lines belong to the key above them."""
    for field in reversed(fields):
        if field.nested and field.key:
            return _depth(field.raw)
        if not field.nested:
            break
    return _depth(line)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _value(raw: str) -> Value:
    first, _, rest = raw.partition("\n")
    cut = _cut(first.lstrip(" \t"))
    plain = cut[1] if cut else first.strip()
    if not rest.strip() and (not plain or _PLAIN.match(plain)):
        return plain
    if not rest.strip() and _QUOTED.fullmatch(plain):
        return plain[1:-1]
    loaded = _load(raw)
    if loaded is not None:
        return loaded
    text = " ".join([plain, *rest.split()]).strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _too_much(raw: str) -> bool:
    """Whether reading this as YAML could take long: its parser is slow, and quadratic in open brackets."""
    return len(raw) > MAX_YAML or raw.count("[") + raw.count("{") > MAX_BRACKETS


def _load(raw: str) -> Value | None:
    """Reads one field with YAML, all scalars as strings; None where YAML refuses it."""
    import yaml

    if _too_much(raw):
        return None
    lines = raw.split("\n")
    depth = _depth(lines[0])
    dedented = "\n".join(line[min(depth, _depth(line)) :] for line in lines)
    try:
        for event in yaml.parse(dedented, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or any(
                getattr(event, k, None) for k in ("anchor", "tag")
            ):
                return None
        loaded = yaml.load(dedented, Loader=yaml.BaseLoader)  # noqa: S506 - strings, lists and dicts only
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    value = next(iter(loaded.values())) if isinstance(loaded, dict) and len(loaded) == 1 else None
    if isinstance(value, str):
        return _paired(value.strip())
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(map(_paired, value))
    return None


def _paired(value: str) -> str:
    """The text that JSON's two escapes for one character mean; YAML reads each as one of its own."""
    if not any("\ud800" <= char <= "\udbff" for char in value):
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _scalar(value: str) -> str:
    value = " ".join(value.split())
    return value if not value or _reads_as_itself(value) else _quoted(value)


def _item(value: str) -> str:
    value = " ".join(value.split())
    return value if _reads_as_itself(value) and not set(value) & set(",?[]{}") else _quoted(value)


def _reads_as_itself(value: str) -> bool:
    """Whether any YAML reader takes a plain scalar for this very text: no number, date, word or sign."""
    return (
        value[:1].isalpha()
        and value.lower() not in _WORDS
        and value.isprintable()
        and not value.endswith(":")
        and bool(_PLAIN.match(value))
    )


def _quoted(value: str) -> str:
    shown = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else _escaped(ord(c)) for c in shown) + '"'


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _nest(field: Field, nested: bool, indent: str) -> Field:
    depth = _depth(field.raw)
    if field.nested == nested and field.raw[:depth] == indent:
        return field
    lines = re.findall(r"[^\n]*\n|[^\n]+", field.raw)
    shifted = [indent + line[min(depth, _depth(line)) :] for line in lines]
    return Field(field.key, nested, "".join(shifted))
