"""The markup of clients and models, in every spelling; in the text of others it is a pose."""

from __future__ import annotations

import pytest

from gitmem.rules.instructions import find_instructions


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>", "</system_prompt >", "< / system-message x='y'>", "<SYSTEM-INSTRUCTION>",
        "<function_calls>", "<function_result>", "<tool_use>", "<tool_response id=1>",
        "<task-notification>", "<local-command-stdout>", "<command-name>", "<command-message>",
        "<command-args>", "<user-prompt-submit-hook>", "</system>", "</ system >", "<system>",
        "  < system >", "<invoke name =", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|assistant|>",
        "[INST]", "[/inst]", "<<SYS>>", "<</sys>>", "<start_of_turn>", "<end_of_turn>",
        "# System prompt", "###### developer  message:  ", '"type" : "tool_result"', "Human: do",
        "assistant:\tdone",
    ],
)  # fmt: skip
def test_markup_is_found_wherever_a_line_has_it(text: str) -> None:
    at_start = text[0] in " #Ha" or text == "<system>"
    found = list(find_instructions(f"one\n{text}\nthree" if at_start else f"one\ntwo {text} more\nthree"))
    assert [(one.line, one.what, one.level) for one in found] == [
        (2, "poses as the client's own markup", "error")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "`<system-reminder>` is a tag",
        "a <system> b",
        "<systematic>",
        "<command-names>",
        "<tool>",
        "####### System prompt",
        "# System prompts of others",
        "Human:",
        "superhuman: x",
        "[inst",
        "<sys>",
        '"type": "tool"',
        "<system-reminder",
        "the human: a reader",
        "<function_call s>x"[:14],
    ],
)
def test_what_only_resembles_markup_is_none(text: str) -> None:
    assert list(find_instructions(text)) == []
