# Completion of gitmem, git-mem and `git mem` for bash: `git mem completion bash`.

_gitmem_ask() { # the words of the line; the last one is the one at the cursor
    local IFS=$'\n'
    COMPREPLY=($(env COMP_WORDS="$*" COMP_CWORD=$(($# - 1)) _GITMEM_COMPLETE=complete_bash gitmem 2>/dev/null))
}

_gitmem() {
    _gitmem_ask gitmem "${COMP_WORDS[@]:1:COMP_CWORD}"
}

# Called by git's own completion, which has set `words` and `cword`, and adds no space.
_git_mem() {
    local at=1
    while [ "$at" -lt "$cword" ] && [ "${words[at]}" != mem ]; do at=$((at + 1)); done
    _gitmem_ask gitmem "${words[@]:at+1:cword-at}"
    COMPREPLY=("${COMPREPLY[@]/%/ }")
}

complete -o default -F _gitmem gitmem git-mem
