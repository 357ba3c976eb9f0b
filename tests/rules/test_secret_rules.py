"""The rules that stand beside the detector's own: what they see, and its twins that hold no credential."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from planted_secrets import ALNUM, BASE32, HEX, Maker

from gitmem.rules import secrets
from gitmem.rules.secrets import find_secrets, redact

MAKE = Maker(20261123)
PASSWORD = MAKE.some(5, "bcdfghjk") + "-" + MAKE.some(4, "23456789")
PEM = "\n".join(MAKE.some(64, ALNUM + "+/") for _ in range(6))
BEGIN = "-----BEGIN RSA PRIVATE" + " KEY-----"
OPENSSH = "b3BlbnNzaC1rZXktdjEA" + "AAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAB" + MAKE.some(200, ALNUM + "+/")
SEED = "legal winner thank year wave sausage worth useful legal winner thank yellow"
TOKEN = MAKE.summed("gh" + "p")

# What is planted, and in what: each text is judged as it stands.
PLANTED: dict[str, tuple[str, str]] = {
    "PGPASSWORD": (PASSWORD, f"Run `PGPASSWORD={PASSWORD} psql -h db.internal app` to look."),
    "PGPASSWORD quoted": (PASSWORD, f"PGPASSWORD='{PASSWORD}' pg_dump app > app.sql"),
    "MYSQL_PWD": (PASSWORD, f"export MYSQL_PWD={PASSWORD}; mysqldump app"),
    "mysql -p": (PASSWORD, f"Use mysql -h db.internal -u root -p{PASSWORD} app for that."),
    "mysqldump --password": (PASSWORD, f"mysqldump --user=root --password={PASSWORD} app > dump.sql"),
    "sshpass -p": (PASSWORD, f"sshpass -p {PASSWORD} ssh deploy@staging.internal uptime"),
    "sshpass -p quoted": (PASSWORD, f"sshpass -p '{PASSWORD}' scp a.tar deploy@staging.internal:"),
    "docker login": (PASSWORD, f"docker login -u ci -p {PASSWORD} registry.internal"),
    "redis-cli": (PASSWORD, f"redis-cli -h cache.internal -a {PASSWORD} ping"),
    "netrc on a line": (PASSWORD, f"machine git.internal login ann password {PASSWORD}"),
    "netrc on lines": (PASSWORD, f"machine git.internal\n  login ann\n  password {PASSWORD}\n"),
    "pgpass": (PASSWORD, f"db.internal:5432:app:deploy:{PASSWORD}"),
    "pgpass stars": (PASSWORD, f"The ~/.pgpass has `*:*:*:deploy:{PASSWORD}` in it."),
    "requirepass": (PASSWORD, f"requirepass {PASSWORD}\n"),
    "curl -u": (PASSWORD, f"curl -u ann:{PASSWORD} https://ci.internal/api"),
    "curl -u quoted": (PASSWORD, f'curl -s -u "ann:{PASSWORD}" https://ci.internal/api'),
    "pem without its end": (PEM[:60], f"{BEGIN}\n{PEM}\n"),
    "pem without its beginning": (OPENSSH, f"The deploy key is {OPENSSH} and so on."),
    "labelled uuid": (uuid := MAKE.uuid(), f"The Heroku API key is {uuid}."),
    "labelled uuid bare": (uuid, f"Use client secret {uuid} on staging."),
    "labelled hex": (digest := MAKE.some(32, HEX), f"datadog api key `{digest}`"),
    "labelled hex of": (digest, f"The signing key for webhooks is {digest}, rotated in May."),
    "seed phrase": (SEED, f"Seed phrase: {SEED}"),
    "seed phrase below": (SEED, f"The recovery phrase of the test wallet is\n\n> {SEED}\n"),
    "mnemonic": (SEED, f'mnemonic = "{SEED}"'),
    "curly quotes": (TOKEN, f"The token is “{TOKEN}”."),
    "curly quotes and a comma": (TOKEN, f"He said “{TOKEN},” and left."),
    "wrapped": (TOKEN[-20:], f"The token is {TOKEN[:12]}\n{TOKEN[12:]} for now."),
    "wrapped in a quotation": (TOKEN[-20:], f"> The token is {TOKEN[:20]}\n> {TOKEN[20:]}\n"),
    "two spans": (TOKEN[-18:], f"It is `{TOKEN[:22]}` `{TOKEN[22:]}`."),
    "two spans and a word": (TOKEN[-18:], f"It is `{TOKEN[:22]}` followed by `{TOKEN[22:]}`."),
    "two strings": (TOKEN[-18:], f'token = "{TOKEN[:22]}" + "{TOKEN[22:]}"'),
    "azure without its tenant": (
        azure := f"{MAKE.some(3)}8Q~{MAKE.some(34)}",
        f"The app's secret: {azure}",
    ),
    "aws id alone": (key := "AK" + "IA" + MAKE.some(16, BASE32), f"The id is {key}."),
    "sentence": (PASSWORD, f"The staging password is {PASSWORD}."),
    "sentence, other order": (PASSWORD, f"Use {PASSWORD} as the admin password on staging."),
    "pair": (PASSWORD, f"Credentials for staging: admin / {PASSWORD}"),
    "login": (PASSWORD, f"Log in with admin:{PASSWORD}."),
}

# The twins: the same shapes with nothing in them.
HONEST = {
    "PGPASSWORD from a variable": 'PGPASSWORD="$DB_PASSWORD" psql -h db.internal app',
    "PGPASSWORD from a command": "PGPASSWORD=$(pass show staging/db) psql app",
    "PGPASSWORD from CI": "PGPASSWORD: ${{ secrets.DB_PASSWORD }}",
    "PGPASSWORD named": "Set PGPASSWORD before you run the restore script, never on the command line.",
    "mysql asks": "mysql -u root -p app",
    "mysql port": "mysql -h db.internal -P 3307 -u root -p",
    "mysql variable": 'mysql -u root -p"$MYSQL_ROOT_PASSWORD" app',
    "sshpass variable": 'sshpass -p "$SSH_PASS" ssh deploy@staging.internal',
    "sshpass from the environment": "sshpass -e ssh deploy@staging.internal",
    "docker login from a pipe": "echo $TOKEN | docker login -u ci --password-stdin registry.internal",
    "docker login placeholder": "docker login -u ci -p <token> registry.internal",
    "netrc placeholder": "machine git.internal login ann password $TOKEN",
    "netrc in prose": "Put machine, login and password into ~/.netrc, one line a host.",
    "pgpass format": "A line of .pgpass is hostname:port:database:username:password.",
    "pgpass stars": "The ~/.pgpass has `*:*:*:deploy:${PGPASS}` in it.",
    "requirepass named": "Redis has requirepass set since May; the value is in the vault.",
    "requirepass variable": "redis-server --requirepass ${REDIS_PASSWORD}",
    "curl variables": 'curl -u "${USER}:${PASS}" https://ci.internal/api',
    "curl variables bare": "curl -u $USER:$PASS https://ci.internal/api",
    "curl defaults": 'curl -u "${USER:-${DEFAULT_USER}}:${PASS:-${DEFAULT_PASS}}" https://ci.internal',
    "curl CI": 'curl -u "${{ env.CI_ID }}:${{ env.CI_PASS }}" https://ci.internal/api',
    "curl command": 'curl -u "$(cat ./login):$(cat ./word)" https://ci.internal/api',
    "curl template": 'curl -u "{{ user }}:{{ password }}" https://ci.internal/api',
    "curl placeholder": "curl -u <user:password> https://ci.internal/api",
    "curl user only": "curl -u ann https://ci.internal/api",
    "pem begins": f"A key file begins with {BEGIN}; ours are in the vault.",
    "uuid of a session": f"The session {MAKE.uuid()} leaked a key name into the log.",
    "idempotency key": f"Idempotency key {MAKE.uuid()} was sent twice.",
    "cache key": f"The cache key {MAKE.some(64, HEX)} never hits.",
    "commit": f"Fixed the token refresh in {MAKE.some(40, HEX)}.",
    "seed phrase in prose": "Seed phrases: the user must write down every word and keep them where nobody "
    "else can ever find them, not even from support.",
    "mnemonic in prose": "A mnemonic is made from 128 bits of entropy plus a checksum, then shown once.",
    "names in two spans": "Needs `STRIPE_SECRET_KEY` and `GITHUB_TOKEN` in the environment.",
    "words in curly quotes": "The error says “invalid token” and “password required”.",
    "hash in prose": "The password is argon2id hashed before it is stored.",
    "lifetime": "The token is 15min valid, the refresh token 30d.",
    "as the password": "Use the vault entry as the admin password on staging.",
    "hash as the password": "We store argon2id as the password hash.",
    "login at a path": "Log in with SSO: accounts/login redirects to the provider.",
    "login file": "Credentials: see config/credentials.yml.enc for the layout.",
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_the_detector_alone_misses_is_seen_and_taken_out(name: str) -> None:
    secret, text = PLANTED[name]
    found = find_secrets(text)
    assert found, text
    assert secret not in redact(text, found)
    assert secret not in repr(found)


@pytest.mark.parametrize("name", HONEST)
def test_its_twin_without_a_credential_passes(name: str) -> None:
    assert [(one.rule, one.redacted) for one in find_secrets(HONEST[name])] == []


def test_what_is_told_in_a_sentence_warns_and_a_command_line_blocks() -> None:
    grave = {name: {one.severity for one in find_secrets(text)} for name, (_, text) in PLANTED.items()}
    assert grave["sentence"] == grave["pair"] == grave["labelled uuid"] == {"warning"}
    assert {"block"} == grave["PGPASSWORD"] == grave["mysql -p"] == grave["curl -u"] == grave["two spans"]


def test_a_word_as_a_password_on_a_command_line_only_warns() -> None:
    """Many a local database is reached with its own name; a person decides."""
    (secret,) = find_secrets("PGPASSWORD=postgres psql -h localhost app")
    assert secret.severity == "warning"


def test_our_rules_are_in_the_detectors_format_and_each_says_what_it_is() -> None:
    """Those that only warn stand apart, so that who asks for what blocks need not run them."""
    here = Path(secrets.__file__).parent
    sure, prose = (tomllib.loads((here / name).read_text()) for name in (secrets.SURE, secrets.PROSE))
    rules = [*sure["rules"], *prose["rules"]]
    assert len({rule["id"] for rule in rules}) == len(rules) >= 15
    assert all(rule["description"] and rule["keywords"] for rule in rules)
    assert all(set(rule.get("tags", ())) <= {"login"} for rule in sure["rules"])
    assert all(rule["tags"] == ["warn"] for rule in prose["rules"])
    # What the detector's own settings leave out is said there once more, since it is not read with them.
    assert prose["filter"].endswith(f"|| {sure['filter'].lstrip()}")
