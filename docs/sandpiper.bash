# sandpiper.bash - completion for bash. The words come from the program's own help, so they never lag behind it.
_sandpiper() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} program=${COMP_WORDS[0]} page=all
    case $before in
    --add|--ca-cert|--config|--trace|--record|--replay) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --out) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    --sandbox-name|rm) mapfile -t COMPREPLY < <(compgen -W "$("$program" ps 2>/dev/null | sed -n '2,$s/ .*//p')" -- "$word") ;;
    --sandbox) mapfile -t COMPREPLY < <(compgen -W "auto docker podman bwrap" -- "$word") ;;
    --stdin) mapfile -t COMPREPLY < <(compgen -W "auto data ignore script" -- "$word") ;;
    --reasoning-effort) mapfile -t COMPREPLY < <(compgen -W "none minimal low medium high xhigh max" -- "$word") ;;
    --api) mapfile -t COMPREPLY < <(compgen -W "chat_completions responses workers_ai" -- "$word") ;;
    --color) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word") ;;
    --dialect) mapfile -t COMPREPLY < <(compgen -W "auto native blocks" -- "$word") ;;
    help) mapfile -t COMPREPLY < <(compgen -W "all exec config doctor ps rm gc debug" -- "$word") ;;
    debug) mapfile -t COMPREPLY < <(compgen -W "reply request" -- "$word") ;;
    *)
        if [[ $word == -* ]]; then
            case ${COMP_WORDS[1]} in exec|config|doctor|ps|rm|gc) page=${COMP_WORDS[1]} ;; esac
            mapfile -t COMPREPLY < <(compgen -W "$("$program" help "$page" 2>/dev/null | grep -o -- '^  .\{4\}--[a-z-]*' | grep -o -- '--.*')" -- "$word")
        elif [[ $before == exec ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        elif [[ $COMP_CWORD == 1 ]]; then
            mapfile -t COMPREPLY < <(compgen -W "exec config debug doctor ps rm gc help" -- "$word")
        fi ;;
    esac
}
complete -o default -F _sandpiper sandpiper
