"""Words that the signals are made of, as pieces of regular expressions over lower-case text."""

from __future__ import annotations

# Where a clause may begin: the sentence, after punctuation, after a conjunction.
START = r"(?:^|(?<=[,;:—–(] )|(?<=[-–—] )|(?<=\band )|(?<=\bbut )|(?<=\bso )|(?<=\bplease )|(?<=\balso ))"

# Words of the trade: what a person likes or hates outside of it is no concern of a coding agent.
WORK = (
    r"\b(?:you|your|code|coding|functions?|methods?|class(?:es)?|types?|typing|names?|naming|files?"
    r"|modules?|packages?|imports?"
    r"|exports?|returns?|loops?|tests?|testing|mocks?|fixtures?|asserts?|assertions?|commits?"
    r"|branch(?:es)?|prs?|pull requests?"
    r"|diffs?|reviews?|merg(?:es?|ing)|rebas(?:e|es|ing)|comments?|doc ?strings?|docs|documentation"
    r"|readmes?|errors?|exceptions?"
    r"|logs?|logging|configs?|flags?|dependenc(?:y|ies)|librar(?:y|ies)|frameworks?|macros?|globals?"
    r"|abstractions?|interfaces?"
    r"|components?|hooks?|state|sql|quer(?:y|ies)|schemas?|migrations?|scripts?|shell|terminal|editor|vim"
    r"|emacs|vs ?code"
    r"|diagrams?|tables?|lists?|bullets?|summar(?:y|ies)|explanations?|examples?|answers?|repl(?:y|ies)"
    r"|responses?|plans?"
    r"|questions?|options|alternatives|steps|details?|emojis?|english|refactor(?:s|ing|ings)?|patterns?"
    r"|conventions?|tabs|spaces"
    r"|indentation|quotes|semicolons|formatters?|linters?|tools?|builds?|pipelines?|deploy(?:s|ments?)?"
    r"|releases?|numbers"
    r"|python|typescript|javascript|rust|golang|java|kotlin|swift|ruby|c\+\+|lambdas|generics|inheritance"
    r"|decorators"
    r"|one-liners|dates|times?|estimates?|tickets?|updates?|defaults?|constants?|variables?|boilerplate"
    r"|jargon)\b"
)

WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
MONTH = rf"(?:{MONTHS})"
DATE = (
    rf"(?:\b(?:{WEEKDAY}|tomorrow|today|tonight|{MONTH}(?= \d|,|\.|$| and)|\d{{1,2}}(?:st|nd|rd"
    rf"|th)?\.? (?:of )?{MONTH}"
    rf"|(?:early |mid |late |by |in |until |end of |of ){MONTH}|\d{{4}}-\d\d-\d\d"
    rf"|\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?"
    r"|q[1-4]|(?:next|this|the end of the|end of) (?:week|month|quarter|year|sprint)|\d{1,2}(?:st|nd|rd|th)"
    r"|(?:spring|summer|autumn|fall|winter) (?:of )?\d{4})\b)"
)

TOOL = (
    r"(?:linear|jira|github (?:issues|projects?|discussions)|gitlab(?: issues| boards?)?|notion"
    r"|confluence|slack|trello"
    r"|asana|zendesk|grafana|datadog|sentry|looker|amplitude|pagerduty|opsgenie|google (?:docs?|drive"
    r"|sheets?)|figma"
    r"|miro|airtable|wiki|ms teams|teams channel|discord|kibana|bugzilla|redmine|shortcut|clickup"
    r"|monday\.com|youtrack"
    r"|basecamp|intercom|metabase|tableau|mixpanel|posthog|sharepoint|new relic|honeycomb|splunk"
    r"|statuspage|launchdarkly"
    r"|phabricator|azure devops|bitbucket|prometheus|superset|power ?bi|dropbox|coda|hubspot|salesforce"
    r"|freshdesk"
    r"|service ?now)"
)
PLACE = (
    rf"(?:\b{TOOL}\b|https?://\S+|#[a-z][\w-]+|\b[\w-]+\.(?:internal|corp|local|io|com|org|net|dev"
    rf"|de)(?:/\S*)?)"
)
THING = (
    r"(?:bugs?|issues?|tickets?|tasks?|requests?|incidents?|complaints?|escalations?|work items?|roadmap"
    r"|backlog|todos?"
    r"|docs?|documentation|documents|runbooks?|playbooks?|specs?|rfcs?|adrs?|designs?|mock-?ups?"
    r"|decisions|minutes|notes"
    r"|alerts?|metrics|numbers|figures|logs|errors|crashes|dashboards?|boards?|reports?|wiki|channel"
    r"|calendar|schedule"
    r"|credentials|secrets|on-?call|status page|tracking|monitoring|analytics|planning|feedback|questions"
    r"|announcements|releases|tracker)"
)

