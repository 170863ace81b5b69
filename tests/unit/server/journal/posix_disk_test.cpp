// The real file system: written bytes are read, names move, and each failure has a message of its own.
#include "server/journal/posix_disk.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace mxkv::server::test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class PosixDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "mxkv-disk-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    parent = pattern;
    root = parent + "/data";
    auto opened = PosixDisk::open_directory(root);
    ASSERT_TRUE(opened) << opened.error().message;
    disk = std::move(opened).value();
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::permissions(root, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(parent, ignored);
  }

  void write(const std::string& path, std::string_view text) {
    std::unique_ptr<DiskFile> file;
    ASSERT_EQ(disk->create(path, file), 0);
    const iovec piece{const_cast<char*>(text.data()), text.size()};
    ASSERT_EQ(file->write_at({&piece, 1}, 0).bytes, text.size());
    ASSERT_EQ(file->sync(), 0);
  }
  std::string read(const std::string& path) {
    std::unique_ptr<DiskBytes> bytes;
    EXPECT_EQ(disk->read(path, bytes), 0);
    return bytes ? std::string{bytes->bytes()} : "(nothing)";
  }
  static std::string error_of(const std::string& path) {
    const auto opened = PosixDisk::open_directory(path);
    return opened ? "" : opened.error().message;
  }

  std::string parent;
  std::string root;
  std::unique_ptr<PosixDisk> disk;
};

TEST_F(PosixDiskTest, ReadsPartsOfAFileAlsoWhenItIsRenamedOrRemoved) {
  write("a", "0123456789");
  std::unique_ptr<DiskReader> reader;
  EXPECT_EQ(disk->open_reader("b", reader), ENOENT);
  ASSERT_EQ(disk->open_reader("a", reader), 0);
  const auto part = [&reader](std::size_t bytes, std::uint64_t offset) {
    std::string text(bytes, '?');
    const DiskReader::Read read = reader->read_at(text, offset);
    EXPECT_EQ(read.error, 0);
    return text.substr(0, read.bytes);
  };
  EXPECT_EQ(part(3, 2), "234");
  EXPECT_EQ(part(5, 8), "89");
  EXPECT_EQ(part(5, 10), "");
  std::unique_ptr<DiskFile> file;
  ASSERT_EQ(disk->open("a", file), 0);
  char longer[] = "abcd";
  const iovec piece{longer, 4};
  ASSERT_EQ(file->write_at({&piece, 1}, 8).bytes, 4U);
  EXPECT_EQ(part(9, 7), "7abcd") << "the file as it is now";
  ASSERT_EQ(disk->rename("a", "c"), 0);
  EXPECT_EQ(part(1, 0), "0");
  ASSERT_EQ(disk->remove("c"), 0);
  EXPECT_EQ(part(1, 11), "d");
}

TEST_F(PosixDiskTest, ReadsPiecesThatWereWrittenAtTheirOffsets) {
  std::unique_ptr<DiskFile> file;
  ASSERT_EQ(disk->create("a", file), 0);
  EXPECT_EQ(disk->create("a", file), EEXIST);
  std::string first = "first";
  std::string second = "second";
  const iovec pieces[] = {{first.data(), first.size()}, {second.data(), second.size()}};
  EXPECT_EQ(file->write_at(pieces, 3).bytes, 11U);
  EXPECT_EQ(file->sync(), 0);
  EXPECT_EQ(read("a"), std::string(3, '\0') + "firstsecond");
  ASSERT_EQ(disk->open("a", file), 0);
  EXPECT_EQ(file->write_at({pieces, 1}, 0).bytes, 5U);
  EXPECT_EQ(read("a"), "firstrstsecond") << "what stood behind it stays";
}

