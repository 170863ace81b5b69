#include "server/net/users/credentials.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace mxkv::server {

namespace {
/// The digests of an unknown user: no password has this digest.
constexpr std::array<PasswordDigest, 1> kNobodysDigests{};

std::uint64_t in_ms(std::chrono::steady_clock::time_point time) noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}
}  // namespace

void Credentials::replace(std::vector<config::UserOptions> users) {
  const std::scoped_lock lock{mutex_};
  StringMap<PasswordDigest> kept;
  for (const config::UserOptions& user : users) {
    if (const auto at = verified_.find(user.password); user.hashed && at != verified_.end()) {
      kept.insert(*at);
    }
  }
  verified_ = std::move(kept);
  users_ = Users{std::move(users), digester_, &users_};
  required_.store(true, std::memory_order_relaxed);
}

bool Credentials::split(std::string_view block, Login::Claim& claim) {
  const std::size_t space = block.find(' ');
  if (space == std::string_view::npos) {
    return false;
  }
  claim.user = block.substr(0, space);
  claim.password = block.substr(space + 1);
  return true;
}

std::shared_ptr<const Login> Credentials::log_in(Login::Claim claim, LoginBell* bell) {
  commands_.fetch_add(1, std::memory_order_relaxed);
  auto login = std::make_shared<Login>(std::move(claim));
  login->bell_ = bell;
  std::unique_lock lock{mutex_};
  const std::uint64_t now_ms = in_ms(Clock::now());
  const std::uint32_t delay = delays_.delay_ms(login->claim_.client, login->claim_.failures, now_ms);
  std::shared_ptr<const User> user;
  const look found = delay != 0 ? look::slow : compare(*login, user);
  if (found != look::slow) {
    judge(*login, found == look::accepted ? login_verdict::accepted : login_verdict::wrong, std::move(user));
  } else if (bell == nullptr) {
    lock.unlock();
    verify(*login);
  } else if (hurries_ || stops_) {
    judge(*login, login_verdict::busy, nullptr);
  } else {
    enqueue(login, delay, now_ms);
  }
  return login;
}

// The verdict that needs no hash of crypt. Only a right password is recognized here. Every wrong login takes
// the same time, whether the name is unknown, has a password in clear text, or a hash: otherwise the time
// would reveal users' names. So if any user has a hash, each wrong login waits for the check of one.
Credentials::look Credentials::compare(const Login& login, std::shared_ptr<const User>& user) const {
  std::shared_ptr<const User> found = users_.find(login.claim_.user);
  const PasswordDigest digest = digester_.digest(login.claim_.password);
  bool same = false;
  if (found != nullptr && found->options.hashed) {
    const auto at = verified_.find(found->options.password);
    same = at != verified_.end() && same_digest(at->second, digest);
  }
  using Digests = std::span<const PasswordDigest>;
  for (const PasswordDigest& each : found != nullptr ? Digests{found->digests} : Digests{kNobodysDigests}) {
    same = same_digest(each, digest) || same;
  }
  if (same && found != nullptr) {
    user = std::move(found);
    return look::accepted;
  }
  return users_.some_hash().empty() ? look::wrong : look::slow;
}

LoginQueue::trust Credentials::trust_in(const std::string& client, std::uint64_t now_ms) const {
  const std::uint32_t failures = delays_.failures(client, now_ms);
  return failures == 0                      ? LoginQueue::trust::clean
         : failures < rules_.free_of_client ? LoginQueue::trust::wrong_once
                                            : LoginQueue::trust::suspect;
}

// Under the lock. The login loses its place, and gets the verdict busy.
void Credentials::turn_away(const std::shared_ptr<Login>& login) {
  judge(*login, login_verdict::busy, nullptr);
  if (!stops_) {
    login->bell_->login_judged();
  }
}

void Credentials::enqueue(const std::shared_ptr<Login>& login, std::uint32_t delay_ms, std::uint64_t now_ms) {
  const Login::Claim& claim = login->claim_;
  const std::shared_ptr<Login> dropped =
      waiting_.put(login, claim.client, claim.user, Clock::now() + std::chrono::milliseconds{delay_ms},
                   trust_in(claim.client, now_ms));
  if (dropped == login) {
    judge(*login, login_verdict::busy, nullptr);  // its session does not wait yet, so its bell need not ring
  } else if (dropped != nullptr) {
    turn_away(dropped);
  }
  if (!thread_.joinable()) {
    thread_ = std::thread{[this] { run(); }};
  }
  called_.notify_one();
}

// Compares once more first, because another login may have been verified meanwhile.
void Credentials::verify(Login& login) {
  std::unique_lock lock{mutex_};
  std::shared_ptr<const User> user;
  look found = compare(login, user);
  if (found == look::slow) {
    user = users_.find(login.claim_.user);
    const bool hashed = user != nullptr && user->options.hashed;
    const std::string hash = hashed ? user->options.password : users_.some_hash();
    lock.unlock();
    const bool right = is_hash_of(hash, login.claim_.password) && hashed;
    lock.lock();
    if (right) {
      verified_.insert_or_assign(hash, digester_.digest(login.claim_.password));
    }
    found = right ? look::accepted : look::wrong;
  }
  judge(login, found == look::accepted ? login_verdict::accepted : login_verdict::wrong,
        found == look::accepted ? std::move(user) : nullptr);
}

// Under the lock.
void Credentials::judge(Login& login, login_verdict verdict, std::shared_ptr<const User> user) {
  if (verdict != login_verdict::accepted) {
    errors_.fetch_add(1, std::memory_order_relaxed);
  }
  if (verdict == login_verdict::wrong) {
    const std::uint64_t now_ms = in_ms(Clock::now());
    const std::string& client = login.claim_.client;
    delays_.failed(client, now_ms);
    for (const std::shared_ptr<Login>& dropped : waiting_.distrust(client, trust_in(client, now_ms))) {
      turn_away(dropped);
    }
  }
  wipe(login.claim_.password);
  login.verdict_ = verdict;
  login.user_ = std::move(user);
  login.judged_.store(true, std::memory_order_release);
}

void Credentials::run() {
  pthread_setname_np(pthread_self(), "mxkv-login");
  std::unique_lock lock{mutex_};
  while (!stops_) {
    if (waiting_.empty()) {
      called_.wait(lock);
    } else if (hurries_) {
      turn_away(waiting_.take_any());
    } else if (const std::shared_ptr<Login> login = waiting_.take(Clock::now()); login == nullptr) {
      called_.wait_until(lock, *waiting_.next_due());
    } else {
      lock.unlock();
      verify(*login);
      lock.lock();
      if (!stops_) {
        login->bell_->login_judged();
      }
    }
  }
}

std::shared_ptr<const User> Credentials::still(const User& user) const {
  const std::scoped_lock lock{mutex_};
  std::shared_ptr<const User> now = users_.find(user.options.name);
  return now != nullptr && now->lets_in_as(user) ? now : nullptr;
}

std::size_t Credentials::users() const {
  const std::scoped_lock lock{mutex_};
  return users_.size();
}

void Credentials::hurry() noexcept {
  const std::scoped_lock lock{mutex_};
  hurries_ = true;
  called_.notify_all();
}

void Credentials::stop() noexcept {
  {
    const std::scoped_lock lock{mutex_};
    stops_ = true;
    called_.notify_all();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  const std::scoped_lock lock{mutex_};
  while (!waiting_.empty()) {
    judge(*waiting_.take_any(), login_verdict::busy, nullptr);
  }
}

}  // namespace mxkv::server
