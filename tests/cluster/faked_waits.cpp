// Loaded before libfaketime, for nodes whose clocks differ: C11's timed wait, which libfaketime leaves alone, becomes the
// one of pthread, which it turns back into the machine's time. librdkafka waits so: without this for as long as the
// faked date is ahead, and not at all where it is behind.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <ctime>

/// In glibc, C11's condition and mutex are those of pthread by another name.
extern "C" int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  switch (pthread_cond_timedwait(reinterpret_cast<pthread_cond_t*>(condition),
                                 reinterpret_cast<pthread_mutex_t*>(mutex), until)) {
    case 0:
      return thrd_success;
    case ETIMEDOUT:
      return thrd_timedout;
    default:
      return thrd_error;
  }
}
