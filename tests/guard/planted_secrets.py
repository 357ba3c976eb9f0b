"""Credentials and what looks like them, made at run time: the repository holds none."""

from __future__ import annotations

import base64
import random
import string

_RANDOM = random.Random(20261120)
_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"
_URL = _ALNUM + "-_"


def _some(length: int, alphabet: str = _ALNUM) -> str:
    return "".join(_RANDOM.choice(alphabet) for _ in range(length))


def _segment(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _pem(kind: str, lines: int) -> str:
    body = "\n".join(_some(64, _ALNUM + "+/") for _ in range(lines))
    label = f"{kind} PRIVATE" + " KEY"
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


GITHUB = "gh" + "p_" + _some(36)

# Kind of credential to the text that holds it: (text, the credential itself).
PLANTED: dict[str, str] = {
    "github": GITHUB,
    "github fine-grained": "github" + "_pat_" + _some(22) + "_" + _some(59),
    "github app": "gh" + "s_" + _some(36),
    "gitlab": "gl" + "pat-" + _some(20, _URL),
    "aws pair": "aws_access_key_id = AK"
    + "IA"
    + _some(16, _BASE32)
    + "\naws_secret_access_key = "
    + _some(40),
    "aws secret": "aws_secret_access_key = " + _some(40),
    "slack": "xo" + "xb-" + _some(12, string.digits) + "-" + _some(13, string.digits) + "-" + _some(24),
    "stripe": "sk" + "_live_" + _some(24),
    "rsa key": _pem("RSA", 12),
    "ssh key": _pem("OPENSSH", 6),
    "jwt": ".".join((_segment('{"alg":"HS256","typ":"JWT"}'), _segment('{"sub":"1234"}'), _some(43, _URL))),
    "npm": "np" + "m_" + _some(36),
    "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + _some(150, _URL),
    "google": "AI" + "za" + _some(35, _URL),
    "anthropic": "sk-" + "ant-api03-" + _some(93, _URL) + "AA",
    "openai": "sk-" + _some(20) + "T3Blb" + "kFJ" + _some(20),
    "openai project": "sk-" + "proj-" + _some(74, _URL) + "T3Blb" + "kFJ" + _some(74, _URL),
    "hugging face": "h" + "f_" + _some(34, string.ascii_letters),
    "sendgrid": "S" + "G." + _some(22, _URL) + "." + _some(43, _URL),
    "digitalocean": "do" + "p_v1_" + _some(64, _HEX),
    "assigned key": 'api_key = "' + _some(32) + '"',
    "assigned password": "DB_PASSWORD=" + _some(18) + "7a",
}

# What the detector's rules miss without more context; kept here so that the figures stay honest.
MISSED: dict[str, str] = {
    "aws id alone": "the id is AK" + "IA" + _some(16, _BASE32),
    "bearer": "Authorization: Bearer " + _some(40),
    "telegram": _some(10, string.digits) + ":AA" + _some(33, _URL),
}

LOOK_ALIKES: dict[str, str] = {
    "git commit": "fixed in commit " + _some(40, _HEX),
    "bare hash": _some(40, _HEX),
    "short hash": "see " + _some(12, _HEX),
    "uuid": "session 258c7280-0000-4798-800f-63464d01a85d",
    "documented aws": "AK" + "IAIOSFODNN7EXAMPLE",
    "documented aws pair": "AWS_ACCESS_KEY_ID=AK" + "IAIOSFODNN7EXAMPLE\n"
    "AWS_SECRET_ACCESS" + "_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "npm lock": '"integrity": "sha512-' + base64.b64encode(_RANDOM.randbytes(64)).decode() + '"',
    "pip hash": "--hash=sha256:" + _some(64, _HEX),
    "go sum": "example.org/x v1.2.3 h1:" + base64.b64encode(_RANDOM.randbytes(32)).decode(),
    "image digest": "postgres@sha256:" + _some(64, _HEX),
    "placeholder": "export API_KEY=your-api-key-here",
    "angle placeholder": 'token = "<YOUR_TOKEN>"',
    "crossed out": "gh" + "p_" + "x" * 36,
    "from environment": 'password = os.environ["DB_PASSWORD"]',
    "from vault": "the database password is stored in the vault",
    "required": "The password is required and must be hashed",
    "public key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + _some(43) + " ann@example.com",
    "code name": "AuthTokenService.refreshAccessToken validates the secretKey field",
}

UUID_TOKEN = "token: " + "-".join(_some(length, _HEX) for length in (8, 4, 4, 4, 12))
