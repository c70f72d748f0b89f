# sandpiper.bash - completion for bash. The program itself says what fits (from its table of options), so this never lags behind it.

_sandpiper() {
    local program=${COMP_WORDS[0]} line=${COMP_LINE:0:${COMP_POINT:-0}} typed head word i
    local -a words about
    # shellcheck disable=SC2162 # without -r: a blank behind a backslash is part of its word
    read -a words <<<"$line"
    [[ $line == *[[:space:]] && $line != *\\[[:space:]] ]] && words+=("")
    typed=${words[-1]}
    head=${typed%"${typed##*[:=@]}"}     # bash cuts words at these, and replaces what is behind the last
    COMPREPLY=()
    while IFS= read -r word; do
        case $word in
        $'\tfile') compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${typed#"$head"}") ;;
        $'\tfolder') compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "${typed#"$head"}") ;;
        *) about[${#COMPREPLY[@]}]=${word#*$'\t'}; word=${word%%$'\t'*}; COMPREPLY+=("${word#"$head"}") ;;
        esac
    done < <("$program" debug complete "${words[@]:1}" 2>/dev/null)
    (( ${#COMPREPLY[@]} > 1 )) || return 0
    for i in "${!COMPREPLY[@]}"; do      # IDs of sessions say nothing by themselves: their titles stand beside them in the list
        [[ ${COMPREPLY[i]} =~ ^[0-9a-f]{8}$ ]] && COMPREPLY[i]+="  ${about[i]}"
    done
}
complete -F _sandpiper sandpiper
