"""Servers on loopback for tests: smart HTTP by `git http-backend`, and sshd as the current user."""

from __future__ import annotations

import base64
import getpass
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


class HttpServer:
    """Serves the bare repositories of a folder.

    Attributes:
        url: address of the folder.
        requests: (method, path) of each request.
        refused: requests that came without the right user and password.
    """

    def __init__(self, root: Path, login: tuple[str, str] | None = None) -> None:
        self.root = root
        self.login = login
        self.requests: list[tuple[str, str]] = []
        self.refused = 0
        self._server = _Server(("127.0.0.1", 0), self)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Many clones connect at once; the default is 5.
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], owner: HttpServer) -> None:
        self.owner = owner
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    """Runs `git http-backend` as a CGI program for each request."""

    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def _serve(self) -> None:
        owner = self.server.owner
        path, _, query = self.path.partition("?")
        owner.requests.append((self.command, path))
        user = ""
        if owner.login is not None:
            sent = self.headers.get("Authorization", "")
            wanted = base64.b64encode(":".join(owner.login).encode()).decode()
            if sent != f"Basic {wanted}":
                owner.refused += 1
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="memory"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            user = owner.login[0]
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(owner.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.receivepack",
            "GIT_CONFIG_VALUE_0": "true",
            "GIT_PROJECT_ROOT": str(owner.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "REMOTE_USER": user,
            "REMOTE_ADDR": "127.0.0.1",
        }
        for header, name in (
            ("Content-Encoding", "HTTP_CONTENT_ENCODING"),
            ("Git-Protocol", "HTTP_GIT_PROTOCOL"),
        ):
            if value := self.headers.get(header):
                environ[name] = value
        body = self._body()
        backend = subprocess.run(
            ["git", "http-backend"], input=body, env=environ, capture_output=True, check=False
        )
        head, _, rest = backend.stdout.partition(b"\r\n\r\n")
        status, fields = 200, []
        for line in head.decode("latin-1").split("\r\n"):
            name, _, value = line.partition(": ")
            if name == "Status":
                status = int(value.split()[0])
            elif name:
                fields.append((name, value))
        self.send_response(status if head else 500)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = bytearray()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(found)


@contextmanager
def http_server(root: Path, login: tuple[str, str] | None = None) -> Iterator[HttpServer]:
    """Serves the bare repositories below a folder over smart HTTP; skips the test where git cannot.

    Args:
        login: user and password that every request must bring; None lets everyone in.
    """
    backend = subprocess.run(
        ["git", "--exec-path"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(backend, "git-http-backend").exists() or not Path(backend, "git-remote-http").exists():
        pytest.skip("this git has no http-backend or no HTTP transport")
    server = HttpServer(root, login)
    try:
        yield server
    finally:
        server.close()


class SshServer:
    """A running sshd.

    Attributes:
        base: address of the file system's root there.
        command: the client with its key and known hosts, for `core.sshCommand`.
        known_hosts: file with the host's key.
        key: the person's private key.
    """

    def __init__(self, port: int, folder: Path) -> None:
        self.folder = folder
        self.base = f"ssh://{getpass.getuser()}@127.0.0.1:{port}"
        self.port = port
        self.known_hosts, self.key = folder / "known_hosts", folder / "person"

    @property
    def command(self) -> str:
        return self.ssh(self.key, self.known_hosts)

    def ssh(self, key: Path, known_hosts: Path) -> str:
        """The client with another key or other known hosts."""
        options = (
            f"-i {key}", f"-o UserKnownHostsFile={known_hosts}", "-o GlobalKnownHostsFile=/dev/null",
            "-o StrictHostKeyChecking=yes", "-o IdentitiesOnly=yes", "-o BatchMode=yes",
            "-o LogLevel=ERROR",
        )  # fmt: skip
        return " ".join(("ssh", "-F /dev/null", *options))


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    """Runs sshd as the current user on a free port; skips the test where that cannot be done.

    Args:
        folder: an empty folder for keys and settings; nobody else may write there.
    """
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if program is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("no sshd, ssh or ssh-keygen here")
    folder.chmod(0o700)
    for name in ("host", "person"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(make, check=True)
    (folder / "authorized").write_text((folder / "person.pub").read_text())
    port = _free_port()
    # sshd starts the login shell with an environment of its own, so git is told where its settings are.
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "PidFile": folder / "pid",
        "AuthorizedKeysFile": folder / "authorized",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "PermitRootLogin": "prohibit-password",
        "SetEnv": f'"GIT_CONFIG_GLOBAL={folder / "gitconfig"}"',
    }
    (folder / "gitconfig").write_text("[safe]\n\tdirectory = *\n")
    (folder / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [program, "-D", "-e", "-f", str(folder / "sshd_config")], stdout=log, stderr=log
        )
        try:
            if not _listens(port, server):
                pytest.skip(f"sshd does not start here: {(folder / 'log').read_text()[-300:]}")
            host = (folder / "host.pub").read_text().split()
            (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host[0]} {host[1]}\n")
            yield SshServer(port, folder)
        finally:
            server.terminate()
            server.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _listens(port: int, server: subprocess.Popen[bytes]) -> bool:
    """Waits until something answers at a port; False where the server ended or never answers."""
    for _ in range(200):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as line:
                return line.recv(3) == b"SSH"
        except OSError:
            try:
                # A server that ended says so at once; one that starts is given a moment.
                server.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
            return False
    return False
