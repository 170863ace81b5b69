# Completion for bash of mxkvd, mxkv-cli and mxkv-ycsb: subcommands and options as the program's own --help lists them, and
# files where an option or a command takes a value.

# Of a program and its subcommands so far: prints subcommands and options, or only the options that take a value.
_mxkv_words() {
  "$@" --help 2>/dev/null </dev/null | sed -n '
    /^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p
    /^Options:/,/^$/s/^  \(-[a-z],\)\{0,1\}\(--[a-z-]*\).*/\2/p'
}
_mxkv_valued() {
  "$@" --help 2>/dev/null </dev/null |
    sed -n '/^Options:/,/^$/s/^  \(-[a-z]\)\{0,1\},\{0,1\}\(--[a-z-]*\) [A-Z]\([^a-z].*\)\{0,1\}$/\1 \2/p'
}

_mxkv() {
  local current="${COMP_WORDS[COMP_CWORD]}" word words valued asked=("${COMP_WORDS[0]}") value=0
  COMPREPLY=()
  words=" $(_mxkv_words "${asked[@]}" | tr '\n' ' ') "
  valued=" $(_mxkv_valued "${asked[@]}" | tr '\n' ' ') "
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if ((value)); then
      value=0
    elif [[ "$word" == -* ]]; then
      if [[ "$valued" == *" $word "* ]]; then value=1; fi
    elif [[ "$words" == *" $word "* ]]; then
      asked+=("$word")
      words=" $(_mxkv_words "${asked[@]}" | tr '\n' ' ') "
      valued+="$(_mxkv_valued "${asked[@]}" | tr '\n' ' ') "
    fi
  done
  if ((value)); then return; fi
  if [[ "$current" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current" | grep -v '^-')
  fi
}
complete -o default -F _mxkv mxkvd mxkv-cli mxkv-ycsb
