# Keeps the old and new names that git passes on stdin, and gives stdin back to what follows.
gitmem_in=
gitmem_pairs=
while IFS= read -r gitmem_line; do
  gitmem_in="$gitmem_in$gitmem_line
"
  gitmem_pairs="${gitmem_pairs}pair=$gitmem_line
"
done
if [ -n "$gitmem_in" ]; then
  exec <<GITMEM_STDIN
${gitmem_in%?}
GITMEM_STDIN
else
  exec </dev/null
fi
