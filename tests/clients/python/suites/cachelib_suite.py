"""cachelib's own tests of caches for mxkv.cachelib. Lies in tests of cachelib's sources while they run."""

import os

import pytest
from clear import ClearTests
from common import CommonTests
from delete_many_with_prefix import DeleteManyWithPrefixTests
from has import HasTests
from mxkv.cachelib import MxkvCache


@pytest.fixture(autouse=True)
def cache_factory(request, key_prefix):
    def make(self, *args, **kwargs):
        found = MxkvCache(f"127.0.0.1:{os.environ['MXKV_PORT']}", *args, **{"timeout": 60, "key_prefix": key_prefix, **kwargs})
        found.clear()
        return found

    request.cls.cache_factory = make


class TestMxkvCache(CommonTests, ClearTests, HasTests, DeleteManyWithPrefixTests):
    pass
