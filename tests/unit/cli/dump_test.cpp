// Files of items: written items are read back, and a changed or cut file is refused.
#include "protocol/clients/cli/transfer/dump.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/interrupt.hpp"

namespace mxkv::cli {
namespace {

std::vector<Item> some_items(std::size_t count) {
  std::vector<Item> items;
  for (std::size_t number = 0; number < count; ++number) {
    items.push_back({.key = "key:" + std::to_string(number),
                     .value = std::string(number % 40, static_cast<char>(number)),
                     .flags = static_cast<std::uint32_t>(number % 3),
                     .expires = number % 5 == 0 ? 2'000'000'000 + number : 0,
                     .unique = number % 2});
  }
  return items;
}

class DumpTest : public testing::TestWithParam<std::pair<DumpForm, bool>> {
 protected:
  static std::string written(const std::vector<Item>& items) {
    OutputFile file{OutputFile::Memory{}};
    const auto writer = begin_dump(GetParam().first, file, "prefix key:", GetParam().second);
    DumpTotals totals;
    for (const Item& item : items) {
      writer->add(item);
      ++totals.items;
      totals.bytes += item.key.size() + item.value.size();
    }
    writer->finish(totals);
    return file.bytes();
  }

  /// The items that were handed out, and the failure's text if reading failed.
  static std::pair<std::vector<Item>, std::string> read(const std::string& bytes) {
    InputFile file("file", bytes);
    const auto reader = open_dump(file);
    std::vector<Item> items;
    Item item;
    try {
      while (reader->next(item)) {
        items.push_back(item);
      }
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.outcome(), Outcome::file);
      EXPECT_TRUE(std::string(failure.what()).starts_with("file:")) << failure.what();
      return {items, failure.what()};
    }
    return {items, ""};
  }

  static void expect_equal(const std::vector<Item>& one, const std::vector<Item>& other) {
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t at = 0; at < one.size(); ++at) {
      EXPECT_EQ(one[at].key, other[at].key);
      EXPECT_EQ(one[at].value, other[at].value);
      EXPECT_EQ(one[at].flags, other[at].flags);
      EXPECT_EQ(one[at].expires, other[at].expires);
      EXPECT_EQ(one[at].unique, other[at].unique);
    }
  }
};

TEST_P(DumpTest, WrittenItemsAreReadBack) {
  for (const std::size_t count : {0U, 1U, 7U, 20'000U}) {
    const std::vector<Item> items = some_items(count);
    const auto [found, failure] = read(written(items));
    EXPECT_EQ(failure, "");
    expect_equal(found, items);
  }
}

TEST_P(DumpTest, AFileThatWasCutAtAnyByteIsRefused) {
  const std::string whole = written(some_items(7));
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    EXPECT_NE(read(whole.substr(0, cut)).second, "") << cut;
  }
  EXPECT_NE(read(whole + "x").second, "");
}

TEST_P(DumpTest, AFileOfWhichAnyBitWasChangedIsRefused) {
  const std::string whole = written(some_items(7));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned bit : {0x01U, 0x10U, 0x80U}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ bit);
      EXPECT_NE(read(changed).second, "") << at;
    }
  }
}

TEST_P(DumpTest, ATruncatedFileContinuesBehindItsLastWholeRecord) {
  const std::vector<Item> items = some_items(20'000);
  const std::string whole = written(items);
  for (const std::size_t cut : {whole.size() / 3, whole.size() / 2, whole.size() - 1}) {
    InputFile part("part", whole.substr(0, cut));
    const DumpSurvey survey = survey_dump(part);
    EXPECT_FALSE(survey.finished);
    EXPECT_EQ(survey.form, GetParam().first);
    EXPECT_EQ(survey.range_text, "prefix key:");
    EXPECT_LE(survey.whole_bytes, cut);
    ASSERT_LT(survey.totals.items, items.size() + 1);
    const std::string kept = whole.substr(0, survey.whole_bytes);
    OutputFile file{OutputFile::Memory{}};
    file.write(kept);
    InputFile before("part", kept);
    const auto writer = resume_dump(GetParam().first, file, before, GetParam().second);
    DumpTotals totals = survey.totals;
    for (std::size_t at = survey.totals.items; at < items.size(); ++at) {
      writer->add(items[at]);
      ++totals.items;
      totals.bytes += items[at].key.size() + items[at].value.size();
    }
    writer->finish(totals);
    const auto [found, failure] = read(file.bytes());
    EXPECT_EQ(failure, "");
    expect_equal(found, items);
  }
}

TEST_P(DumpTest, AnInterruptedExportKeepsTheItemsThatItHas) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("mxkv-interrupted." + std::to_string(::getpid()));
  const std::vector<Item> items = some_items(7);
  catch_interrupts();
  {
    OutputFile file(path);
    const auto writer = begin_dump(GetParam().first, file, "prefix key:", GetParam().second);
    for (const Item& item : items) {
      writer->add(item);
    }
    ASSERT_EQ(std::raise(SIGINT), 0);
    EXPECT_NO_THROW(writer->flush());
  }
  forget_interrupt();
  InputFile part(part_name(path));
  EXPECT_EQ(survey_dump(part).totals.items, items.size());
  std::filesystem::remove(part_name(path));
}

INSTANTIATE_TEST_SUITE_P(Forms, DumpTest,
                         testing::Values(std::pair{DumpForm::json_lines, false},
                                         std::pair{DumpForm::blocks, false},
                                         std::pair{DumpForm::blocks, true}));

}  // namespace
}  // namespace mxkv::cli
