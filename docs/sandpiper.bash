# sandpiper.bash - completion for bash. The words come from "sandpiper --help", so they never lag behind the program.
_sandpiper() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} program=${COMP_WORDS[0]}
    case $before in
    --add|--config|--trace|--record|--replay|exec) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --out) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    --sandbox) mapfile -t COMPREPLY < <(compgen -W "auto docker podman bwrap" -- "$word") ;;
    --stdin) mapfile -t COMPREPLY < <(compgen -W "auto data ignore" -- "$word") ;;
    --reasoning-effort) mapfile -t COMPREPLY < <(compgen -W "none minimal low medium high xhigh max" -- "$word") ;;
    --color) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word") ;;
    --dialect) mapfile -t COMPREPLY < <(compgen -W "auto native blocks" -- "$word") ;;
    debug) mapfile -t COMPREPLY < <(compgen -W "reply request" -- "$word") ;;
    *)
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$("$program" --help 2>/dev/null | grep -o -- '^  .\{4\}--[a-z-]*' | grep -o -- '--.*')" -- "$word")
        elif [[ $COMP_CWORD == 1 ]]; then
            mapfile -t COMPREPLY < <(compgen -W "exec config debug doctor gc" -- "$word")
        fi ;;
    esac
}
complete -o default -F _sandpiper sandpiper
