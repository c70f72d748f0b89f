# sandpiper.bash - completion for bash. The words come from the program's own help, so they never lag behind it.

# The models that were listed within a day; nothing is asked for. A service names them, so compgen -W, which expands what it is given, must not
# see them, nor the command line what a shell would read otherwise than as a word. bash cuts words at : = and @, which names have.
_sandpiper_models() {
    local program=$1 line=${COMP_LINE:0:${COMP_POINT:-0}} whole=$2 head name i
    local -a parts=("${COMP_WORDS[@]:0:COMP_CWORD}") endpoint=() names=()
    if [[ -n $line ]]; then
        whole=${line##*[[:space:]]}
        read -ra parts <<<"${line%"$whole"}"
    fi
    case ${parts[-1]} in -m|--model) ;; *) return 1 ;; esac
    for ((i = 1; i + 1 < ${#parts[@]}; i++)); do
        case ${parts[i]} in --provider|--base-url|--config) endpoint+=("${parts[i]}" "${parts[i+1]}") ;; esac
    done
    head=${whole%"${whole##*[:=@]}"}
    mapfile -t names < <("$program" models --offline "${endpoint[@]}" 2>/dev/null | sed '1d; s/ .*//' | grep -x '[A-Za-z0-9@._:/~+-]*')
    for name in "${names[@]}"; do
        [[ $name == "$whole"* ]] && COMPREPLY+=("${name#"$head"}")
    done
    return 0
}

_sandpiper() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} program=${COMP_WORDS[0]} page=all
    COMPREPLY=()
    _sandpiper_models "$program" "$word" && return
    case $before in
    --add|--ca-cert|--config|--trace|--record|--replay) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --out) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    --sandbox-name|rm) mapfile -t COMPREPLY < <(compgen -W "$("$program" ps 2>/dev/null | sed -n '2,$s/ .*//p')" -- "$word") ;;
    --sandbox)
        mapfile -t COMPREPLY < <(compgen -W "auto docker podman bwrap $("$program" config 2>/dev/null |
            sed -n 's/^  \([a-z0-9_-]*\): {start: .*/\1/p')" -- "$word") ;;
    --stdin) mapfile -t COMPREPLY < <(compgen -W "auto data ignore script" -- "$word") ;;
    --reasoning-effort) mapfile -t COMPREPLY < <(compgen -W "none minimal low medium high xhigh max" -- "$word") ;;
    --api) mapfile -t COMPREPLY < <(compgen -W "chat_completions responses workers_ai" -- "$word") ;;
    --color) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word") ;;
    --figures) mapfile -t COMPREPLY < <(compgen -W "auto off" -- "$word") ;;
    --dialect) mapfile -t COMPREPLY < <(compgen -W "auto native blocks" -- "$word") ;;
    --dotenv) mapfile -t COMPREPLY < <(compgen -W "ask allow ignore" -- "$word") ;;
    help) mapfile -t COMPREPLY < <(compgen -W "all exec config doctor models ps rm gc debug" -- "$word") ;;
    debug) mapfile -t COMPREPLY < <(compgen -W "reply request" -- "$word") ;;
    *)
        if [[ $word == -* ]]; then
            case ${COMP_WORDS[1]} in exec|config|doctor|models|ps|rm|gc) page=${COMP_WORDS[1]} ;; esac
            mapfile -t COMPREPLY < <(compgen -W "$("$program" help "$page" 2>/dev/null | grep -o -- '^  .\{4\}--[a-z-]*' | grep -o -- '--.*')" -- "$word")
        elif [[ $before == exec ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        elif [[ $COMP_CWORD == 1 ]]; then
            mapfile -t COMPREPLY < <(compgen -W "exec config debug doctor models ps rm gc help" -- "$word")
        fi ;;
    esac
}
complete -o default -F _sandpiper sandpiper