TEST_F(PosixDiskTest, RoomIsAllocatedWithoutChangingTheBytesThere) {
  write("a", "text");
  std::unique_ptr<DiskFile> file;
  ASSERT_EQ(disk->open("a", file), 0);
  EXPECT_EQ(file->allocate(100'000), 0);
  std::uint64_t bytes = 0;
  EXPECT_EQ(file->size(bytes), 0);
  EXPECT_EQ(bytes, 100'000U);
  EXPECT_EQ(file->allocate(10), 0);
  EXPECT_EQ(file->size(bytes), 0);
  EXPECT_EQ(bytes, 100'000U) << "no file becomes shorter";
  EXPECT_EQ(read("a"), "text" + std::string(99'996, '\0'));
}

TEST_F(PosixDiskTest, NamesAreListedRenamedLinkedAndRemoved) {
  ASSERT_EQ(disk->create_directory("journal"), 0);
  EXPECT_EQ(disk->create_directory("journal"), EEXIST);
  write("journal/b", "b");
  write("journal/a", "a");
  std::vector<std::string> names;
  EXPECT_EQ(disk->list("journal", names), 0);
  EXPECT_THAT(names, ElementsAre("a", "b"));
  EXPECT_EQ(disk->rename("journal/a", "journal/b"), 0);
  EXPECT_EQ(read("journal/b"), "a");
  EXPECT_EQ(disk->link("journal/b", "c"), 0);
  EXPECT_EQ(disk->sync_directory("journal"), 0);
  EXPECT_EQ(disk->sync_directory(""), 0);
  EXPECT_EQ(disk->remove_directory("journal"), ENOTEMPTY);
  EXPECT_EQ(disk->remove("journal/b"), 0);
  EXPECT_EQ(disk->remove_directory("journal"), 0);
  EXPECT_EQ(disk->list("", names), 0);
  EXPECT_THAT(names, ElementsAre("c"));
  EXPECT_EQ(disk->list("journal", names), ENOENT);
  EXPECT_EQ(disk->remove("journal/b"), ENOENT);
}

TEST_F(PosixDiskTest, AnEmptyFileAndAMissingOneDiffer) {
  write("empty", "");
  EXPECT_EQ(read("empty"), "");
  std::unique_ptr<DiskBytes> bytes;
  EXPECT_EQ(disk->read("missing", bytes), ENOENT);
  EXPECT_EQ(disk->text("missing", ENOENT), root + "/missing: No such file or directory");
  ASSERT_EQ(disk->create_directory("directory"), 0);
  EXPECT_EQ(disk->read("directory", bytes), EISDIR);
}

TEST_F(PosixDiskTest, ALockIsHeldByOneUntilItGoes) {
  std::unique_ptr<DiskFile> first;
  std::unique_ptr<DiskFile> second;
  EXPECT_EQ(disk->lock("LOCK", first), 0);
  EXPECT_EQ(disk->lock("LOCK", second), EWOULDBLOCK);
  EXPECT_EQ(disk->text("LOCK", EWOULDBLOCK), root + "/LOCK: another process uses this directory");
  first.reset();
  EXPECT_EQ(disk->lock("LOCK", second), 0);
}

TEST_F(PosixDiskTest, ReadsOnWhereTheFileWasRemoved) {
  write("a", "text");
  std::unique_ptr<DiskBytes> bytes;
  ASSERT_EQ(disk->read("a", bytes), 0);
  ASSERT_EQ(disk->remove("a"), 0);
  EXPECT_EQ(bytes->bytes(), "text");
}

TEST_F(PosixDiskTest, SaysWhyADirectoryCannotBeUsed) {
  EXPECT_EQ(error_of(root), "") << "one that is there may be opened again";
  EXPECT_EQ(error_of(parent + "/no/such"),
            parent + "/no/such: does not exist, nor does its parent directory");
  write("file", "text");
  EXPECT_THAT(error_of(root + "/file"), EndsWith("/file: Not a directory"));
  EXPECT_THAT(error_of(root + "/file/below"), HasSubstr("Not a directory"));
  const auto missing = PosixDisk::open_to_read(parent + "/missing");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, EndsWith("/missing: No such file or directory"));
}

TEST_F(PosixDiskTest, SaysThatADirectoryIsNotWritable) {
  ASSERT_EQ(::chmod(root.c_str(), 0500), 0);
  if (::geteuid() != 0) {  // root may write everywhere
    EXPECT_EQ(error_of(root), root + ": is not writable");
    std::unique_ptr<DiskFile> file;
    EXPECT_EQ(disk->create("a", file), EACCES);
  }
}

TEST_F(PosixDiskTest, NamesTheOwnerOfADirectory) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root may become somebody else";
  }
  ASSERT_EQ(::chmod(parent.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(root.c_str(), 0755), 0);
  ASSERT_EQ(::seteuid(kNobody), 0);
  const std::string error = error_of(root);
  const std::string missing = error_of(parent + "/missing");
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(error, root + ": belongs to user 0, this process runs as user 65534");
  EXPECT_EQ(missing, parent + "/missing: does not exist and cannot be created: Permission denied");
}

}  // namespace
}  // namespace mxkv::server::test
