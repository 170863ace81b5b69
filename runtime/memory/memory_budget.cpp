#include "runtime/memory/memory_budget.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

MemoryBudget::MemoryBudget(std::size_t limit_bytes, std::size_t workers) : limit_(limit_bytes) {
  for (std::size_t worker = 0; worker < workers; ++worker) {
    accounts_.emplace_back(*this);
  }
}

MemoryBudget::~MemoryBudget() = default;

MemoryAccount& MemoryBudget::account(WorkerId worker) noexcept {
  MXKV_ASSERT(worker.index() < accounts_.size(), "a worker has an account");
  return accounts_[worker.index()];
}

bool MemoryBudget::try_draw(std::size_t bytes) noexcept {
  const std::size_t limit = limit_bytes();
  std::size_t used = used_bytes();
  do {
    if (used > limit || bytes > limit - used) {
      return false;
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void MemoryBudget::give_back(std::size_t bytes) noexcept {
  const std::size_t before = used_.fetch_sub(bytes, std::memory_order_relaxed);
  MXKV_ASSERT(before >= bytes, "no more is given back than was drawn");
}

bool MemoryBudget::try_charge(memory_category category, std::size_t bytes) noexcept {
  if (!try_draw(bytes)) {
    return false;
  }
  direct_[static_cast<std::size_t>(category)].fetch_add(static_cast<std::int64_t>(bytes),
                                                        std::memory_order_relaxed);
  return true;
}

void MemoryBudget::charge_unconditionally(memory_category category, std::size_t bytes) noexcept {
  used_.fetch_add(bytes, std::memory_order_relaxed);
  direct_[static_cast<std::size_t>(category)].fetch_add(static_cast<std::int64_t>(bytes),
                                                        std::memory_order_relaxed);
}

void MemoryBudget::refund(memory_category category, std::size_t bytes) noexcept {
  direct_[static_cast<std::size_t>(category)].fetch_sub(static_cast<std::int64_t>(bytes),
                                                        std::memory_order_relaxed);
  give_back(bytes);
}

std::size_t MemoryBudget::category_bytes(memory_category category) const noexcept {
  std::int64_t sum = direct_[static_cast<std::size_t>(category)].load(std::memory_order_relaxed);
  for (const MemoryAccount& account : accounts_) {
    sum += account.used_bytes(category);
  }
  // A refund may be seen before the charge it undoes.
  return static_cast<std::size_t>(std::max<std::int64_t>(sum, 0));
}

bool MemoryAccount::draw(std::size_t bytes) noexcept {
  MXKV_ASSERT(bytes > credit_, "credit is used up before more is drawn");
  const std::size_t missing = bytes - credit_;
  if (missing < kCreditBytes && budget_->try_draw(kCreditBytes)) {
    credit_ += kCreditBytes;
    return true;
  }
  if (!budget_->try_draw(missing)) {
    return false;
  }
  credit_ += missing;
  return true;
}

void MemoryAccount::return_credit(std::size_t keep) noexcept {
  if (credit_ > keep) {
    budget_->give_back(credit_ - keep);
    credit_ = keep;
  }
}

}  // namespace mxkv::runtime
