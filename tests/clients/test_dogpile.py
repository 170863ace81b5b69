"""dogpile.cache's memcached backends, by text and by the binary protocol: regions, and the lock that lets one of many create a value."""

import threading
import time

from common import LARGE, ServerCase, machine, wait_for
import registries


class DogpileCase(ServerCase):
    """A subclass names the backend."""
    backend: str
    arguments: dict

    @classmethod
    def setUpClass(cls):
        cls.dogpile = registries.python_module("dogpile.cache")
        cls.no_value = registries.python_module("dogpile.cache.api").NO_VALUE
        super().setUpClass()

    def setUp(self):
        self.connect().ask(b"flush_all")

    def region(self, **arguments):
        where = [("127.0.0.1", self.server.port)] if self.backend == "pymemcache" else [f"127.0.0.1:{self.server.port}"]
        return self.dogpile.make_region(key_mangler=lambda key: "app:" + key).configure(
            f"dogpile.cache.{self.backend}", arguments={"url": where} | self.arguments | arguments)

    def test_set_get_delete(self):
        region = self.region()
        self.assertIs(region.get("k"), self.no_value)
        region.set("k", {"a": [1, None]})
        self.assertEqual(region.get("k"), {"a": [1, None]})
        region.delete("k")
        self.assertIs(region.get("k"), self.no_value)

    def test_many(self):
        region = self.region()
        values = {f"many{number}": number for number in range(300)}
        region.set_multi(values)
        self.assertEqual(region.get_multi([*values, "absent"]), [*values.values(), self.no_value])
        region.delete_multi(list(values))
        self.assertEqual(region.get_multi(["many1", "many2"]), [self.no_value] * 2)

    def test_a_lifetime_that_the_server_keeps(self):
        region = self.region(memcached_expire_time=1)
        region.set("short", "v")
        wait_for(lambda: region.get("short") is self.no_value, "the short-lived key is gone")

    def test_large_values(self):
        region = self.region()
        value = LARGE[:200_000]  # python-memcached pickles it as text, up to four times as long
        region.set("large", value)
        self.assertEqual(region.get("large"), value)

    def test_of_many_threads_one_creates(self):
        calls, results, together = [], [], threading.Barrier(6)

        def create():
            calls.append(threading.get_ident())
            time.sleep(0.3)  # long enough for the others to find the lock taken
            return "made"

        def work():
            region = self.region(distributed_lock=True, lock_timeout=60)
            together.wait()
            results.append(region.get_or_create("slow", create))

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((results, len(calls)), (["made"] * 6, 1))

    def test_decorated_functions(self):
        calls = []

        @self.region().cache_on_arguments()
        def double(number):
            calls.append(number)
            return number * 2

        self.assertEqual([double(2), double(2), double(3)], [4, 4, 6])
        double.invalidate(2)
        self.assertEqual([double(2), calls], [4, [2, 3, 2]])


@machine.needs(machine.long_only())
class PylibmcTest(DogpileCase):
    backend, arguments = "pylibmc", {"binary": False, "behaviors": {"tcp_nodelay": True}}


@machine.needs(machine.long_only())
class MemcachedTest(DogpileCase):
    backend, arguments = "memcached", {}


@machine.needs(machine.long_only())
class PymemcacheTest(DogpileCase):
    backend, arguments = "pymemcache", {}


@machine.needs(machine.long_only())
class BmemcachedTest(DogpileCase):
    backend, arguments = "bmemcached", {}
    test_a_lifetime_that_the_server_keeps = None  # this backend passes none on


del DogpileCase  # it is no test of its own

if __name__ == "__main__":
    machine.main()
