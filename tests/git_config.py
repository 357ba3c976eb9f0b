"""The configuration that git finds in a test's home folder."""

GIT_CONFIG = """\
[user]
\tname = Ann
\temail = ann@example.com
[init]
\tdefaultBranch = main
[commit]
\tgpgSign = false
[gc]
	auto = 0
[maintenance]
	auto = false
[receive]
	autogc = false
[protocol "file"]
\tallow = always
"""
