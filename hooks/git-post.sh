# Leaves a job for gitmem's worker and starts it detached; never waits, prints or fails.
gitmem_state=@STATE@
if [ -z "${GITMEM_DISABLE:-}" ] && [ -d "$gitmem_state" ] && [ -x @PROGRAM@ ] && [ "${3:-1}" != 0 ]; then
  [ -d "$gitmem_state/spool" ] || mkdir "$gitmem_state/spool" 2>/dev/null || :
  gitmem_job=$gitmem_state/spool/$$-@EVENT@
  while [ -e "$gitmem_job" ]; do gitmem_job=$gitmem_job-; done
  { printf 'gitmem-job 1\nevent=%s\nargs=%s\n%sworktree=%s\n' @EVENT@ "$*" "${gitmem_pairs:-}" "$PWD" \
    >"$gitmem_job"; } 2>/dev/null || :
  # A rebase commits many times: its jobs wait for post-rewrite, which starts the worker once.
  if [ @EVENT@ = rewrite ] ||
    { [ ! -d "${GIT_DIR:-.git}/rebase-merge" ] && [ ! -d "${GIT_DIR:-.git}/rebase-apply" ]; }; then
    (
      CDPATH='' cd -P "$gitmem_state/.." || exit 0
      if command -v setsid; then exec setsid @COMMAND@ worker --git-dir "$PWD"; fi
      exec @COMMAND@ worker --git-dir "$PWD"
    ) </dev/null >/dev/null 2>&1 &
  fi
fi
