#!/bin/sh
# Starts gitmem for the hooks of every repository. `git mem init` writes this file; the worker writes it anew
# where what it starts is gone.
for gitmem_package in @PACKAGE@; do
  if [ -f "$gitmem_package" ] && [ -x @PYTHON@ ]; then exec @PYTHON@ -E -P -m gitmem "$@"; fi
done
# The environment moved or went: the command that is installed now does as well. Not `gitmem`, which may be
# another project's.
for gitmem_found in "$(command -v git-mem)" "$HOME/.local/bin/git-mem"; do
  case $gitmem_found in
  /*) if [ -f "$gitmem_found" ] && [ -x "$gitmem_found" ]; then exec "$gitmem_found" "$@"; fi ;;
  esac
done
# `status` says since when. Hooks leave no jobs meanwhile; what they would have told is found again later.
[ -e "$0.missing" ] || : >"$0.missing"
exit 127
