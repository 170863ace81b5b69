"""The back-ends of frameworks, each where its framework is installed. Needs a server that may be emptied, at MXKV_PORT of 127.0.0.1.

The frameworks' own tests of caches are run by the project's tests.
"""

import asyncio
import importlib.util
import os
import threading
import unittest

import mxkv

PORT = os.environ.get("MXKV_PORT")
SERVER = f"127.0.0.1:{PORT}"


def needs(*names):
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return unittest.skipUnless(PORT and not missing, f"not installed: {', '.join(missing)}" if missing else "MXKV_PORT names no server")


class FrameworkCase(unittest.TestCase):
    def setUp(self):
        self.client = mxkv.Client(SERVER, timeout=60, connect_timeout=60)
        self.addCleanup(self.client.close)
        self.client.delete_range(mxkv.Range())

    def keys(self) -> list:
        return list(self.client.scan(values=False))


@needs("django")
class DjangoTest(FrameworkCase):
    def cache(self, **settings):
        from django.conf import settings as all_settings
        from django.core.cache import CacheHandler
        if not all_settings.configured:
            all_settings.configure()
        common = {"BACKEND": "mxkv.django.MxkvCache", "LOCATION": SERVER, "OPTIONS": {"timeout": 60}}
        return CacheHandler({"default": {**common, **settings}})["default"]

    def test_keys_and_values_are_those_of_pymemcache_cache(self):
        theirs = self.cache(BACKEND="django.core.cache.backends.memcached.PyMemcacheCache", OPTIONS={}, KEY_PREFIX="site")
        self.addCleanup(theirs.close)
        ours = self.cache(KEY_PREFIX="site")
        values = {"text": "ü", "bytes": b"\xff", "number": 7, "none": None, "object": {"a": [1, True]}}
        theirs.set_many(values)
        self.assertEqual(ours.get_many(values), values)
        ours.set_many(values)
        self.assertEqual(theirs.get_many(values), values)

    def test_clear_deletes_the_keys_of_one_prefix_and_version(self):
        one, other, later = self.cache(KEY_PREFIX="site"), self.cache(KEY_PREFIX="site2"), self.cache(KEY_PREFIX="site", VERSION=10)
        for cache in (one, other, later):
            cache.set("k", 1)
        self.client.set("elsewhere", "x")
        one.clear()
        self.assertEqual(self.keys(), [b"elsewhere", b"site2:1:k", b"site:10:k"])
        one.clear(version=10)
        self.assertEqual(self.keys(), [b"elsewhere", b"site2:1:k"])

    def test_prefixes_and_patterns_delete_within_a_version(self):
        cache = self.cache(KEY_PREFIX="site")
        for version in (1, 2):
            cache.set_many({f"user:{number}:{part}": 1 for number in range(3) for part in ("a", "b")}, version=version)
        self.assertEqual([cache.delete_prefix("user:1:"), cache.delete_pattern("user:*:a"), cache.delete_pattern("user:*", version=2)], [2, 2, 6])
        self.assertEqual(self.keys(), [b"site:1:user:0:b", b"site:1:user:2:b"])
        self.assertEqual(asyncio.run(cache.adelete_prefix("user:0")) + asyncio.run(cache.adelete_pattern("*r:2*")), 2)

    def test_a_key_function_must_put_the_key_last(self):
        first = self.cache(KEY_FUNCTION=lambda key, prefix, version: f"{key}@{version}")
        first.set("k", 1)
        with self.assertRaises(ValueError):
            first.clear()
        self.assertEqual(self.keys(), [b"k@1"])
        last = self.cache(KEY_FUNCTION=lambda key, prefix, version: f"v{version}/{key}")
        last.set("k", 1)
        last.clear()
        self.assertEqual(self.keys(), [b"k@1"])

    def test_asynchronous_counts_are_atomic(self):
        cache = self.cache()
        cache.set("n", 0)

        async def count() -> None:
            await asyncio.gather(*(cache.aincr("n") for _ in range(50)))
            self.assertEqual(await cache.aget_many(["n", "absent"]), {"n": 50})
            await cache.aset_many({"a": 1, "b": 2})
            await cache.adelete_many(["a", "n"])
            self.assertEqual(await cache.aget("b"), 2)
            await cache.aclear()
        asyncio.run(count())
        self.assertEqual(self.keys(), [])

    def test_threads_share_the_connections(self):
        before = int(self.client.stats()[b"total_connections"])
        for _ in range(20):
            thread = threading.Thread(target=lambda: self.cache(KEY_PREFIX="shared").set("k", 1))
            thread.start()
            thread.join()
        self.assertLessEqual(int(self.client.stats()[b"total_connections"]) - before, 1)


