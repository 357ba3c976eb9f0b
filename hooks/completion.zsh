#compdef git-mem gitmem
# Completion of gitmem, git-mem and `git mem` for zsh: `git mem completion zsh`.

_git-mem() {
    local line word told
    local -a described
    # For `git mem` zsh's own completion of git has taken the first word away.
    for line in "${(@f)$(_GITMEM_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS="gitmem ${(j: :)words[2,CURRENT]}" gitmem 2>/dev/null)}"; do
        word=${line%%$'\t'*}
        told=
        [[ $line == *$'\t'* ]] && told=${line#*$'\t'}
        [[ -n $word ]] && described+=("${word//:/\\:}${told:+:$told}")
    done
    if (( $#described )); then
        _describe -t gitmem gitmem described
    else
        _files
    fi
}

# Read as a function of its own the first time, sourced otherwise.
if [[ $funcstack[1] == _git-mem ]]; then
    _git-mem "$@"
else
    compdef _git-mem git-mem gitmem
fi
