"""Flask-Caching's own tests of back-ends for mxkv.flask_caching. Lies in tests of Flask-Caching's sources while they run."""

import os

import flask
import flask_caching
import pytest
from test_backend_cache import GenericCacheTests


class TestMxkvCache(GenericCacheTests):
    _can_use_fast_sleep = False

    @pytest.fixture
    def make_cache(self):
        app = flask.Flask("app")
        cache = flask_caching.Cache(app, config={"CACHE_TYPE": "mxkv.flask_caching.cache", "CACHE_KEY_PREFIX": "app:",
                                                 "CACHE_MXKV_SERVERS": f"127.0.0.1:{os.environ['MXKV_PORT']}"})
        with app.app_context():
            yield lambda: cache.cache
            cache.clear()
