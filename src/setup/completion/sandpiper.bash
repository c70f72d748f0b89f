# sandpiper.bash - completion for bash. The program itself says what fits (from its table of options), so this never lags behind it.

_sandpiper() {
    local program=${COMP_WORDS[0]} line=${COMP_LINE:0:${COMP_POINT:-0}} typed head word
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    typed=${words[-1]}
    head=${typed%"${typed##*[:=@]}"}     # bash cuts words at these, and replaces what is behind the last
    COMPREPLY=()
    while IFS= read -r word; do
        case $word in
        $'\tfile') compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${typed#"$head"}") ;;
        $'\tfolder') compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "${typed#"$head"}") ;;
        *) word=${word%%$'\t'*}; COMPREPLY+=("${word#"$head"}") ;;
        esac
    done < <("$program" debug complete "${words[@]:1}" 2>/dev/null)
}
complete -F _sandpiper sandpiper
