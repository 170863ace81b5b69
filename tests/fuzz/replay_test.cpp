// Runs the fuzzers' seeds in every build, and mutations of them where there is no fuzzer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/inputs.hpp"

namespace mxkv::fuzz {

namespace {

using Check = std::string (*)(std::string_view);

std::vector<std::string> seeds_of(const std::string& name) {
  std::vector<std::string> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(MXKV_SEEDS) / name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

void replay(const std::string& name, Check check) {
  const std::vector<std::string> seeds = seeds_of(name);
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) {
    EXPECT_EQ(check(seed), "") << seed;
  }
}

/// Changes, drops or doubles a few bytes of each seed, by a fixed seed of our own.
void mutate(const std::string& name, Check check, std::size_t rounds) {
  std::mt19937 random(1);
  const auto below = [&random](std::size_t limit) { return random() % limit; };
  constexpr std::string_view bytes("\r\n \0\x7f\x80[(=-+90noreplyvqkbITNRCEMDJOFx", 36);
  static_assert(bytes.back() == 'x');
  for (const std::string& seed : seeds_of(name)) {
    for (std::size_t round = 0; round < rounds; ++round) {
      std::string input = seed;
      for (std::size_t change = below(4); change < 4 && !input.empty(); ++change) {
        const std::size_t at = below(input.size());
        switch (below(3)) {
          case 0:
            input[at] = bytes[below(bytes.size())];
            break;
          case 1:
            input.erase(at, 1 + below(8));
            break;
          default:
            input.insert(at, input.substr(at, below(40)));
        }
      }
      ASSERT_EQ(check(input), "") << input;
    }
  }
}

TEST(Replay, SeedStreamsComeOutTheSameInPieces) {
  replay("parser", check_parser_input);
}

TEST(Replay, ChangedStreamsComeOutTheSameInPieces) {
  mutate("parser", check_parser_input, MXKV_MUTATIONS);
}

TEST(Replay, SeedCursorsAreReadOrRefused) {
  replay("cursor", check_cursor_input);
}

TEST(Replay, ChangedCursorsAreReadOrRefused) {
  mutate("cursor", check_cursor_input, MXKV_MUTATIONS);
}

TEST(Replay, SeedPositionsAreReadOrRefused) {
  replay("position", check_position_input);
}

TEST(Replay, ChangedPositionsAreReadOrRefused) {
  mutate("position", check_position_input, MXKV_MUTATIONS);
}

TEST(Replay, SeedMetaFlagsAreReadAgainAsTheyWere) {
  replay("meta", check_meta_input);
}

TEST(Replay, ChangedMetaFlagsAreReadAgainAsTheyWere) {
  mutate("meta", check_meta_input, MXKV_MUTATIONS);
}

TEST(Replay, SeedBase64IsReadAndWritten) {
  replay("base64", check_base64_input);
}

TEST(Replay, ChangedBase64IsReadAndWritten) {
  mutate("base64", check_base64_input, MXKV_MUTATIONS);
}

TEST(Replay, SeedConfigurationsAreOptionsOrErrors) {
  replay("config", check_config_input);
}

TEST(Replay, ChangedConfigurationsAreOptionsOrErrors) {
  mutate("config", check_config_input, 100);
}

TEST(Replay, SeedConnectionsAreAnsweredRequestByRequest) {
  replay("connection", check_connection_input);
}

TEST(Replay, ChangedConnectionsAreAnsweredRequestByRequest) {
  mutate("connection", check_connection_input, 10);
}

TEST(Replay, SeedBinaryConnectionsAreAnsweredRequestByRequest) {
  replay("binary", check_binary_input);
}

TEST(Replay, ChangedBinaryConnectionsAreAnsweredRequestByRequest) {
  mutate("binary", check_binary_input, 30);
}

TEST(Replay, SeedJournalsAreReadOrRefused) {
  replay("journal", check_journal_input);
}

TEST(Replay, ChangedJournalsAreReadOrRefused) {
  mutate("journal", check_journal_input, MXKV_MUTATIONS);
}

TEST(Replay, SeedImportsAreReadOrRefused) {
  replay("import", check_import_input);
}

TEST(Replay, ChangedImportsAreReadOrRefused) {
  mutate("import", check_import_input, MXKV_MUTATIONS);
}

TEST(Replay, SeedMessagesAreReadOrRefused) {
  replay("message", check_message_input);
}

TEST(Replay, ChangedMessagesAreReadOrRefused) {
  mutate("message", check_message_input, MXKV_MUTATIONS);
}

TEST(Replay, SeedPeersByTlsAreUnderstoodOrEnded) {
  replay("tls", check_tls_input);
}

TEST(Replay, ChangedPeersByTlsAreUnderstoodOrEnded) {
  mutate("tls", check_tls_input, 100);
}

}  // namespace
}  // namespace mxkv::fuzz
