"""The lists of words, against counting them one after another."""

from __future__ import annotations

import hashlib
import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from gitmem.search import database, postings
from gitmem.search.text import passages, read_memory
from gitmem.search.words import (
    ASKS,
    FIELD,
    HEADED,
    KIND_BITS,
    LABEL,
    PASSAGE,
    STRONG,
    WEAK,
    Stems,
    char,
    unpack,
    words,
)

HEAD = "---\nname: {}\ndescription: {}\n---\n"
PIECES = [
    "the proxy takes port 8080", "Ann: which port does `getUserName` take?",
    "**Why:** HTTPServer went away", "The: of the", "Note: ports", "café 東京は ガ",
    "a\x01b\x02c\x03d\x04e?", "proxy proxy proxy fooBar fooBar", "", "- an item\n- another of them",
]  # fmt: skip
FILES = st.tuples(
    st.sampled_from(["ports", "The", "fooBar of x"]),
    st.sampled_from(["", "Which port", "the proxy's port?"]),
    st.lists(st.sampled_from(PIECES), max_size=6),
)


class Held:
    """Contents by name."""

    def __init__(self, contents: Sequence[bytes]) -> None:
        self.contents = {hashlib.sha1(data).hexdigest(): data for data in contents}

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        return ((oid, self.contents[oid]) for oid in oids)


def content(file: tuple[str, str, list[str]]) -> bytes:
    name, description, pieces = file
    return (HEAD.format(name, description) + "\n\n".join([*pieces, "more words " * 40])).encode()


def indexed(*parts: Sequence[bytes]) -> sqlite3.Connection:
    connection = database.in_memory()
    for contents in parts:
        held = Held(contents)
        wanted = {f"main/{oid}.md": oid for oid in held.contents}
        postings.index_texts(connection, held, wanted, read_memory)
    return connection


def kept(
    connection: sqlite3.Connection,
) -> tuple[Mapping[str, object], Mapping[str, str], Mapping[str, int]]:
    """Lists and texts with words for their characters, and what is counted of all."""
    stems = {char(number): stem for stem, number in connection.execute("SELECT * FROM word")}
    oids = dict(connection.execute("SELECT id, hex(oid) FROM blob"))
    lists = {
        stems[char(word)]: (
            passages,
            labels,
            sorted((oids[entry >> KIND_BITS], entry & (1 << KIND_BITS) - 1) for entry in unpack(ids)),
        )
        for word, passages, labels, ids in connection.execute("SELECT * FROM posting")
    }
    texts = {
        oid: " ".join(stems.get(char, char) for char in text)
        for oid, text in connection.execute("SELECT hex(oid), words FROM blob")
    }
    facts = dict(connection.execute("SELECT name, value FROM fact WHERE name <> 'words'"))
    return lists, texts, facts


def counted(contents: Sequence[bytes]) -> tuple[Mapping[str, object], Mapping[str, str], Mapping[str, int]]:
    """The same, one word after another."""
    vocabulary = Stems(database.in_memory())

    def stems(text: str) -> list[str]:
        vocabulary.learn(words(text))
        return vocabulary.stems(words(text))

    found: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    in_passages: Counter[str] = Counter()
    in_labels: Counter[str] = Counter()
    facts: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for oid, data in Held(contents).contents.items():
        fields = read_memory(f"main/{oid}.md", data)
        name, description = stems(fields.name), stems(fields.description)
        body: list[str] = []
        written: list[str] = []
        for label, text, asks in passages(fields.body):
            labelled, said = stems(label), stems(text)
            in_passages.update(set(said))
            in_labels.update(set(labelled))
            body += labelled + said
            written += [PASSAGE] * bool(written) + labelled + [LABEL] * bool(labelled) + said
            written += [ASKS] * asks + [""]
        texts[oid.upper()] = " ".join(filter(None, [*name, FIELD, *description, FIELD, *written]))
        least = postings._STRONG_ONCE + postings._STRONG_PER_WORD * len(body)
        counts = Counter(body)
        for word in {*name, *description, *body}:
            kind = HEADED if word in {*name, *description} else (STRONG if counts[word] >= least else WEAK)
            found[word].append((oid.upper(), kind))
        facts.update(
            {
                "texts": 1,
                "name": len(name),
                "description": len(description),
                "body": len(body),
                "passages": len(passages(fields.body)),
            }
        )
    lists = {word: (in_passages[word], in_labels[word], sorted(some)) for word, some in found.items()}
    return lists, texts, dict(facts)


@given(st.lists(FILES, min_size=1, max_size=4))
def test_lists_say_what_counting_word_after_word_says(files: list[tuple[str, str, list[str]]]) -> None:
    """All of a batch is counted at once, by its different words."""
    contents = [content(file) for file in files]
    assert kept(indexed(contents)) == counted(contents)


@given(st.lists(FILES, min_size=2, max_size=4))
def test_texts_may_come_at_once_or_one_by_one(files: list[tuple[str, str, list[str]]]) -> None:
    contents = [content(file) for file in files]
    assert kept(indexed(contents)) == kept(indexed(*([one] for one in contents)))


def test_frequent_words_have_the_low_numbers() -> None:
    """They take a byte or two in each text."""
    contents = [content((f"n{number}", "", ["proxy takes it"])) for number in range(50)]
    connection = indexed(contents)
    numbers = dict(connection.execute("SELECT text, number FROM word"))
    assert max(numbers["proxi"], numbers["take"]) < min(numbers[f"n{number}"] for number in range(50))


def test_a_list_gives_up_the_texts_that_it_has() -> None:
    ids = [number << postings.KIND_BITS for number in (2, 5, 9)]
    packed = postings._packed(array("I", ids))
    for gone, left in (((1, 4, 99), ids), ((2, 9, 10), ids[1:2]), ((2, 5, 9), [])):
        assert list(postings.unpack(postings._without(packed, gone))) == left
