"""dogpile.cache's own tests of back-ends for mxkv.dogpile. Lies in tests/cache of dogpile.cache's sources while they run."""

import os

from dogpile.cache import register_backend
from dogpile.testing.fixtures import _GenericBackendTestSuite, _GenericMutexTestSuite, _GenericSerializerTestSuite

register_backend("mxkv", "mxkv.dogpile", "MxkvBackend")
ARGUMENTS = {"url": f"127.0.0.1:{os.environ['MXKV_PORT']}", "prefix": "app:", "client": {"timeout": 60}}


class MxkvTest(_GenericBackendTestSuite):
    backend, config_args = "mxkv", {"arguments": ARGUMENTS}


class MxkvDistributedTest(_GenericBackendTestSuite):
    backend, config_args = "mxkv", {"arguments": {**ARGUMENTS, "distributed_lock": True}}


class MxkvDistributedWithTimeoutTest(_GenericBackendTestSuite):
    backend, config_args = "mxkv", {"arguments": {**ARGUMENTS, "distributed_lock": True, "lock_timeout": 1}}


class MxkvMutexTest(_GenericMutexTestSuite):
    backend, config_args = "mxkv", {"arguments": {**ARGUMENTS, "distributed_lock": True}}


class MxkvMutexWithTimeoutTest(_GenericMutexTestSuite):
    backend, config_args = "mxkv", {"arguments": {**ARGUMENTS, "distributed_lock": True, "lock_timeout": 1}}


class MxkvSerializerTest(_GenericSerializerTestSuite, _GenericBackendTestSuite):
    backend, config_args = "mxkv", {"arguments": ARGUMENTS}
