"""Credentials and what looks like them, made at run time: the repository holds none.

Formats are those that the vendors document, with their checksums where they have one, so that a detector
that checks them is not misled. Values are random, from a seed.
"""

from __future__ import annotations

import base64
import json
import random
import string
import zlib
from collections.abc import Callable
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
URL = ALNUM + "-_"
DIGITS = string.digits
LOWER = string.ascii_lowercase + DIGITS
SEED = 20261120


@dataclass(frozen=True)
class Sample:
    """A memory as an agent or a person writes it.

    Attributes:
        kind: of credential, or of what looks like one.
        place: how it stands in the text.
        text: the whole memory file.
        secret: the credential as it stands there; empty for a look-alike.
        soft: whether it is a credential in a URL or in prose, which warns.
    """

    kind: str
    place: str
    text: str
    secret: str = ""
    soft: bool = False


class Maker:
    """Random text by alphabet, from one seed."""

    def __init__(self, seed: int = SEED) -> None:
        self.random = random.Random(seed)

    def some(self, length: int, alphabet: str = ALNUM) -> str:
        return "".join(self.random.choice(alphabet) for _ in range(length))

    def b64(self, size: int) -> str:
        return base64.b64encode(self.random.randbytes(size)).decode()

    def uuid(self) -> str:
        return "-".join(self.some(length, HEX) for length in (8, 4, 4, 4, 12))

    def summed(self, prefix: str) -> str:
        """A token whose last six characters are the CRC-32 of the thirty before, in base 62."""
        body = self.some(30)
        number, digits = zlib.crc32(body.encode()), ""
        for _ in range(6):
            number, rest = divmod(number, 62)
            digits = (DIGITS + string.ascii_uppercase + string.ascii_lowercase)[rest] + digits
        return f"{prefix}_{body}{digits}"

    def pem(self, label: str, lines: int, *, tail: str = "") -> str:
        body = "\n".join(self.some(64, ALNUM + "+/") for _ in range(lines))
        head = f"{label}PRIVATE" + " KEY" + tail
        return f"-----BEGIN {head}-----\n{body}\n{self.some(40)}==\n-----END {head}-----"

    def jwt(self) -> str:
        claims = {
            "sub": self.some(10, DIGITS),
            "name": self.some(8, string.ascii_lowercase),
            "iat": 1763600000,
        }
        parts = (json.dumps({"alg": "HS256", "typ": "JWT"}), json.dumps(claims))
        encoded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
        return ".".join((*encoded, self.some(43, URL)))

    def password(self) -> str:
        return f"{self.some(9)}{self.random.choice('!@#%')}{self.some(6)}{self.some(2, DIGITS)}"


GITHUB = Maker(SEED - 1).summed("gh" + "p")
"""One credential that every detector knows."""

UUID_TOKEN = f"token: {Maker(SEED - 1).uuid()}"

