"""mb: the lines of a batch take effect as a whole or not at all; the answer names the line that failed, and the reason."""

from classic import Op


def _run_batch(store, lines):
    before = {key: store.items[key].copy() for key in {line.key for line in lines} if key in store.items}
    pieces = []
    for number, line in enumerate(lines):
        run, *args = line.args
        failed, reply = run(store, *args, True)
        if failed:
            for key in {other.key for other in lines}:
                store.remove(key)
                if key in before:
                    store.put(key, before[key])
            return b"EX %d %s\r\n" % (number + 1, failed.encode())
        pieces += [reply] if type(reply) is bytes else reply
    return pieces + [b"HD\r\n"]


def batch(lines) -> Op:
    """`lines`: Ops of meta()."""
    return Op(b"mb %d\r\n" % len(lines) + b"".join(line.wire for line in lines), _run_batch, (lines,),
              lines[0].key if lines else b"")
