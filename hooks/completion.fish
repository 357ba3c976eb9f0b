# Completion of gitmem, git-mem and `git mem` for fish: `git mem completion fish`.

function __gitmem_complete
    set -l words (commandline -opc)
    if test "$words[1]" = git
        while test (count $words) -gt 1; and test "$words[1]" != mem
            set -e words[1]
        end
    end
    set -e words[1]
    set -l given gitmem $words (commandline -ct)
    env _GITMEM_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS="$given" gitmem 2>/dev/null
end

complete -c gitmem -f -a '(__gitmem_complete)'
complete -c git-mem -f -a '(__gitmem_complete)'
complete -c git -n __fish_git_needs_command -f -a mem -d 'What coding agents learn, kept in git'
complete -c git -n '__fish_git_using_command mem' -f -a '(__gitmem_complete)'
