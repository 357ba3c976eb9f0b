# Refuses to push agent memory while sharing is off, and gives stdin back to what follows. It needs no
# gitmem, so a broken or deleted one does not open the gate.
if [ -z "${GITMEM_DISABLE:-}" ]; then
  gitmem_in=$(cat)
  case "
$gitmem_in" in
  *[[:space:]]refs/gitmem/* | *[[:space:]]refs/heads/gitmem/*)
    case $(git config --get gitmem.share 2>/dev/null) in
    review | direct) ;;
    *)
      while IFS= read -r gitmem_line; do
        case " $gitmem_line" in
        *[[:space:]]refs/gitmem/* | *[[:space:]]refs/heads/gitmem/*)
          printf 'gitmem: not pushed, sharing is off here: %s\n' "$gitmem_line" >&2
          ;;
        esac
      done <<GITMEM_STDIN
$gitmem_in
GITMEM_STDIN
      printf '%s\n' \
        'gitmem: these refs are agent memory (refs/gitmem/*, refs/heads/gitmem/*); nothing of this push was sent.' \
        'gitmem: to share memory with the team: git mem share' \
        'gitmem: to push a branch of your own that is named like this: git push --no-verify, or rename it' >&2
      exit 1
      ;;
    esac
    ;;
  esac
  if [ -n "$gitmem_in" ]; then
    exec <<GITMEM_STDIN
$gitmem_in
GITMEM_STDIN
  else
    exec </dev/null
  fi
fi
