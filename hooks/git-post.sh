# Leaves a job for gitmem's worker and starts it detached; never waits, prints or fails.
gitmem_state=@STATE@
if [ -z "${GITMEM_DISABLE:-}" ] && [ -d "$gitmem_state" ] && [ -x @PROGRAM@ ] && [ "${3:-1}" != 0 ]; then
  # A rebase commits many times, and post-rewrite follows at its end: one job for all of it. Where it is given
  # up, the next job sees what was said meanwhile. What `git am` applies is no rebase.
  gitmem_rebase=
  if [ -d "${GIT_DIR:-.git}/rebase-merge" ] || [ -f "${GIT_DIR:-.git}/rebase-apply/rebasing" ]; then
    gitmem_rebase=yes
  fi
  if [ @EVENT@ != commit ] || [ -z "$gitmem_rebase" ]; then
    [ -d "$gitmem_state/spool" ] || mkdir "$gitmem_state/spool" 2>/dev/null || :
    gitmem_job=$gitmem_state/spool/$$-@EVENT@
    gitmem_busy=
    if [ @EVENT@ = commit ]; then
      # One that nobody has begun yet does for this commit, too: a worker renames it before it begins.
      gitmem_job=${GIT_DIR:-.git}
      gitmem_job=$gitmem_state/spool/commit-${gitmem_job##*/}
      if [ -s "$gitmem_job" ]; then
        # Whoever left it started a worker. While that one starts, or another works, a second has nothing to do.
        for gitmem_by in "$gitmem_state/starter" "$gitmem_state/worker.lock"; do
          if [ -f "$gitmem_by" ] && { read -r gitmem_pid gitmem_rest <"$gitmem_by" && kill -0 "$gitmem_pid"; } 2>/dev/null; then
            gitmem_busy=yes
          fi
        done
        # What has lain there for long outlived them, as over a restart: those are other processes by now.
        [ -z "$gitmem_busy" ] || [ -z "$(find "$gitmem_job" -mmin +5 2>/dev/null)" ] || gitmem_busy=
      fi
    else
      while [ -e "$gitmem_job" ]; do gitmem_job=$gitmem_job-; done
    fi
    # What is there and no file would keep whoever opens it waiting. Where gitmem was not found, nobody would
    # ever take a job away; a later one looks at all that came meanwhile.
    [ -s "$gitmem_job" ] || [ -e @PROGRAM@.missing ] || { [ -e "$gitmem_job" ] && [ ! -f "$gitmem_job" ]; } ||
      { printf 'gitmem-job 1\nevent=%s\nargs=%s\n%sworktree=%s\n' @EVENT@ "$*" "${gitmem_pairs:-}" "$PWD" \
        >"$gitmem_job"; } 2>/dev/null || :
    if [ -z "$gitmem_busy" ] && { [ @EVENT@ = rewrite ] || [ -z "$gitmem_rebase" ]; }; then
      (
        CDPATH='' cd -P "$gitmem_state/.." || exit 0
        if command -v setsid; then exec setsid @COMMAND@ worker --git-dir "$PWD"; fi
        exec @COMMAND@ worker --git-dir "$PWD"
      ) </dev/null >/dev/null 2>&1 &
      if [ -f "$gitmem_state/starter" ] || [ ! -e "$gitmem_state/starter" ]; then
        { printf '%s\n' "$!" >"$gitmem_state/starter"; } 2>/dev/null || :
      fi
    fi
  fi
fi
