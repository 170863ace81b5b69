#include "server/net/users/login_queue.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

LoginQueue::Time LoginQueue::Address::due() const {
  Time first = Time::max();
  for (const auto& [name, user] : users) {
    first = std::min(first, user.logins.begin()->first);
  }
  return first;
}

LoginQueue::Waiting LoginQueue::put(Waiting login, const std::string& address, const std::string& user,
                                    Time due, trust trusted) {
  const auto [at, is_new] = addresses_.try_emplace(address);
  Address& mine = at->second;
  if (is_new) {
    mine.turn = turn_ + 1;
  }
  mine.trusted = trusted;
  const auto [user_at, is_new_user] = mine.users.try_emplace(user);
  if (is_new_user) {
    user_at->second.turn = mine.turn_of_user + 1;
  }
  user_at->second.logins.emplace(due, std::move(login));
  ++mine.count;
  ++count_;
  if (trusted == trust::suspect && mine.count > kMostOfSuspect) {
    return drop_of(at);
  }
  if (count_ > kMost) {
    return drop_of(
        std::ranges::max_element(addresses_, {}, [](const auto& one) { return one.second.count; }));
  }
  return nullptr;
}

std::vector<LoginQueue::Waiting> LoginQueue::distrust(std::string_view address, trust trusted) {
  std::vector<Waiting> dropped;
  const auto at = addresses_.find(address);
  if (at == addresses_.end()) {
    return dropped;
  }
  at->second.trusted = trusted;
  while (trusted == trust::suspect && at->second.count > kMostOfSuspect) {
    dropped.push_back(drop_of(at));
  }
  return dropped;
}

// The address whose turn it is, among those with a login that is due. Ties go to the login that has waited
// longest.
LoginQueue::At LoginQueue::next_address(Time now, bool clean) {
  At best = addresses_.end();
  std::pair<std::uint64_t, Time> first;
  for (auto at = addresses_.begin(); at != addresses_.end(); ++at) {
    const std::pair mine{at->second.turn, at->second.due()};
    if (mine.second <= now && (at->second.trusted == trust::clean) == clean &&
        (best == addresses_.end() || mine < first)) {
      best = at;
      first = mine;
    }
  }
  return best;
}

LoginQueue::Waiting LoginQueue::take(Time now) {
  At at = next_address(now, next_is_clean_);
  if (at == addresses_.end()) {
    at = next_address(now, !next_is_clean_);
  }
  if (at == addresses_.end()) {
    return nullptr;
  }
  Address& address = at->second;
  next_is_clean_ = address.trusted != trust::clean;
  turn_ = std::max(turn_, address.turn);
  address.turn = turn_ + 1;
  UserAt best = address.users.end();
  std::pair<std::uint64_t, Time> first;
  for (auto user = address.users.begin(); user != address.users.end(); ++user) {
    const std::pair mine{user->second.turn, user->second.logins.begin()->first};
    if (mine.second <= now && (best == address.users.end() || mine < first)) {
      best = user;
      first = mine;
    }
  }
  MXKV_ASSERT(best != address.users.end(), "an address whose turn it is has a login to be checked");
  address.turn_of_user = std::max(address.turn_of_user, best->second.turn);
  best->second.turn = address.turn_of_user + 1;
  return remove(at, best, best->second.logins.begin());
}

LoginQueue::Waiting LoginQueue::take_any() {
  MXKV_ASSERT(count_ > 0, "a login is taken where one waits");
  const UserAt user = addresses_.begin()->second.users.begin();
  return remove(addresses_.begin(), user, user->second.logins.begin());
}

std::optional<LoginQueue::Time> LoginQueue::next_due() const {
  std::optional<Time> first;
  for (const auto& [name, address] : addresses_) {
    first = std::min(first.value_or(Time::max()), address.due());
  }
  return first;
}

LoginQueue::Waiting LoginQueue::remove(At address, UserAt user,
                                       std::multimap<Time, Waiting>::iterator login) {
  Waiting removed = std::move(login->second);
  user->second.logins.erase(login);
  if (user->second.logins.empty()) {
    address->second.users.erase(user);
  }
  --count_;
  if (--address->second.count == 0) {
    addresses_.erase(address);
  }
  return removed;
}

// Removes the latest login of the user with the most logins.
LoginQueue::Waiting LoginQueue::drop_of(At address) {
  const UserAt user = std::ranges::max_element(address->second.users, {},
                                               [](const auto& one) { return one.second.logins.size(); });
  return remove(address, user, std::prev(user->second.logins.end()));
}

}  // namespace mxkv::server
