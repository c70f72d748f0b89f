# sandpiper.fish - completion for fish. The program itself says what fits (from its table of options), so this never lags behind it.

function __sandpiper_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for word in (command $words[1] debug complete $words[2..-1] "$typed" 2>/dev/null)
        switch $word
            case \tfile
                __fish_complete_path "$typed"
            case \tfolder
                __fish_complete_directories "$typed"
            case '*'
                printf '%s\n' $word
        end
    end
end
complete -c sandpiper -f -a '(__sandpiper_complete)'