ROLE = (
    r"(?:engineer|developer|dev|programmer|scientist|analyst|designer|architect|manager|lead|admin"
    r"|administrator|sysadmin"
    r"|sre|devops|student|teacher|researcher|maintainer|founder|cto|ceo|consultant|contractor|freelancer"
    r"|intern|beginner"
    r"|newcomer|junior|senior|writer|tester|qa|owner|director|head|professor|physicist|biologist"
    r"|statistician"
    r"|mathematician|economist|lawyer|doctor|nurse|accountant|product person|backend|frontend|full-?stack"
    r"|dba|operator"
    r"|hobbyist|native speaker|team of one|expert|novice|noob|musician|journalist|librarian|marketer"
    r"|translator)"
)

PRACTICE = (
    r"(?:commits?|commit messages?|pull requests?|prs?|merge requests?|branch(?:es)?(?: names)?|tests"
    r"|unit tests"
    r"|migrations|reviews|releases|deploys|deployments|docs|doc ?strings|changelogs?(?: entries)?|secrets"
    r"|credentials"
    r"|type hints|new code|code reviews|dependencies|new dependencies|hotfixes|tickets|answers|replies"
    r"|responses)"
)

NOT_BARE = (
    r"(?!worry|bother|mind|know|think|see|get\b|understand|you\b|we\b|care|like|have\b|want|need|remember"
    r"|recall|panic"
    r"|believe|really|hesitate|forget|stop|say\b|give up|quit|be\b|let\b|hurry|sweat|lose)"
)
STATE = (
    r"(?!get|got|see\b|seen\b|ever (?:seen|had|been)\b|seem|have\b|had\b|has\b|hit\b|run into|need|want"
    r"|know|knew|was\b|were\b|did\b"
    r"|been\b|is\b|are\b"
    r"|end up|thought|think|said|meant|asked|made\b|went|came|saw|ran\b|wrote|forget|forgot|find|found|fail"
    r"|\w+ed\b(?<!need)(?<!embed)(?<!feed)(?<!seed))"
)
LASTING = (
    r"(?:from now on|from here on|going forward|in (?:the )?future|for (?:the )?future(?=[,:])|next time"
    r"|as a (?:general )?rule"
    r"|in general|generally|as a (?:general )?principle|every (?:single )?time|each time|whenever"
    r"|(?:for|in) (?:all |any )?(?:the |our |my )?future (?=sessions?|tasks?|changes|work|prompts?"
    r"|projects|commits|prs)|for all future|(?:for|in) (?:\w+ )?projects"
    r"|(?:for|in|on) (?:every|all|any) (?:new |future |other |of (?:my|our) )?"
    r"(?:prs?|reviews?|projects?|commits?|repos?|repositories|tasks?|sessions?|changes?|files?|answers?"
    r"|repl(?:y|ies)|prompts?|messages?|features?|bugs?|commands?|releases?|branch(?:es)?|scripts?|edits?))"
)
PRODUCT = (
    r"(?:app|application|tool|project|product|repo|repository|site|website|system|platform|service|device"
    r"|firmware|game|library|package|cli|plugin|extension|bot|company|language|framework|sdk|dashboard"
    r"|codebase|module|program|client|compiler|simulator)"
)
