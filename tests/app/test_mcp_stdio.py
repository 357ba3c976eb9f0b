"""The server of the Model Context Protocol as a client starts it: a process, its pipes and its end."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import psutil
import pytest
from cli_ground import Ground, memory

from gitmem.flows.place import default_argv

PATIENCE = 60
"""Seconds after which a server counts as stuck."""


@pytest.fixture
def filled(ground: Ground) -> Ground:
    ground.learn({"reviewer/ports.md": memory("ports", "Port 8080 is taken by the proxy.")})
    return ground


def start(ground: Ground, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*default_argv(), "-C", str(ground.repo), "mcp", *words],
        cwd=ground.repo.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )


def say(server: subprocess.Popen[str], method: str, number: int | None = None, **params: Any) -> Any:
    """Sends one message and reads the answer to it; every line on stdout is one of the protocol."""
    assert server.stdin is not None and server.stdout is not None
    ask = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})
    server.stdin.write(json.dumps(ask) + "\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline()) if number else None
    assert answer is None or (answer["jsonrpc"], answer["id"]) == ("2.0", number)
    return answer


def greet(server: subprocess.Popen[str]) -> Any:
    who = {"name": "probe", "version": "1"}
    version = "2025-06-18"
    greeting = say(server, "initialize", 1, protocolVersion=version, capabilities={}, clientInfo=who)
    say(server, "notifications/initialized")
    return greeting["result"]


def end(server: subprocess.Popen[str]) -> None:
    server.kill()
    with server:
        pass


@pytest.mark.long
def test_over_stdio_it_speaks_nothing_else_and_ends_with_its_client(filled: Ground) -> None:
    server = start(filled)
    try:
        assert greet(server)["serverInfo"]["name"] == "gitmem"
        got = say(server, "tools/call", 2, name="recall", arguments={"query": "which port is taken?"})
        assert "8080" in got["result"]["content"][0]["text"]
        assert server.stdin is not None and server.stdout is not None and server.stderr is not None
        server.stdin.write("this is no message: Port 8080\n")
        assert say(server, "ping", 3)["result"] == {}
        server.stdin.close()
        assert server.wait(PATIENCE) == 0
        assert server.stdout.read() == ""
        assert "8080" not in server.stderr.read()
    finally:
        end(server)


@pytest.mark.long
def test_a_thousand_calls_of_two_servers_beside_a_worker_leave_nothing_behind(filled: Ground) -> None:
    servers = [start(filled, "--write"), start(filled, "--write")]
    try:
        held = []
        for server in servers:
            greet(server)
        for number in range(2, 502):
            for at, server in enumerate(servers):
                given = {"text": f"Fact {number} of server {at} stands.", "name": f"fact-{at}-{number % 7}"}
                name = "remember" if number % 25 == 0 else "recall"
                arguments = given if name == "remember" else {"query": f"fact {number}"}
                got = say(server, "tools/call", number, name=name, arguments=arguments)
                assert not got["result"].get("isError"), got
            if number % 50 == 0:
                filled.run("jobs")
                subprocess.run(
                    [*default_argv(), "worker", "--git-dir", str(filled.repo / ".git")],
                    check=True,
                    timeout=PATIENCE,
                )
            if number in (60, 501):
                seen = [psutil.Process(server.pid) for server in servers]
                held.append([(one.num_fds(), len(one.children())) for one in seen])
        assert held[1] <= held[0]
        kept = [body for path, body in filled.tree("local").items() if path.startswith("main/fact-")]
        assert sum(body.count(" stands.") for body in kept) >= 2 * 20
        for server in servers:
            server.terminate()
        assert [server.wait(PATIENCE) for server in servers] == [-15, -15]
    finally:
        for server in servers:
            end(server)
