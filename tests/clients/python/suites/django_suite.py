"""Django's own tests of cache back-ends for mxkv.django. Lies in tests/cache of Django's sources while they run.

Two things differ from what Django expects. Its tests' clear() empties the server; ours deletes the keys of one version, so the
second version that they use is cleared, too. Tests of culling are skipped, as for memcached.
"""

import os

import mxkv
from cache.tests import BaseCacheTests, caches_setting_for_tests
from django.core.cache import cache
from django.test import TestCase, override_settings

SETTINGS = {"BACKEND": "mxkv.django.MxkvCache", "LOCATION": f"127.0.0.1:{os.environ['MXKV_PORT']}", "OPTIONS": {"timeout": 60}}


@override_settings(CACHES=caches_setting_for_tests(base=SETTINGS, exclude={"cull", "zero_cull"}))
class MxkvCacheTests(BaseCacheTests, TestCase):
    incr_decr_type_error = mxkv.ClientError

    def tearDown(self):
        super().tearDown()
        cache.clear(version=2)
