"""Django's memcached backends, on pymemcache and on pylibmc in text mode."""

from common import LARGE, ServerCase, machine, wait_for
import registries


class DjangoCase(ServerCase):
    """A subclass names the backend, and its exception for too large a value."""
    backend: str
    backend_options: dict
    too_large: tuple

    @classmethod
    def setUpClass(cls):
        conf = registries.python_module("django.conf")
        cls.cache_module = registries.python_module("django.core.cache")
        if not conf.settings.configured:
            conf.settings.configure()
        super().setUpClass()

    def setUp(self):
        place = f"127.0.0.1:{self.server.port}"
        settings = {"default": {"BACKEND": f"django.core.cache.backends.memcached.{self.backend}", "LOCATION": [place],
                                "KEY_PREFIX": "site", "OPTIONS": self.backend_options}}
        self.cache = self.cache_module.CacheHandler(settings)["default"]
        self.addCleanup(self.cache.close)
        self.cache.clear()

    def test_basic(self):
        cache = self.cache
        cache.set("k", {"a": [1, None, "\u00e4"]})
        self.assertEqual(cache.get("k"), {"a": [1, None, "\u00e4"]})
        self.assertTrue("k" in cache)
        self.assertFalse(cache.add("k", 1))
        self.assertTrue(cache.add("new", 1))
        self.assertTrue(cache.delete("k"))
        self.assertFalse(cache.delete("k"))
        self.assertEqual(cache.get("k", "missing"), "missing")

    def test_none_is_a_value(self):
        self.cache.set("nothing", None)
        self.assertIsNone(self.cache.get("nothing", "missing"))

    def test_many(self):
        values = {f"many{number}": number for number in range(300)}
        self.assertEqual(self.cache.set_many(values), [])
        self.assertEqual(self.cache.get_many([*values, "absent"]), values)
        self.cache.delete_many(values)
        self.assertEqual(self.cache.get_many(values), {})

    def test_counters(self):
        self.cache.set("n", 41)
        self.assertEqual(self.cache.incr("n"), 42)
        self.assertEqual(self.cache.decr("n", 2), 40)
        with self.assertRaises(ValueError):
            self.cache.incr("absent")

    def test_get_or_set_calls_once(self):
        calls = []
        for _ in range(3):
            self.assertEqual(self.cache.get_or_set("made", lambda: calls.append(1) or "value", 100), "value")
        self.assertEqual(len(calls), 1)

    def test_timeouts_and_touch(self):
        cache = self.cache
        cache.set("short", 1, timeout=1)
        cache.set("kept", 1, timeout=1)
        cache.set("for_ever", 1, timeout=None)
        cache.set("never", 1, timeout=0)
        self.assertTrue(cache.touch("kept", 1000))
        self.assertFalse(cache.touch("absent", 1000))
        self.assertIsNone(cache.get("never"))
        cache.set("long", 1, timeout=90 * 24 * 3600)  # beyond 30 days Django sends a point in time
        wait_for(lambda: cache.get("short") is None, "the short-lived key is gone")
        self.assertEqual(cache.get_many(["kept", "for_ever", "long"]), {"kept": 1, "for_ever": 1, "long": 1})

    def test_versions_of_a_key(self):
        self.cache.set("k", "one", version=1)
        self.cache.set("k", "two", version=2)
        self.assertEqual([self.cache.get("k", version=number) for number in (1, 2, 3)], ["one", "two", None])
        self.assertEqual(self.cache.incr_version("k", version=2), 3)
        self.assertEqual(self.cache.get("k", version=3), "two")

    def test_values_that_are_too_large_are_not_kept(self):
        self.cache.set("large", LARGE)
        self.assertEqual(self.cache.get("large"), LARGE)
        try:
            self.cache.set("large", b"x" * (2 << 20))
        except self.too_large:
            pass
        self.assertIsNone(self.cache.get("large"), "and the old value is gone")


@machine.needs(machine.long_only())
class PyMemcacheTest(DjangoCase):
    too_large = ()
    backend = "PyMemcacheCache"
    backend_options = {"no_delay": True, "ignore_exc": True, "max_pool_size": 4, "use_pooling": True}


@machine.needs(machine.long_only())
class PyLibMCTest(DjangoCase):
    backend = "PyLibMCCache"

    @property
    def too_large(self):
        return registries.python_module("pylibmc").TooBig

    backend_options = {"binary": False, "behaviors": {"ketama": True, "tcp_nodelay": True}}


del DjangoCase  # it is no test of its own

if __name__ == "__main__":
    machine.main()
