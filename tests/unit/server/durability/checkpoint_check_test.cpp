// Parts of a checkpoint that differ from the manifest are found, and the rest passes.
#include "server/durability/checkpoint_check.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "server/durability/part_writer.hpp"
#include "server/journal/posix_disk.hpp"
#include "tests/unit/server/durability/test_directory.hpp"

namespace mxkv::server::test {
namespace {

using testing::HasSubstr;

class CheckpointCheckTest : public testing::Test {
 protected:
  CheckpointCheckTest() {
    std::filesystem::create_directories(directory.path() + "/" + checkpoint_path(2));
    manifest.checkpoint = CheckpointEntry{.begun = 2, .needs = 3, .parts = 2, .items = 4, .flushes = {}};
    write_part(0, {"a", "b"});
    write_part(1, {"c", "d"});
  }

  void write_part(std::uint32_t number, const std::vector<std::string>& keys) const {
    const std::string name = checkpoint_part_path(2, number);
    std::filesystem::remove(directory.path() + "/" + name);
    auto disk = PosixDisk::open_directory(directory.path());
    ASSERT_TRUE(disk) << disk.error().message;
    PartWriter writer;
    CheckpointHeader header{.directory = test_directory(),
                            .begun = 2,
                            .part = number,
                            .parts = 2,
                            .has_no_end = true,
                            .from = {},
                            .to = {}};
    ASSERT_EQ(writer.begin(*disk.value(), name, header), 0);
    std::vector<Record> puts;
    for (const std::string& key : keys) {
      puts.emplace_back(PutRecord{.order = 1, .key = key, .value = "value"});
    }
    ASSERT_EQ(
        writer.add(payload_of(puts), static_cast<std::uint32_t>(puts.size()), keys.front(), keys.back()), 0);
    ASSERT_EQ(writer.end(), 0);
  }
  CheckpointCheck check() const { return check_checkpoint(directory.path(), manifest); }

  TestDirectory directory;
  Manifest manifest = small_manifest();
};

TEST_F(CheckpointCheckTest, AWholeOnePasses) {
  const CheckpointCheck checked = check();
  EXPECT_EQ(checked.damage, "");
  EXPECT_THAT(checked.text, HasSubstr(checkpoint_part_path(2, 1) + ": 2 items, "));
}

TEST_F(CheckpointCheckTest, NoneIsNoDamage) {
  manifest.checkpoint.reset();
  EXPECT_EQ(check().damage, "");
}

TEST_F(CheckpointCheckTest, AnyByteThatIsFlippedIsFound) {
  const std::string name = checkpoint_part_path(2, 1);
  const std::string whole = directory.read(name);
  for (std::size_t at = 0; at < whole.size(); at += 23) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    directory.write(name, bytes);
    EXPECT_THAT(check().damage, HasSubstr(name)) << at;
  }
}

TEST_F(CheckpointCheckTest, APartThatIsMissingIsFound) {
  std::filesystem::remove(directory.path() + "/" + checkpoint_part_path(2, 0));
  EXPECT_THAT(check().damage, HasSubstr("part-0.mxc: No such file"));
}

TEST_F(CheckpointCheckTest, PartsOutOfOrderAreFound) {
  write_part(1, {"b", "d"});
  EXPECT_THAT(check().damage, HasSubstr("part-1.mxc: begins with a key that is not greater"));
}

TEST_F(CheckpointCheckTest, OtherCountsThanTheManifestsAreFound) {
  manifest.checkpoint->items = 5;
  EXPECT_THAT(check().damage, HasSubstr("counts 5 items of the checkpoint, its parts have 4"));
}

TEST_F(CheckpointCheckTest, VerifyReportsIt) {
  SmallJournal().write_to(directory);
  directory.write_manifest(manifest);
  const auto verify = [this] {
    return told_by([this](const LinePrinter& print) { return verify_journal(directory.path(), print); });
  };
  EXPECT_EQ(verify().outcome.ended, ToolOutcome::how::fine) << verify().outcome.complaint;
  EXPECT_THAT(verify().text, HasSubstr("part-0.mxc: 2 items"));
  write_part(0, {"a"});
  EXPECT_EQ(verify().outcome.ended, ToolOutcome::how::damaged);
  EXPECT_THAT(verify().outcome.complaint, HasSubstr("its parts have 3"));
}

}  // namespace
}  // namespace mxkv::server::test
