// Users from a text, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/users.hpp"

namespace mxkv::server::test {

inline std::vector<config::UserOptions> users_of(const std::string& text) {
  config::Findings findings;
  config::UsersFile file = config::parse_users(text, "users", findings);
  EXPECT_TRUE(findings.empty()) << text;
  return std::move(file.users);
}

}  // namespace mxkv::server::test
