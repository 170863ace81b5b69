# Completion for fish of mxkvd, mxkv-cli and mxkv-ycsb: subcommands and options as the program's own --help lists them, and
# files where an option or a command takes a value.

# Of a program and its subcommands so far: prints "name<tab>description" of each subcommand, and options.
function __mxkv_words
    $argv --help 2>/dev/null </dev/null | sed -n '
      /^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\)  *\(.*\)/\1\t\2/p
      /^Options:/,/^$/s/^  \(-[a-z],\)\{0,1\}\(--[a-z-]*\).*/\2/p'
end

function __mxkv_valued
    $argv --help 2>/dev/null </dev/null |
        sed -n '/^Options:/,/^$/s/^  \(-[a-z]\)\{0,1\},\{0,1\}\(--[a-z-]*\) [A-Z]\([^a-z].*\)\{0,1\}$/\1\n\2/p'
end

function __mxkv
    set -l given (commandline -opc)
    set -l asked $given[1]
    set -l found (__mxkv_words $asked)
    set -l valued (__mxkv_valued $asked)
    set -l value 0
    for word in $given[2..-1]
        if test $value = 1
            set value 0
        else if string match -q -- '-*' $word
            contains -- $word $valued; and set value 1
        else if contains -- $word (string split -f1 \t -- $found)
            set -a asked $word
            set found (__mxkv_words $asked)
            set -a valued (__mxkv_valued $asked)
        end
    end
    test $value = 1; and return
    printf '%s\n' $found
end

for program in mxkvd mxkv-cli mxkv-ycsb
    complete -c $program -a '(__mxkv)'
end
