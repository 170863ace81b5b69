"""The server answers mn when all requests before it have taken effect, including those without a reply."""

import threading

from harness import ServerCase, mxkv_only, scaled

_KEYS = 40


class NoopTest(ServerCase):
    @mxkv_only("mt, which holds the keys meanwhile")
    def test_writes_without_an_answer_are_seen_by_others_once_mn_is_answered(self):
        stop = threading.Event()
        holder, writer, reader = self.connect(), self.connect(), self.connect()

        def hold_keys():
            while not stop.is_set():
                holder.send(b"mt - T0\r\n" * 5)
                for _ in range(5):
                    holder.line()

        thread = threading.Thread(target=hold_keys)
        thread.start()
        try:
            for number in range(scaled(100)):
                keys = [b"n%d-%d" % (number, i) for i in range(_KEYS)]
                writer.send(b"".join(b"set %s 0 0 1 noreply\r\nv\r\n" % key for key in keys) + b"mn\r\n")
                self.assertEqual(writer.line(), b"MN")
                reader.send(b"get " + b" ".join(keys) + b"\r\n")
                found = 0
                while (line := reader.line()) != b"END":
                    found += line.startswith(b"VALUE")
                self.assertEqual(found, _KEYS)
        finally:
            stop.set()
            thread.join()