@needs("cachelib")
class CachelibTest(FrameworkCase):
    def cache(self, **arguments):
        from mxkv.cachelib import MxkvCache
        return MxkvCache(SERVER, timeout=60, **arguments)

    def test_clear_prefixes_and_patterns_delete_within_the_prefix(self):
        cache, other = self.cache(key_prefix="a:"), self.cache()
        cache.set_many({f"user:{number}": number for number in range(10)})
        other.set("user:1", 1)
        self.assertEqual([cache.delete_prefix("user:1"), cache.delete_pattern("*:[2-4]")], [1, 3])
        cache.clear()
        self.assertEqual(self.keys(), [b"user:1"])
        other.clear()
        self.assertEqual(self.keys(), [])

    def test_times_to_live(self):
        cache = self.cache(default_timeout=100)
        cache.set("default", 1)
        cache.set("own", 1, 1000)
        cache.set("ever", 1, 0)
        cache.inc("counter", 5)
        found = {item.key: item.ttl for item in self.client.items()}
        self.assertIsNone(found[b"ever"])
        for key, most in ((b"default", 100), (b"own", 1000), (b"counter", 100)):
            self.assertTrue(most - 60 < found[key] <= most, found)


@needs("flask_caching")
class FlaskCachingTest(FrameworkCase):
    def test_an_application_caches_and_forgets_by_prefix(self):
        import flask
        import flask_caching
        app = flask.Flask("app")
        cache = flask_caching.Cache(app, config={
            "CACHE_TYPE": "mxkv.flask_caching.cache", "CACHE_MXKV_SERVERS": SERVER, "CACHE_KEY_PREFIX": "app:", "CACHE_OPTIONS": {"timeout": 60}})
        calls = []

        @app.route("/<name>")
        @cache.cached()
        def page(name):
            calls.append(name)
            return name
        self.client.set("elsewhere", "x")
        visitor = app.test_client()
        self.assertEqual([visitor.get(path).text for path in ("/a", "/a", "/b")], ["a", "a", "b"])
        self.assertEqual(calls, ["a", "b"])
        with app.app_context():
            self.assertEqual(cache.cache.delete_prefix("view//a"), 1)
        self.assertEqual([visitor.get(path).text for path in ("/a", "/b")], ["a", "b"])
        self.assertEqual(calls, ["a", "b", "a"])
        with app.app_context():
            cache.clear()
        self.assertEqual(self.keys(), [b"elsewhere"])


@needs("dogpile")
class DogpileTest(FrameworkCase):
    def region(self, invalidating=False, **arguments):
        from dogpile.cache import make_region
        from mxkv.dogpile import DeletingInvalidation
        region = make_region()
        more = {"region_invalidator": DeletingInvalidation(region)} if invalidating else {}
        return region.configure("mxkv", arguments={"url": SERVER, "client": {"timeout": 60}, **arguments}, **more)

    @classmethod
    def setUpClass(cls):
        from dogpile.cache import register_backend
        register_backend("mxkv", "mxkv.dogpile", "MxkvBackend")  # which installing the package does

    def test_invalidation_deletes_the_regions_keys_for_all_processes(self):
        one, other = self.region(True, prefix="app:"), self.region(prefix="app:")
        one.set_multi({f"user:{number}": number for number in range(5)})
        self.client.set("elsewhere", "x")
        self.assertEqual(other.get("user:1"), 1)
        self.assertEqual([other.backend.delete_prefix("user:1"), other.backend.delete_pattern("*:[23]")], [1, 2])
        one.invalidate()
        self.assertEqual(self.keys(), [b"elsewhere"])
        one.set("user:1", 2)
        self.assertEqual([one.get("user:1"), other.get("user:1")], [2, 2])

    def test_a_region_without_a_prefix_is_not_invalidated(self):
        region = self.region(True)
        region.set("k", 1)
        with self.assertRaises(mxkv.ClientError):
            region.invalidate()
        self.assertEqual(region.get("k"), 1)

    def test_a_late_owner_does_not_end_the_lock_of_the_next_one(self):
        backend = self.region(prefix="app:", distributed_lock=True, lock_timeout=1000).backend
        late, next_ = backend.get_mutex("k"), backend.get_mutex("k")
        self.assertTrue(late.acquire(False))
        self.assertFalse(next_.acquire(False))
        self.client.delete("app:_lock:k")  # its time ends
        self.assertTrue(next_.acquire(False))
        late.release()
        self.assertTrue(next_.locked())
        next_.release()
        self.assertFalse(late.locked())


if __name__ == "__main__":
    unittest.main()
