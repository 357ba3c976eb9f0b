# Runs gitmem's hook where this clone has one; what git says on stdin is there for what comes below, too.
gitmem_hook=$(git rev-parse --git-common-dir)/gitmem/hooks/@HOOK@
if [ -x "$gitmem_hook" ]; then
  gitmem_in=$(cat)
  printf '%s' "$gitmem_in${gitmem_in:+
}" | "$gitmem_hook" "$@" || exit
  if [ -n "$gitmem_in" ]; then
    exec <<GITMEM_STDIN
$gitmem_in
GITMEM_STDIN
  else
    exec </dev/null
  fi
fi
