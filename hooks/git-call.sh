# Runs gitmem's hook where this clone has one; it says nothing, and what comes below goes on.
gitmem_hook=$(git rev-parse --git-common-dir)/gitmem/hooks/@HOOK@
[ ! -x "$gitmem_hook" ] || "$gitmem_hook" "$@" || exit
