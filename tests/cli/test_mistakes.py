"""Mistakes that a person plausibly makes, what is printed, and the exit code: a table."""

from __future__ import annotations

import shlex

from cli_ground import Ground, memory

MISTAKES = [
    ("rember 'Use tabs.'", 2, "There is no verb 'rember'", "Did you mean: git mem remember"),
    ("stauts", 2, "There is no verb 'stauts'", "git mem status"),
    ("reveiw", 2, "There is no verb 'reveiw'", "Did you mean: git mem review"),
    ("add 'Use tabs.'", 2, "There is no verb 'add'", "Did you mean: git mem remember"),
    ("commit", 2, "There is no verb 'commit'", "Did you mean: git mem save"),
    ("rm ports", 2, "There is no verb 'rm'", "Did you mean: git mem forget"),
    ("search port", 2, "There is no verb 'search'", "Did you mean: git mem recall"),
    ("edit ports", 2, "There is no verb 'edit'", "Did you mean: git mem save"),
    ("snapshot create nobody", 2, "nobody has no project memory", "Agents that have some: main."),
    ("ls", 2, "There is no verb 'ls'", "Did you mean: git mem list"),
    ("revert", 2, "There is no verb 'revert'", "Did you mean: git mem undo"),
    ("merge ports", 2, "Missing argument 'FROM'", "Say: git mem merge INTO FROM (more: git mem merge -h)"),
    ("move ports local", 2, "Missing option '--to'", "Say: git mem move NAME --to SCOPE (more: "),
    ("check HEAD", 2, "unexpected extra argument", "It takes options alone. See: git mem check -h"),
    ("merge ports ports", 2, "is one memory", "Name two: git mem merge INTO FROM"),
    ("push", 2, "There is no verb 'push'", "Did you mean: git mem sync"),
    ("accept s-1", 2, "There is no verb 'accept'", "Did you mean: git mem review accept"),
    ("config extract off", 2, "There is no verb 'config'", "Did you mean: git mem help settings"),
    ("xyzzy", 2, "There is no verb 'xyzzy'", "See all verbs: git mem -h"),
    ("log --onelin", 2, "No such option: --onelin", "See: git mem log -h"),
    ("log -n many", 2, "'many' is not a valid number", "See: git mem log -h"),
    ("log --since 2026-13-01", 2, "'2026-13-01' is no date", "Say --since 2026-09-01"),
    ("init --since someday", 2, "'someday' is no date", "Say --since 2026-09-01"),
    ("log --since someday", 2, "'someday' is no date", "Say --since 2026-09-01"),
    ("--color blue status", 2, "'blue' is not one of", "See: git mem -h"),
    ("review accpt s-1", 2, "Did you mean 'accept'?", "See: git mem review -h"),
    (
        "remember Run the linter",
        2,
        "unexpected extra argument",
        "Put words that belong together into quotes",
    ),
    (
        "forget tabs ports",
        2,
        "unexpected extra argument",
        "It takes no more than NAME. See: git mem forget -h",
    ),
    ("list ports", 2, "unexpected extra argument", "It takes options alone"),
    ("review reject z-9 -y", 2, "No item that waits has an id that begins with 'z-9'", ""),
    ("review accept", 2, "Say what to accept", "See what waits: git mem review"),
    ("review accept 3", 2, "The number 3 follows no id", "See the ids: git mem review"),
    ("review accept s-1 --all", 2, "Give ids or --all, not both", ""),
    (
        "review show x-9",
        2,
        "No item that waits has an id that begins with 'x-9'",
        "See what waits: git mem review",
    ),
    ("show", 2, "Missing argument 'NAME'", "Say: git mem show NAME (more: git mem show -h)"),
    ("show prots", 2, "There is no memory named 'prots'", "ports"),
    ("show ports --at 2026-13-01", 2, "is no date: there is no such day", "Write it as 2026-11-20"),
    ("show ports --at ''", 2, "--at names no time", "Give e.g. 2026-11-20"),
    ("show ports --scope team", 2, "team", "project"),
    ("forget nobody-has-this", 2, "There is no memory named 'nobody-has-this'", "See all: git mem list"),
    ("restore", 2, "Say what to restore: one NAME, or --all", ""),
    ("restore --all", 2, "Say as of when", "See what there was: git mem log"),
    ("log -n -3", 2, "-3 is not in the range", "See: git mem log -h"),
    ("checkout -", 2, "No past state is laid out here", "Lay one out: git mem checkout"),
    ("move ports --to team", 2, "team", "project"),
    ("remember ''", 2, "", "hint"),
    ("recall", 2, "", "hint"),
    ("engine offline", 2, "'offline' is an engine", "git mem engine set offline"),
    ("engine gpt", 2, "engine cannot 'gpt'", "engine set NAME"),
    ("engine set gpt", 2, "There is no engine 'gpt'", "agent, offline, anthropic, claude-code"),
    ("dream --engine gpt", 2, "There is no engine 'gpt'", "offline, anthropic, claude-code"),
    ("dream kil", 2, "dream cannot 'kil'", "`kill`"),
    ("dream kill", 1, "No dream is running here", "See: git mem dream status"),
    ("undo abc1234", 2, "abc1234", "git mem log"),
    ("share", 3, "This repository has no remote", "Add one: git remote add origin URL"),
    ("help rember", 2, "There is no page 'rember'", "settings"),
    ("completion tcsh", 2, "'tcsh' is not one of", "See: git mem completion -h"),
    (
        "export --format json -o ~no-one/x",
        2,
        "~no-one/x: nobody is called no-one here",
        "Give the whole path",
    ),
    ("import ~no-one/x", 2, "nobody is called no-one here", "Give the whole path"),
    ("view --static ~no-one/x", 2, "nobody is called no-one here", "Give the whole path"),
    ("restore --all --at ~0 --to ~no-one/x", 2, "nobody is called no-one here", "Give the whole path"),
    ("extract --session ~no-one/x", 2, "nobody is called no-one here", "Give the whole path"),
    ("backup x --encrypt-to ~no-one/x", 2, "nobody is called no-one here", "Give the whole path"),
    ("backup x --identity ~no-one/x", 2, "nobody is called no-one here", "Give the whole path"),
    ("init --identity ~no-one/x", 2, "nobody is called no-one here", "Give the whole path"),
    ("bench agent --tasks ~no-one/x", 2, "nobody is called no-one here", "Give the whole path"),
    ("promote ports --to ~no-one/x", 2, "nobody is called no-one here", "Give the whole path"),
    ("pause --for soon", 2, "'soon' is no length of time", "Give e.g. 45m, 2h, 1h30m or 3d."),
    ("jobs --retry --clear", 2, "do not go together", "Choose one of them"),
]


def test_a_mistake_is_answered_with_what_to_do(ground: Ground) -> None:
    """All in one repository: none of them changes anything."""
    assert len({line for line, *_ in MISTAKES}) >= 30
    both = "\n\n".join(f"The door opens at {n}. *(disputed 01234567)*" for n in "89")
    ground.learn(
        {"main/ports.md": memory("ports", "Port 8080 is taken."), "main/door.md": memory("door", both)}
    )
    before = ground.tip()
    for line, code, said, hint in MISTAKES:
        ran = ground.run(*shlex.split(line), code=code)
        assert said in ran.err and hint in ran.err, (line, ran.err)
        assert ran.err.startswith("gitmem: ") and "Traceback" not in ran.err, line
        assert ran.out == "" and ground.tip() == before, line


def test_outside_a_repository_every_verb_says_so(ground: Ground, tmp_path_factory) -> None:
    ground.patch.chdir(tmp_path_factory.mktemp("elsewhere"))
    for verb in ("status", "log", "list", "review", "init"):
        told = ground.run(verb, code=3).err
        assert "not a git repository" in told and "hint:" in told
