# Starts gitmem for a hook (`gitmem.sh <Event>`) or as a server (`gitmem.sh mcp`), wherever it is installed.
# A hook does nothing, and prints nothing, where this repository keeps no memory, where `git mem init` has put
# the same hook into the settings (the client runs both), and where gitmem is not installed. It never fails.
if [ "$1" != mcp ]; then
  top=$PWD
  while [ ! -e "$top/.git" ]; do
    [ -n "$top" ] || exit 0
    top=${top%/*}
  done
  main=$top
  if [ -f "$top/.git" ]; then
    # A linked work tree says `gitdir: <main>/.git/worktrees/<name>`.
    read -r word main <"$top/.git" || :
    main=${main%/.git/worktrees/*}
  fi
  [ -d "$main/.git/gitmem" ] || exit 0
  # Which of these a client reads depends on its version.
  for folder in "$top" "$main" "${CLAUDE_PROJECT_DIR:-$top}"; do
    set -- "$@" "$folder/.claude/settings.local.json" "$folder/.claude/settings.json"
  done
  event=$1
  shift
  ! grep -qs "gitmem.* hook claude $event[\" ]" "$@" || exit 0
  set -- hook claude "$event"
fi
for program in "${XDG_DATA_HOME:-$HOME/.local/share}/gitmem/bin/gitmem" "$(command -v git-mem)" "$HOME/.local/bin/git-mem"; do
  # A relative PATH entry would start what the repository brings.
  case $program in /*) ;; *) continue ;; esac
  if [ -f "$program" ] && [ -x "$program" ]; then
    [ "$1" != mcp ] || exec "$program" mcp
    "$program" "$@"
    exit 0
  fi
done
[ "$1" != mcp ] || echo "gitmem is not installed: uv tool install 'gitmem-vcs[mcp]'" >&2
