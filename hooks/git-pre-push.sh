# Lets agent memory go to the remote that it is shared with, and nowhere else; gives stdin back to what
# follows. It needs no gitmem, so a broken or deleted one does not open the gate.
if [ -z "${GITMEM_DISABLE:-}" ]; then
  gitmem_in=$(cat)
  gitmem_share=$(git config --get gitmem.share 2>/dev/null)
  gitmem_remote=$(git config --get gitmem.remote 2>/dev/null)
  gitmem_open=
  case $gitmem_share in
  review | direct)
    if [ -z "$gitmem_remote" ] || [ "${1:-}" = "$gitmem_remote" ] ||
      [ "${2:-}" = "$(git remote get-url --push -- "$gitmem_remote" 2>/dev/null)" ]; then
      gitmem_open=yes
    fi
    ;;
  esac
  # What gitmem sends itself was rebuilt without what is not to leave.
  gitmem_prepared=$(git config --get gitmem.prepared 2>/dev/null)
  gitmem_there=${gitmem_remote:-${1:-}}
  # The remote `gitmem`, made for memory alone, takes no code.
  gitmem_alone=
  if [ "${1:-}" = gitmem ] && [ "$(git config --get-all remote.gitmem.fetch 2>/dev/null)" = \
    '+refs/heads/gitmem/*:refs/remotes/gitmem/gitmem/*' ]; then
    gitmem_alone=yes
  fi
  if [ -n "$gitmem_in" ] && { [ -z "$gitmem_open" ] || [ -n "$gitmem_alone" ] || [ -z "$gitmem_prepared" ]; }; then
    # Whatever a commit of memory is called, its tree says what it is: one process for all that is pushed.
    gitmem_held=$(while read -r gitmem_from gitmem_oid gitmem_to gitmem_at; do
      printf '%s:.gitmem\n' "$gitmem_oid"
    done <<GITMEM_STDIN | git cat-file --batch-check 2>/dev/null
$gitmem_in
GITMEM_STDIN
    )
    gitmem_memory= gitmem_code= gitmem_gone=
    while read -r gitmem_from gitmem_oid gitmem_to gitmem_at; do
      gitmem_is=${gitmem_held%%
*}
      gitmem_held=${gitmem_held#*
}
      # A deletion sends nothing.
      case $gitmem_oid in *[!0]*) ;; *) continue ;; esac
      gitmem_what=code
      for gitmem_name in "$gitmem_from" "$gitmem_to"; do
        case $gitmem_name in
        # Changes to documents of the code, which go where the code goes.
        refs/heads/gitmem/docs | refs/heads/gitmem/docs[~^]*) ;;
        refs/gitmem/* | refs/heads/gitmem/*) gitmem_what=memory ;;
        esac
      done
      case $gitmem_is in *' blob '*) gitmem_what=memory ;; esac
      if [ "$gitmem_what" = memory ] && [ -z "$gitmem_open" ]; then
        gitmem_memory=yes
        printf 'gitmem: not pushed: %s -> %s\n' "$gitmem_from" "$gitmem_to" >&2
      elif [ "$gitmem_what" = memory ] && [ -z "$gitmem_prepared" ]; then
        # Memories that came and went in commits that never left, and those about a person.
        gitmem_found=$({
          git log --format= --name-only --diff-filter=D "$gitmem_oid" --not "--remotes=$gitmem_there" -- '*.md'
          git grep -lE '^ *type: *"?user"? *$' "$gitmem_oid" -- '*.md' | sed 's/^[0-9a-f]*://'
        } </dev/null 2>/dev/null | while read -r gitmem_path; do
          git cat-file -e "refs/remotes/$gitmem_there/gitmem/project:$gitmem_path" 2>/dev/null </dev/null ||
            printf yes
        done)
        if [ -n "$gitmem_found" ]; then
          gitmem_gone=yes
          printf 'gitmem: not pushed: %s -> %s\n' "$gitmem_from" "$gitmem_to" >&2
        fi
      elif [ "$gitmem_what" = code ] && [ -n "$gitmem_alone" ]; then
        case $gitmem_to in refs/heads/gitmem/docs) ;; refs/heads/gitmem/*) continue ;; esac
        gitmem_code=yes
        printf 'gitmem: not pushed: %s -> %s\n' "$gitmem_from" "$gitmem_to" >&2
      fi
    done <<GITMEM_STDIN
$gitmem_in
GITMEM_STDIN
    if [ -n "$gitmem_code" ]; then
      printf '%s\n' \
        'gitmem: the remote gitmem is for memory alone; nothing of this push was sent.' \
        'gitmem: to push code there all the same: git push --no-verify' >&2
    fi
    if [ -n "$gitmem_gone" ]; then
      printf '%s\n' \
        'gitmem: this holds memory that was taken out before it ever left, or is about a person; nothing of this push was sent.' \
        'gitmem: to send the rest without it: git mem sync; to send it all the same: git push --no-verify' >&2
    fi
    if [ -n "$gitmem_memory" ]; then
      case $gitmem_share in
      review | direct)
        printf '%s\n' \
          "gitmem: this is agent memory, which is shared with $gitmem_remote alone; nothing of this push was sent." \
          "gitmem: to share it here instead: git mem share --remote ${1:-NAME}; just this once: git push --no-verify"
        ;;
      *)
        printf '%s\n' \
          'gitmem: this is agent memory, and sharing is off here; nothing of this push was sent.' \
          'gitmem: to share memory with the team: git mem share' \
          'gitmem: to push a branch of your own that is named like this: git push --no-verify, or rename it'
        ;;
      esac >&2
    fi
    if [ -n "$gitmem_memory$gitmem_code$gitmem_gone" ]; then exit 1; fi
  fi
  if [ -n "$gitmem_in" ]; then
    exec <<GITMEM_STDIN
$gitmem_in
GITMEM_STDIN
  else
    exec </dev/null
  fi
fi
