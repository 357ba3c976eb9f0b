# The hook that was here before gitmem, kept byte for byte: same arguments, stdin and exit code.
gitmem_kept=${0%/*}/@HOOK@.gitmem-kept
if [ -f "$gitmem_kept" ] && [ -x "$gitmem_kept" ]; then exec "$gitmem_kept" "$@"; fi
