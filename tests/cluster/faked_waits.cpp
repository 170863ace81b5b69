// Loaded before libfaketime, for nodes with faked clocks. libfaketime leaves C11's timed wait alone; this file replaces it
// by pthread's timed wait, whose time libfaketime turns back into the machine's. librdkafka uses the C11 wait: otherwise it
// would wait for as long as the faked date is ahead, and not at all if it is behind.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <ctime>

/// In glibc, C11's conditions and mutexes are pthread's under another name.
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