# Kind to the name that a value goes by and the value: what one token looks like wherever it stands.
TOKENS: dict[str, tuple[str, Callable[[Maker], str]]] = {
    "github": ("GITHUB_TOKEN", lambda m: m.summed("gh" + "p")),
    "github app": ("GH_TOKEN", lambda m: m.summed("gh" + "s")),
    "github oauth": ("GITHUB_OAUTH", lambda m: m.summed("gh" + "o")),
    "github fine-grained": ("GITHUB_PAT", lambda m: "github" + f"_pat_{m.some(22)}_{m.some(59)}"),
    "gitlab": ("GITLAB_TOKEN", lambda m: "gl" + "pat-" + m.some(20, URL[:-2])),
    "aws id": ("AWS_ACCESS_KEY_ID", lambda m: "AK" + "IA" + m.some(16, BASE32)),
    "aws secret": ("AWS_SECRET_ACCESS_KEY", lambda m: m.some(40, ALNUM + "+/")),
    "slack": (
        "SLACK_BOT_TOKEN",
        lambda m: "xo" + f"xb-{m.some(12, DIGITS)}-{m.some(13, DIGITS)}-{m.some(24)}",
    ),
    "stripe": ("STRIPE_SECRET_KEY", lambda m: "sk" + "_live_" + m.some(24)),
    "stripe restricted": ("STRIPE_KEY", lambda m: "rk" + "_live_" + m.some(24)),
    "anthropic": ("ANTHROPIC_API_KEY", lambda m: "sk-" + f"ant-api03-{m.some(93, URL)}AA"),
    "openai project": (
        "OPENAI_API_KEY",
        lambda m: "sk-" + f"proj-{m.some(74, URL)}T3Blb" + f"kFJ{m.some(74, URL)}",
    ),
    "google": ("GOOGLE_API_KEY", lambda m: "AI" + "za" + "Sy" + m.some(33, URL[:-2])),
    "hugging face": ("HF_TOKEN", lambda m: "h" + "f_" + m.some(34, string.ascii_letters)),
    "npm": ("NPM_TOKEN", lambda m: m.summed("np" + "m")),
    "pypi": ("TWINE_PASSWORD", lambda m: "py" + "pi-AgEIcHlwaS5vcmc" + m.some(150, URL)),
    "rubygems": ("GEM_HOST_API_KEY", lambda m: "ruby" + "gems_" + m.some(48, HEX)),
    "digitalocean": ("DO_TOKEN", lambda m: "do" + "p_v1_" + m.some(64, HEX)),
    "sendgrid": ("SENDGRID_API_KEY", lambda m: "S" + f"G.{m.some(22, URL)}.{m.some(43, URL)}"),
    "mailgun": ("MAILGUN_API_KEY", lambda m: "key-" + m.some(32, HEX)),
    "twilio": ("TWILIO_AUTH_TOKEN", lambda m: m.some(32, HEX)),
    "telegram": ("TELEGRAM_BOT_TOKEN", lambda m: f"{m.some(10, DIGITS)}:AA" + m.some(33, URL)),
    "shopify": ("SHOPIFY_ACCESS_TOKEN", lambda m: "shp" + "at_" + m.some(32, HEX)),
    "doppler": ("DOPPLER_TOKEN", lambda m: "dp" + ".pt." + m.some(43)),
    "linear": ("LINEAR_API_KEY", lambda m: "lin" + "_api_" + m.some(40)),
    "notion": ("NOTION_TOKEN", lambda m: "nt" + "n_" + m.some(11, DIGITS) + m.some(35)),
    "vault": ("VAULT_TOKEN", lambda m: "hv" + "s." + m.some(92, URL)),
    "cloudflare": ("CLOUDFLARE_API_TOKEN", lambda m: m.some(40, URL)),
    "datadog": ("DD_API_KEY", lambda m: m.some(32, HEX)),
    "age": (
        "SOPS_AGE_KEY",
        lambda m: "AGE-SECRET" + "-KEY-1" + m.some(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    ),
    "postman": ("POSTMAN_API_KEY", lambda m: "PM" + f"AK-{m.some(24, HEX)}-{m.some(34, HEX)}"),
    "grafana": ("GRAFANA_TOKEN", lambda m: "gl" + f"sa_{m.some(32)}_{m.some(8, HEX)}"),
    "databricks": ("DATABRICKS_TOKEN", lambda m: "da" + "pi" + m.some(32, HEX)),
    "airtable": ("AIRTABLE_TOKEN", lambda m: f"pat{m.some(14)}.{m.some(64, HEX)}"),
    "docker hub": ("DOCKER_PAT", lambda m: "dckr" + "_pat_" + m.some(27, URL)),
    "terraform cloud": ("TFE_TOKEN", lambda m: f"{m.some(14)}.atlas" + f"v1.{m.some(67, URL)}"),
    "new relic": (
        "NEW_RELIC_USER_KEY",
        lambda m: "NR" + "AK-" + m.some(27, string.ascii_uppercase + DIGITS),
    ),
    "planetscale": ("PSCALE_TOKEN", lambda m: "pscale" + "_tkn_" + m.some(43, URL)),
    "jwt": ("ACCESS_TOKEN", lambda m: m.jwt()),
    "assigned key": ("PAYMENTS_API_KEY", lambda m: m.some(32)),
    "assigned secret": ("SESSION_SECRET", lambda m: m.b64(32)),
    "assigned password": ("DB_PASSWORD", lambda m: m.password()),
}

# Value stands for itself: these need no word beside them to be known.
_UNMARKED = {
    "aws secret", "twilio", "cloudflare", "datadog", "mailgun",
    "assigned key", "assigned secret", "assigned password",
}  # fmt: skip
MARKED = tuple(kind for kind in TOKENS if kind not in _UNMARKED)

_ANY: dict[str, Callable[[str, str], str]] = {
    "assignment": lambda name, value: f"For local runs put this into the shell:\n\n{name}={value}\n",
    "export in a fence": lambda name, value: (
        f"Set this up first:\n\n```bash\nexport {name}={value}\nmake serve\n```\n"
    ),
    "json in a fence": lambda name, value: (
        f'The settings file:\n\n```json\n{{\n  "{name.lower()}": "{value}",\n  "retries": 3\n}}\n```\n'
    ),
    "yaml in a fence": lambda name, value: f"```yaml\nenv:\n  {name}: {value}\n  LOG_LEVEL: debug\n```\n",
    "python in a fence": lambda name, value: f'```python\nclient = Client({name.lower()}="{value}")\n```\n',
    "assignment in prose": lambda name, value: (
        f"Run it with `{name}={value} make deploy` until CI has it.\n"
    ),
    "list item": lambda name, value: f"- use the mirror\n- {name}: {value}\n- retry twice\n",
}
_BARE: dict[str, Callable[[str, str], str]] = {
    "prose": lambda name, value: f"The user said the one to use for staging is {value} and it works.\n",
    "backticks": lambda name, value: f"The {name.lower().replace('_', ' ')} for staging: `{value}`.\n",
    "bold": lambda name, value: f"Staging needs **{value}** in the vault.\n",
    "table cell": lambda name, value: (
        f"| where | name | value |\n|---|---|---|\n| staging | {name} | {value} |\n| prod | | ask Ann |\n"
    ),
    "curl": lambda name, value: (
        f'```sh\ncurl -s -H "Authorization: Bearer {value}" https://api.example.com/v1/me\n```\n'
    ),
    "url parameter": lambda name, value: (
        f"Webhook: https://hooks.example.com/in?token={value}&v=2 (staging)\n"
    ),
    "end of a sentence": lambda name, value: (
        f"It is {value}. Ask Ann before you use it, then note it here.\n"
    ),
    "parentheses": lambda name, value: f"Staging (with {value}) answers faster.\n",
    "next line": lambda name, value: f"The {name.lower().replace('_', ' ')} is\n{value}\n",
    "wrapped": lambda name, value: (
        f"The {name.lower().replace('_', ' ')} is {value[: len(value) // 2]}\n{value[len(value) // 2 :]}\n"
    ),
    "description": lambda name, value: f"\0Staging uses {value}",
    "quotation": lambda name, value: f'> Ben: "take {value} for now"\n\n**Why:** CI has none.\n',
}


def _memory(body: str) -> str:
    description = "How staging is reached"
    if body.startswith("\0"):
        description, body = body[1:], "See the description.\n"
    return (
        f"---\nname: staging-access\ndescription: {description}\nmetadata:\n  type: project\n---\n\n{body}"
    )


def planted(seed: int = SEED) -> tuple[Sample, ...]:
    """Makes memories that hold one credential each: every kind in several places."""
    make = Maker(seed)
    found: list[Sample] = []
    for number, (kind, (name, value)) in enumerate(TOKENS.items()):
        places = _ANY | _BARE if kind in MARKED else _ANY
        names = list(places)
        # A step that is coprime to both lengths, so that every kind meets other places.
        for turn in range(3):
            place = names[(number * 3 + turn * 5) % len(names)]
            secret = value(make)
            found.append(Sample(kind, place, _memory(places[place](name, secret)), secret))
    found += _blocks(make)
    return (*found, *_soft(make))


def _blocks(make: Maker) -> list[Sample]:
    """What is more than a token: keys on many lines, pairs, whole configurations."""
    found = []
    for kind, label, tail in (
        ("rsa key", "RSA ", ""), ("ssh key", "OPENSSH ", ""), ("ec key", "EC ", ""),
        ("pkcs8 key", "", ""), ("pgp key", "PGP ", " BLOCK"),
    ):  # fmt: skip
        key = make.pem(label, 8, tail=tail)
        found.append(Sample(kind, "fence", _memory(f"The deploy key:\n\n```\n{key}\n```\n"), key))
        key = make.pem(label, 8, tail=tail)
        found.append(Sample(kind, "prose", _memory(f"Ann pasted the key:\n{key}\n"), key))
    key = make.pem("RSA ", 8)
    head, _, rest = key.partition("\n")
    proc = f"{head}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{make.some(32, HEX).upper()}\n\n{rest}"
    found.append(Sample("rsa key", "with headers", _memory(f"The old key:\n\n{proc}\n"), rest))
    key = make.pem("", 8)
    account = json.dumps(
        {"type": "service_account", "private_key": f"{key}\n", "client_id": make.some(21, DIGITS)}
    )
    found.append(Sample("gcp account", "json", _memory(f"```json\n{account}\n```\n"), account[60:120]))
    ident, secret = "AK" + "IA" + make.some(16, BASE32), make.some(40)
    for place, text in {
        "ini": f"```ini\n[default]\naws_access_key_id = {ident}\naws_secret_access_key = {secret}\n```\n",
        "list": f"- AWS_ACCESS_KEY_ID: {ident}\n- AWS_SECRET_ACCESS_KEY: {secret}\n",
        "table": f"| key | secret |\n|---|---|\n| {ident} | {secret} |\n",
    }.items():
        found.append(Sample("aws pair", place, _memory(text), secret if place != "table" else ident))
    hook = (
        f"https://hooks.slack.com/services/T{make.some(8, BASE32)}/B{make.some(10, BASE32)}/{make.some(24)}"
    )
    found.append(Sample("slack webhook", "prose", _memory(f"Alerts go to {hook} now.\n"), hook))
    hook = f"https://discord.com/api/webhooks/{make.some(18, DIGITS)}/{make.some(68, URL)}"
    found.append(Sample("discord webhook", "prose", _memory(f"Releases are told to {hook}\n"), hook))
    secret = make.b64(64)
    parts = f"DefaultEndpointsProtocol=https;AccountName=stage;AccountKey={secret};EndpointSuffix=x.net"
    found.append(Sample("azure storage", "assignment", _memory(f'CONN="{parts}"\n'), secret))
    secret = make.some(24)
    found.append(
        Sample(
            "netrc",
            "fence",
            _memory(f"```\nmachine git.example.com login ann password {secret}\n```\n"),
            secret,
        )
    )
    secret = make.password()
    found.append(
        Sample(
            "basic",
            "curl",
            _memory(f"```\ncurl -u ann:{secret} https://git.example.com/api\n```\n"),
            secret,
        )
    )
    return found


def _soft(make: Maker) -> list[Sample]:
    """Credentials in URLs and in prose."""
    texts: list[tuple[str, str, str]] = []
    for place, text in (
        ("postgres", "Staging is postgres://app:{}@db.internal:5432/app for now.\n"),
        ("redis", "```\nREDIS_URL=redis://:{}@cache.internal:6379/0\n```\n"),
        ("https", "Clone with https://ann:{}@git.example.com/team/app.git\n"),
        ("mongodb", "- mongodb+srv://app:{}@cluster0.example.net/app\n"),
        ("amqp", "The broker: `amqp://worker:{}@mq.internal//`\n"),
    ):
        secret = make.some(14)
        texts.append((f"{place} url", text.format(secret), secret))
    for place, text in (
        ("is", "The password for the staging database is {}.\n"),
        ("backticks", "The admin password is `{}`, ask Ann before using it.\n"),
        ("colon", "- wifi password: {}\n"),
        ("passphrase", "The passphrase of the deploy key was {}\n"),
        ("pin", "The pin for the signing card is {}.\n"),
    ):
        secret = make.some(5, string.ascii_lowercase) + make.some(4, DIGITS)
        texts.append((f"prose {place}", text.format(secret), secret))
    return [Sample(kind.split()[-1] if " url" in kind else "prose", kind, _memory(text), secret, True)
            for kind, text, secret in texts]  # fmt: skip


def look_alikes(seed: int = SEED) -> tuple[Sample, ...]:
    """Makes memories in which no credential is, though it looks so."""
    make = Maker(seed + 1)
    lines = _digests(make) | _examples(make) | _identifiers(make) | _prose(make)
    return tuple(Sample(kind, "", _memory(f"{text}\n")) for kind, text in lines.items())


def _digests(m: Maker) -> dict[str, str]:
    return {
        "git commit": f"Fixed in commit {m.some(40, HEX)}, see there.",
        "git commit bare": m.some(40, HEX),
        "git short hash": f"see {m.some(12, HEX)}",
        "git sha-256": f"The object {m.some(64, HEX)} is the base.",
        "commit in a url": f"https://github.com/example/app/commit/{m.some(40, HEX)}",
        "action pin": f"- uses: actions/checkout@{m.some(40, HEX)} # v4.2.2",
        "npm lock": f'```json\n"integrity": "sha512-{m.b64(64)}"\n```',
        "npm lock bare": f"integrity sha512-{m.b64(64)}",
        "npm shasum": f"shasum: {m.some(40, HEX)}",
        "subresource": f'<script src="a.js" integrity="sha384-{m.b64(48)}" crossorigin></script>',
        "pip hash": f"requests==2.32.3 --hash=sha256:{m.some(64, HEX)}",
        "go sum": f"example.org/x v1.2.3 h1:{m.b64(32)}",
        "cargo checksum": f'```toml\nchecksum = "{m.some(64, HEX)}"\n```',
        "poetry hash": f'{{file = "x-1.0.whl", hash = "sha256:{m.some(64, HEX)}"}}',
        "nix hash": f'sha256 = "sha256-{m.b64(32)}";',
        "image digest": f"postgres@sha256:{m.some(64, HEX)}",
        "image id": f"sha256:{m.some(64, HEX)}",
        "md5": f"MD5 ({m.some(8, LOWER)}.iso) = {m.some(32, HEX)}",
        "checksum line": f"{m.some(64, HEX)}  gitmem-1.0.tar.gz",
        "etag": f'ETag: "{m.some(32, HEX)}"',
        "cache key": f"key: ${{{{ runner.os }}}}-pip-{m.some(64, HEX)}",
        "key fingerprint": f"SHA256:{m.b64(32).rstrip('=')} ann@example.com (ED25519)",
        "gpg fingerprint": "Key fingerprint = "
        + " ".join(m.some(4, "0123456789ABCDEF") for _ in range(10)),
        "certificate serial": "Serial: " + ":".join(m.some(2, HEX) for _ in range(16)),
        "bcrypt cost": "Hash passwords with bcrypt, cost 12 ($2b$12$...), never MD5.",
    }


def _examples(m: Maker) -> dict[str, str]:
    aws = "AK" + "IAIOSFODNN7EXAMPLE"
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY"
    return {
        "documented aws id": f"The docs use {aws} as the key id.",
        "documented aws pair": f"```\nAWS_ACCESS_KEY_ID={aws}\nAWS_SECRET_ACCESS_KEY={secret}\n```",
        "placeholder": "export API_KEY=your-api-key-here",
        "angle placeholder": 'token = "<YOUR_TOKEN>"',
        "braces placeholder": "api_key: {{ secrets.API_KEY }}",
        "crossed out": "gh" + "p_" + "x" * 36,
        "stars": "The password shows as `********` in the log.",
        "changeme": "The default password is changeme until the first login.",
        "shell variable": "DB_PASSWORD=$DB_PASSWORD make migrate",
        "shell default": 'export TOKEN="${TOKEN:-}"',
        "actions secret": "env:\n  GH_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
        "from environment": 'password = os.environ["DB_PASSWORD"]',
        "from settings": "client = Client(api_key=settings.PAYMENTS_API_KEY)",
        "from vault": "The database password is stored in the vault under staging/db.",
        "pass command": "token=$(pass show staging/token)",
        "cut short": "The key begins with sk_live_... and is in the vault.",
        "prefix named": "Tokens that begin with ghp_ are classic, github_pat_ are fine-grained.",
        "url of a host": "postgres://localhost:5432/app",
        "url of a user": "ssh://git@git.example.com/team/app.git",
        "url placeholder": "postgres://USER:PASSWORD@HOST:5432/DB",
        "redacted": "Authorization: Bearer [REDACTED]",
        "empty": 'SECRET_KEY=""',
    }


def _identifiers(m: Maker) -> dict[str, str]:
    return {
        "uuid": f"Session {m.uuid()} was the one.",
        "uuid in a url": f"https://app.example.com/projects/{m.uuid()}/board",
        "ulid": f"The job {m.some(26, '0123456789ABCDEFGHJKMNPQRSTVWXYZ')} failed twice.",
        "object id": f"The record {m.some(24, HEX)} is broken in staging.",
        "page id": f"https://www.notion.so/team/Runbook-{m.some(32, HEX)}",
        "document id": f"https://docs.google.com/document/d/{m.some(44, URL)}/edit",
        "video id": f"https://www.youtube.com/watch?v={m.some(11, URL)}",
        "trace id": f"traceparent: 00-{m.some(32, HEX)}-{m.some(16, HEX)}-01",
        "request id": f"X-Request-Id: {m.uuid()}",
        "account number": f"arn:aws:iam::{m.some(12, DIGITS)}:role/deploy",
        "vpc": f"vpc-{m.some(17, HEX)} and subnet-{m.some(17, HEX)}",
        "cluster slug": f"Previews run on app-{m.some(10, LOWER)}-{m.some(5, LOWER)}.example.dev",
        "deployment": f"web-{m.some(10, LOWER)}-{m.some(5, LOWER)} restarts when memory runs out",
        "toolu": f"toolu_{m.some(24)} is the call that failed",
        "channel": "Alerts go to C" + m.some(10, BASE32),
        "bundle": f"dist/index-{m.some(8)}.js and dist/vendor-{m.some(8)}.css",
        "public key": f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{m.some(43)} ann@example.com",
        "public rsa key": f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{m.some(338)} ben@example.com",
        "public pem": "-----BEGIN PUBLIC"
        + f" KEY-----\n{m.some(64)}\n{m.some(64)}\n-----END PUBLIC"
        + " KEY-----",
        "certificate": f"-----BEGIN CERTIFICATE-----\n{m.some(64)}\n-----END CERTIFICATE-----",
        "base64 image": f"![dot](data:image/png;base64,iVBORw0KGgo{m.b64(120)})",
        "base64 font": f"src: url(data:font/woff2;base64,d09GMgABAAAA{m.b64(150)})",
        "publishable key": "pk" + "_test_" + m.some(24),
        "version": "Python 3.11.9, node 22.11.0, torch 2.5.1+cu124, build 20261120.3",
        "onion": f"http://{m.some(56, string.ascii_lowercase + '234567')}.onion",
    }


def _prose(m: Maker) -> dict[str, str]:
    return {
        "variable names": "Needs `STRIPE_SECRET_KEY`, `AWS_SECRET_ACCESS_KEY` and `GITHUB_TOKEN` set.",
        "required": "The password is required and must be hashed",
        "expired": "The token is expired after 15 minutes; refresh it.",
        "code name": "AuthTokenService.refreshAccessToken validates the secretKey field",
        "rotation": "Secret rotation: every 90 days, api key first, then the token.",
        "where": "API key: ask Ann, it is in 1Password under Staging",
        "path of a key": "ssh key: ~/.ssh/id_ed25519_staging",
        "secret name": "secretName: staging-db-credentials",
        "header name": "Send the token in X-Auth-Token, never in the query.",
        "lorem": "Passwords: minimum 12 characters, no maximum, checked against the breach list.",
        "type": "def login(user: str, password: SecretStr) -> Token: ...",
        "table": "| key | meaning |\n|---|---|\n| token | who calls |\n| secret | signs webhooks |",
    }
