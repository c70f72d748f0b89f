# shell.py - part of the supervisor, compiled when first needed: the language shell, a bash that stays. Its
# directory, variables and functions live from cell to cell. An interrupt, and a failure under set -e, end the
# cell and not the shell: from then on each command is skipped, and each function returned from, until the
# cell is over (a DEBUG trap that says 2, with extdebug). set -e, -u and -x hold for their cell.

# TELL, WORDS and CODE are KERNEL_FDS. Messages of bash call what it reads from stdin "main". The first
# function is one line, so that a cell's lines count from 1.
SHELL_TEXT = r'''__sp_run() { eval "$__sp_code"; }
__sp_out() { ((${#FUNCNAME[@]} < 2)) || return 2; }
__sp_stop() { __sp_stopped=$1; set +e; shopt -s extdebug; set -T; trap __sp_out DEBUG; }
trap '__sp_status=$?; case $- in *e*) __sp_stop $__sp_status ;; esac' ERR
exec 63>&1 64>&2
while :; do
    IFS= read -r -u TELL __sp_nonce || { (($? > 128)) && continue; exit 0; }
    trap - DEBUG; shopt -u extdebug; set +T -E      # -u of extdebug changes both
    trap '__sp_stop 130' INT
    __sp_stopped=
    exec 1>&63 2>&64
    IFS= read -r -d '' __sp_code </proc/self/fd/CODE
    : >/proc/self/fd/CODE
    __sp_run </dev/null
    { __sp_status=$?; set +euxvT; trap - DEBUG; shopt -u extdebug; } 2>/dev/null
    printf "$__sp_nonce"'R\3\0\0\0%03d' "${__sp_stopped:-$__sp_status}" >&WORDS
done
'''


def quote(word):
    return b"'" + word.replace(b"'", b"'\\''") + b"'"


class Shell:
    words = [b'bash', b'--noprofile', b'--norc', b'-s']
    stop = b''

    def __init__(self, tell, words, code):
        text = SHELL_TEXT.replace('TELL', str(tell)).replace('WORDS', str(words)).replace('CODE', str(code))
        self.text = text.encode()

    @staticmethod
    def before(stdin, arguments):
        """What goes before the code, in its first line."""
        text = b'exec <' + quote(stdin) + b'; ' if stdin else b''
        if arguments[1:] or arguments and arguments[0] not in (b'', b'-', b'-c'):
            name, *rest = map(quote, arguments)
            text += b'BASH_ARGV0=%s; set -- %s; ' % (name, b' '.join(rest))
        return text

    @staticmethod
    def result(said):
        """Tagged, as the worker has it."""
        status = int(said) if len(said) == 3 and said.isdigit() else 255
        return tlv(b's', b'exit') + tlv(b'x', b'%d' % status) if status else tlv(b's', b'ok')
