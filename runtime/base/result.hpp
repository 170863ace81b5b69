// Result<T>: a value, or one error text that says where and what. For failures that one expects
// (bad configuration, a missing CPU, memory that the system refuses), outside hot paths.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

/// The text of a failure, ready to be shown to a person.
struct Error {
  std::string message;
};

/// Either a `T` or an `Error`. Thread-safety: as a plain value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] T& value() & {
    MXKV_ASSERT(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  [[nodiscard]] const T& value() const& {
    MXKV_ASSERT(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  [[nodiscard]] T&& value() && {
    MXKV_ASSERT(ok(), "value() of a failed Result");
    return std::get<0>(std::move(state_));
  }
  [[nodiscard]] const Error& error() const {
    MXKV_ASSERT(!ok(), "error() of a Result that holds a value");
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

}  // namespace mxkv::runtime
